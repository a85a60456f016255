"""The tokens that are printed are those that transformers' own tokenizers give, and BM25's those of the analyzer."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from transformers import AutoTokenizer

from beirflow.extensions.tokens.command import print_tokens
from beirflow.families.postings.analyzer import analyze
from tiny_bert import save_tiny_bert
from tiny_colbert import save_colbert
from tiny_cross_encoder import save_cross_encoder
from tiny_sparse import save_masked_lm

TEXT = "w3 w4, W5 unheard. w6"


def configured(folder: Path, systems: dict[str, Any], **more: Any) -> str:
    """Write a configuration of these systems and BM25."""
    path = folder / "my.yaml"
    config = {"systems": ["bm25", *systems], "datasets": ["scifact"], "custom": {"systems": systems}, "precision": "float32"}
    path.write_text(yaml.safe_dump(config | more))
    return str(path)


def printed(capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, str]]:
    """The printed lines by system and kind of text."""
    systems: dict[str, dict[str, str]] = {}
    for line in capsys.readouterr().out.splitlines():
        if not line.startswith(" "):
            systems[line] = {}
        else:
            kind, _, rest = line.strip().partition(":")
            systems[[*systems][-1]][kind] = rest.strip()
    return systems


def test_a_dense_encoder_reads_prefix_and_special_tokens_and_is_cut(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = save_tiny_bert(tmp_path)
    entry = {"model": str(model), "pooling": "mean", "similarity": "dot"}
    systems = {
        "mine": entry | {"query_prefix": "w1: ", "document_prefix": "w2 "},
        "short": entry | {"max_length": 6},
        "exact": entry | {"max_length": 9},
        "apart": entry | {"title_separator": " w7 "},
        "half": {"variant_of": "mine", "vectors": "float16"},
    }
    assert print_tokens([configured(tmp_path, systems)], TEXT) == 0
    shown, tokenizer = printed(capsys), AutoTokenizer.from_pretrained(model)

    def tokens(text: str, **options: Any) -> str:
        return " ".join(tokenizer.convert_ids_to_tokens(tokenizer(text, **options)["input_ids"]))

    assert shown["mine"] == {
        "query, 11 tokens (at most 64)": tokens(f"w1: {TEXT}"),
        "document, 10 tokens (at most 64)": tokens(f"w2 {TEXT}"),
    }
    cut = tokens(TEXT, truncation=True, max_length=6)
    assert cut.endswith("[SEP]")
    assert shown["short"]["query, 6 tokens (at most 6)"] == f"{cut} | CUT, the whole text has 9"
    assert shown["exact"]["document, 9 tokens (at most 9)"] == tokens(TEXT)  # as long as allowed, and whole
    assert shown["apart"]["document, 10 tokens (at most 64)"] == tokens(f"w7 {TEXT}")
    assert [*shown["half"]] == ["as mine, whose vectors it searches"]
    # BM25 by the analyzer.
    assert shown["bm25"] == {"query and document, 5 terms of lucene-english": " ".join(analyze(TEXT))}


def test_sparse_and_cross_encoder_models_read_the_tokens_of_transformers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = {name: tmp_path / name for name in ("splade", "cross")}
    for folder in folders.values():
        folder.mkdir()
    save_masked_lm(folders["splade"])
    save_cross_encoder(folders["cross"])
    systems = {
        "splade": {"family": "sparse", "model": str(folders["splade"]), "query_prefix": "w1 ", "max_length": 5},
        "free": {"family": "sparse", "model": str(folders["splade"]), "queries": "tokens"},
        "pairs": {"family": "rerank", "first": "bm25", "depth": 5, "model": str(folders["cross"])},
    }
    assert print_tokens([configured(tmp_path, systems)], TEXT) == 0
    shown = printed(capsys)
    tokenizer, of_pairs = (AutoTokenizer.from_pretrained(folder) for folder in folders.values())
    query = tokenizer(f"w1 {TEXT}", truncation=True, max_length=5)["input_ids"]
    assert shown["splade"]["query, 5 tokens (at most 5)"].startswith(" ".join(tokenizer.convert_ids_to_tokens(query)))
    assert shown["splade"]["query, 5 tokens (at most 5)"].endswith("| CUT, the whole text has 10")
    without = tokenizer(TEXT, add_special_tokens=False)["input_ids"]
    assert shown["free"]["query, 7 tokens (at most 64)"] == " ".join(tokenizer.convert_ids_to_tokens(without))
    pair = of_pairs.convert_ids_to_tokens(of_pairs(TEXT, TEXT)["input_ids"])
    assert shown["pairs"] == {f"the text as query with itself as document, {len(pair)} tokens (at most 64)": " ".join(pair)}


def test_late_interaction_shows_markers_masks_and_tokens_without_a_vector(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = save_colbert(tmp_path)
    assert print_tokens([configured(tmp_path, {"col": {"family": "late-interaction", "model": str(model)}})], TEXT) == 0
    shown = printed(capsys)["col"]
    first, *others = AutoTokenizer.from_pretrained(model).tokenize(TEXT, add_special_tokens=True)
    assert shown["query, 10 tokens (at most 12, 2 more fill it up)"] == " ".join(
        [first, "[unused0]", *others, "[MASK]", "[MASK]"]
    )
    without = [f"({token})" if token in (",", ".") else token for token in others]
    assert shown["document, 10 tokens (at most 20)"] == " ".join([first, "[unused1]", *without]) + "; in brackets: no vector"


def test_systems_without_a_model_and_models_that_cannot_be_read_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "theirs.scifact.trec").touch()
    broken = save_tiny_bert(tmp_path)
    (broken / "model.safetensors").write_bytes(b"nothing")
    systems = {
        "fused": {"family": "fusion", "of": ["bm25", "theirs"]},
        "theirs": {"family": "run", "run": str(tmp_path / "theirs.{dataset}.trec")},
        "broken": {"model": str(broken), "pooling": "mean", "similarity": "dot"},
    }
    assert print_tokens([configured(tmp_path, systems)], "eggs") == 2
    out = capsys.readouterr().out
    assert "fused\n  nothing: it reads the runs of bm25, theirs\n" in out
    assert "theirs\n  nothing: it is imported\n" in out
    assert f"broken\n  system broken: the model in {broken} cannot be loaded" in out
    assert "bm25\n  query and document, 1 term of lucene-english: egg\n" in out


def test_settings_that_differ_by_dataset_are_shown_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = save_tiny_bert(tmp_path)
    entry = {"model": str(model), "pooling": "mean", "similarity": "dot", "query_prefix": "{instruction} "}
    own = {"one": entry | {"instructions": {"scifact": "w1", "nfcorpus": "w2"}}}
    assert print_tokens([configured(tmp_path, own, datasets=["scifact", "nfcorpus"])], "w5") == 0
    out = capsys.readouterr().out
    assert "on scifact:\n  query, 4 tokens (at most 64): [CLS] w1 w5 [SEP]" in out
    assert "on nfcorpus:\n  query, 4 tokens (at most 64): [CLS] w2 w5 [SEP]" in out
