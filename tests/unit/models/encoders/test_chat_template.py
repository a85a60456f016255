"""Texts in the chat template of a model, beside sentence-transformers 6; templates of other kinds are refused."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import transformers
from sentence_transformers import SentenceTransformer, models
from sentence_transformers.base.modules import Transformer

from beirflow.core.errors import ModelError
from beirflow.models.computing import render_template
from beirflow.models.settings import EncoderSettings
from encoding import encoded, loaded, vectors_of
from forks import run_in_fork
from tiny_bert import save_model
from zoo import LLAMA, change_json, save_modules

TEXTS = ["w1 w2 w3", "w4", "w5 w6 w7 w8 w9", "w3 " * 100, " w1  ", "\nw2\n"]
PROMPTS = {"query": "w1 w9 ", "document": ""}
PARTS = "{% for m in messages %}{% for part in m.content %}{{ part.text if part.type == 'text' }}{% endfor %}{% endfor %}"


@pytest.fixture(autouse=True)
def rendered_in_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    """Render templates in a fork of this process, without the second that another takes to start."""
    import transformers.utils.chat_template_utils  # noqa: F401

    run: Any = subprocess.run

    def run_fork(*command: Any, **how: Any) -> Any:
        return run_in_fork(render_template.main, how["input"]) if "input" in how else run(*command, **how)

    monkeypatch.setattr(subprocess, "run", run_fork)


def save_chat_model(folder: Path, template: str, pooling: str = "mean", *, processor: bool = False) -> Path:
    """Let sentence-transformers save a Llama with a chat template, perhaps with a processor around its tokenizer."""
    backbone = save_model("llama", folder / "backbone", **LLAMA)
    if processor:
        tokenizer = transformers.AutoTokenizer.from_pretrained(backbone, bos_token="[CLS]")
        features = transformers.WhisperFeatureExtractor()
        transformers.Qwen2AudioProcessor(features, tokenizer, template, audio_token="w150").save_pretrained(backbone)
    (backbone / "chat_template.jinja").write_text(template)
    pooled = models.Pooling(LLAMA.get("hidden_size", 32), pooling_mode=pooling)
    return save_modules(folder / "model", Transformer(str(backbone)), pooled, prompts=PROMPTS)


def system(folder: Path) -> EncoderSettings:
    return EncoderSettings("mine", str(folder))


def by_kind(folder: Path) -> Iterator[tuple[Any, np.ndarray, np.ndarray]]:
    """Yield the encoder of each kind of text, its vectors, and those of sentence-transformers."""
    peer = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    for kind, encode in (("queries", peer.encode_query), ("documents", peer.encode_document)):
        encoder = loaded(system(folder), kind)
        yield encoder, vectors_of(encoder, TEXTS, kind), encode(TEXTS)


@pytest.mark.parametrize(
    ("template", "pooling", "processor", "plain"),
    [
        ("{% for m in messages %}w11 {{ m.role }}\n{{ m.content }} w13 w14\n{% endfor %}", "lasttoken", False, False),
        ("{% for m in messages %}{{ m.content }}{% endfor %}{{ ' w20 w21' if task == 'query' }}", "lasttoken", False, False),
        ("[CLS]{% for m in messages %}{{ m.content }}{% endfor %}[SEP]", "mean", False, True),
        (f"{PARTS} w8", "mean", False, False),
        (PARTS, "mean", True, True),  # EmbeddingGemma 2's kind
        ("{{ bos_token }}" + PARTS + " w3", "lasttoken", True, False),
    ],
)
def test_vectors_in_a_chat_template_are_those_of_sentence_transformers(
    tmp_path: Path, template: str, pooling: str, processor: bool, plain: bool
) -> None:
    folder = save_chat_model(tmp_path, template, pooling, processor=processor)
    for encoder, vectors, expected in by_kind(folder):
        np.testing.assert_allclose(vectors, expected, atol=1e-5)
        effect = "leaves their tokens as they are" if plain else "changes their tokens"
        assert encoder.made()["assumed"] == [f"mine: its chat template is written around texts, which {effect}"]
        assert {"before", "after", "special_tokens"} < encoder.described()["chat_template"].keys()
    if plain:
        change_json(folder / "sentence_bert_config.json", modality_config=None, module_output_name=None)
        assert "chat_template" not in loaded(system(folder)).described()
        short = [0, 1, 2, 4, 5]  # a text that is cut ends with a token of the fillers, which this vocabulary does not tell apart
        plain_vectors = encoded(system(folder), [TEXTS[i] for i in short])
        np.testing.assert_allclose(plain_vectors, vectors[short], atol=1e-5)


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        ("{% for m in messages %}{{ m.content | trim }} w2{% endfor %}", "does more with queries than to write each once"),
        ("w1", "does more with queries than to write each once"),
        ("{{ strftime_now('%d') }}{% for m in messages %}{{ m.content }}{% endfor %}", "writes the time, so no result"),
        ("{{ raise_exception('only users') }}", "fails: TemplateError: only users"),
    ],
)
def test_a_template_that_changes_texts_or_depends_on_the_day_is_refused(tmp_path: Path, template: str, reason: str) -> None:
    folder = save_chat_model(tmp_path, template)
    with pytest.raises(ModelError, match=f"^system mine: the chat template in .*{reason}"):
        loaded(system(folder))


def test_messages_without_a_form_have_that_of_their_template_and_others_are_refused(tmp_path: Path) -> None:
    folder = save_chat_model(tmp_path, PARTS)
    usual = {"method": "forward", "method_output_name": "last_hidden_state"}
    change_json(folder / "sentence_bert_config.json", modality_config={"text": usual, "message": usual})
    for _, vectors, expected in by_kind(folder):
        np.testing.assert_allclose(vectors, expected, atol=1e-5)
    (folder / "chat_template.jinja").unlink()
    with pytest.raises(ModelError, match="has no chat template, or several; its texts are written into one"):
        loaded(system(folder))
    change_json(folder / "sentence_bert_config.json", modality_config={"text": usual, "message": {**usual, "format": "odd"}})
    with pytest.raises(ModelError, match=r"wraps texts in chat messages .* in this form"):
        loaded(system(folder))
