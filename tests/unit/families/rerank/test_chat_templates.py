"""Decoders that sentence-transformers saved as rerankers have the scores that its CrossEncoder gives, one pair at a time."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSequenceClassification, AutoTokenizer

from beirflow.core.errors import ModelError
from beirflow.families.rerank.settings import RerankSettings
from beirflow.models.model_layout import files_that_count
from loaded_scorers import ROUNDING, by_sentence_transformers, check_scores, loaded
from tiny_answers import save_tiny_qwen3
from workflow_runs import words
from zoo import change_json

pytestmark = pytest.mark.usefixtures("rendered_here")

PAIRS = [(words(i, 1 + i % 9), words(50 + i, (7 * i) % 40)) for i in range(15)]
PAIRS += [("", ""), (" what is foo?\n", "foo  is\na bar. "), ("w1 yes", "no <|im_end|> {{ w2 }}")]

FORWARD = {"method": "forward", "method_output_name": "logits"}
BOTH = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}answer:"
BY_ROLE = (
    "{{ bos_token }}{{ messages | selectattr('role', 'eq', 'system') | map(attribute='content') | first | default('Find') }}"
    "<Query>: {{ messages | selectattr('role', 'eq', 'query') | map(attribute='content') | first }}\n"
    "<Document>: {{ messages | selectattr('role', 'eq', 'document') | map(attribute='content') | first }}<|im_end|>\n"
)
TRIMMED = "{% for m in messages %}{{ m['content'] | trim }}<|im_end|>{% endfor %}"
PARTS = (
    "{% for m in messages %}{{ m.content[0].text }}<|im_end|>{% endfor %}{% if add_generation_prompt %}<|im_start|>{% endif %}"
)


SIZES = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
SIZES |= {"num_key_value_heads": 2, "vocab_size": 300, "max_position_embeddings": 4096, "initializer_range": 0.3}


def save(
    folder: Path, template: str = BOTH, answers: tuple[str, str | None] = ("yes", "no"), kind: str = "qwen3", **settings: Any
) -> Path:
    """Save a tiny decoder as sentence-transformers saves a reranker, and return its folder."""
    from sentence_transformers import CrossEncoder
    from sentence_transformers.base.modules import Transformer
    from sentence_transformers.cross_encoder.modules import LogitScore

    plain = save_tiny_qwen3(folder / "plain", words=tuple(filter(None, answers)))
    if kind != "qwen3":
        torch.manual_seed(1)
        config = AutoConfig.for_model(kind, **SIZES)
        AutoModelForCausalLM.from_config(config).save_pretrained(plain)
    (plain / "chat_template.jinja").write_text(template)
    vocabulary = AutoTokenizer.from_pretrained(plain).get_vocab()
    modules = [
        Transformer(str(plain), transformer_task="text-generation"),
        LogitScore(vocabulary[answers[0]], vocabulary[answers[1]] if answers[1] else None),
    ]
    CrossEncoder(modules=modules, device="cpu", **settings).save_pretrained(str(folder / "saved"))
    return folder / "saved"


def save_classifier(folder: Path, kind: str, template: str | None) -> Path:
    """Save a tiny decoder with one label as sentence-transformers does, and return its folder."""
    from sentence_transformers import CrossEncoder

    plain = save_tiny_qwen3(folder / "plain")
    padding = AutoTokenizer.from_pretrained(plain).pad_token_id
    config = AutoConfig.for_model(kind, **SIZES, head_dim=8, num_labels=1, pad_token_id=padding)
    torch.manual_seed(1)
    AutoModelForSequenceClassification.from_config(config).save_pretrained(plain)
    if template:
        (plain / "chat_template.jinja").write_text(template)
    CrossEncoder(str(plain), device="cpu", local_files_only=True).save_pretrained(str(folder / "saved"))
    return folder / "saved"


@pytest.mark.parametrize(("kind", "template"), [("qwen3", BY_ROLE), ("llama", PARTS), ("qwen2", None), ("gemma3_text", None)])
def test_decoders_with_one_label_have_the_scores_of_sentence_transformers(
    tmp_path: Path, kind: str, template: str | None
) -> None:
    """Its template is in the folder, or its files say that it reads two texts; without them, the prompt is not known."""
    folder, pairs = (
        save_classifier(tmp_path, kind, template),
        [pair for pair in PAIRS if any(pair)],
    )
    check_scores(folder, pairs, alone=True)
    (folder / "modules.json").unlink()
    if template:
        check_scores(folder, pairs, alone=True)
    else:
        with pytest.raises(ModelError, match="a decoder, which reads pairs in a prompt that its files do not hold"):
            loaded(folder)


@pytest.mark.parametrize(
    ("template", "answers", "kind"),
    [
        *((BOTH, ("yes", "no"), "qwen3"), (BY_ROLE, ("1", "0"), "qwen2")),
        *((TRIMMED, ("yes", "no"), "llama"), (PARTS, ("yes", None), "llama")),
    ],
)
def test_scores_are_those_of_sentence_transformers(
    tmp_path: Path, template: str, answers: tuple[str, str | None], kind: str
) -> None:
    check_scores(save(tmp_path, template, answers, kind), PAIRS, alone=True)


def test_a_long_document_is_cut_before_the_end_of_the_template(tmp_path: Path) -> None:
    folder = save(tmp_path, BY_ROLE)
    change_json(folder / "tokenizer_config.json", model_max_length=200)
    pairs = [("w1 w2", words(3, 90)), *PAIRS[:2]]
    model = loaded(folder)
    np.testing.assert_allclose(model.scores(pairs), by_sentence_transformers(folder, pairs, alone=True), **ROUNDING)
    assert (model.max_length, model.truncated) == (200, 1)


def test_a_default_prompt_and_an_instruction_are_the_system_message(tmp_path: Path) -> None:
    folder = save(tmp_path, BY_ROLE, prompts={"find": "Find it: ", "other": "x"}, default_prompt_name="find")
    check_scores(folder, PAIRS, alone=True)
    asked = loaded(folder, instruction="Answer").scores(PAIRS)
    np.testing.assert_allclose(asked, by_sentence_transformers(folder, PAIRS, alone=True, prompt="Answer"), **ROUNDING)
    assert float(np.abs(asked - loaded(folder).scores(PAIRS)).max()) > 1e-3
    (folder / "chat_template.jinja").write_text(BY_ROLE.replace("'system'", "'nobody'"))
    with pytest.raises(ModelError, match="writes no instruction; remove it from the configuration"):
        loaded(folder, instruction="Answer")


def test_the_template_is_one_of_the_files_whose_digests_are_recorded(tmp_path: Path) -> None:
    folder = save(tmp_path)
    settings = RerankSettings("crossed", str(folder), first="bm25")
    assert "chat_template.jinja" in [path.name for path in files_that_count(folder, settings)]


@pytest.mark.parametrize(
    ("file", "change", "says"),
    [
        *(
            ("1_LogitScore/config.json", change, "true_token_id was expected")
            for change in ({"true_token_id": None}, {"false_token_id": -1}, {"temperature": 2})
        ),
        ("1_LogitScore/config.json", {"true_token_id": 9999}, "scores by the tokens .* knows only"),
        ("sentence_bert_config.json", {"modality_config": {"text": {}}}, "takes pairs by {}, which beirflow"),
        ("sentence_bert_config.json", {"modality_config": {"message": {**FORWARD, "format": "other"}}}, "takes pairs by .*other"),
        *(
            ("sentence_bert_config.json", {"processing_kwargs": held}, "has processing_kwargs")
            for held in ({"chat_template": {"chat_template": "x"}}, {"text": {"max_length": 3}}, [1])
        ),
        ("sentence_bert_config.json", {"query_length": 3, "max_seq_length": "a"}, "has query_length, which"),
        ("sentence_bert_config.json", {"do_lower_case": True, "model_args": ["a"]}, "has do_lower_case, model_args"),
        ("config_sentence_transformers.json", {"activation_fn": "torch.nn.modules.activation.GELU"}, "activation torch.*GELU"),
    ],
)
def test_what_is_not_done_here_is_refused(tmp_path: Path, file: str, change: dict[str, Any], says: str) -> None:
    folder = save(tmp_path)
    change_json(folder / file, **change)
    with pytest.raises(ModelError, match=f"system crossed: .*{says}"):
        loaded(folder)


def test_other_modules_and_a_stated_kind_are_refused(tmp_path: Path) -> None:
    folder = save(tmp_path)
    with pytest.raises(ModelError, match="a logit-score by its files, but 'kind' is qwen3-reranker; remove 'kind'"):
        loaded(folder, kind="qwen3-reranker")
    modules = json.loads((folder / "modules.json").read_text())
    (folder / "modules.json").write_text(json.dumps([*modules, {"type": "a.Dense", "path": "2_Dense"}]))
    with pytest.raises(ModelError, match=r"also asks for a\.Dense"):
        loaded(folder)
