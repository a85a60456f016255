"""Term weights and token vectors: no chunk changes a byte of a run, and what was changed since it was made is refused."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from beirflow.core.records import read_json, write_json
from beirflow.families.late_interaction import vectors
from beirflow.families.late_interaction.settings import LateSettings
from beirflow.families.sparse import files
from beirflow.families.sparse.settings import SparseSettings
from lexical_results import damage, refused
from model_results import LateResults, SparseResults, random_corpus
from tiny_bert import WORDS, change_weights, having_row
from tiny_colbert import save_colbert
from tiny_sparse import save_masked_lm

TEXTS = {"q1": "w1 w2 w3", "q2": "w4", "d5": "w7 w8 w9", "d9": "w1 w1", "empty": "."}
CORPUS = [*random_corpus(12, ". , ."), ("long", "", " ".join(WORDS[:30]))]


@dataclass(frozen=True)
class Kind:
    """A family whose model makes a file of each chunk and one of the queries."""

    results: Any
    settings: Callable[..., Any]
    save: Callable[[Path], Path]
    segments: tuple[Any, str, tuple[int, ...]]  # where the size of a segment is, and sizes
    budgets: tuple[int | str, ...] = (1, 1, 1)  # of late interaction, every text is a batch, so that equal vectors are stored


KINDS = {  # integers do not feel what the order of a sum does to the last bit of a weight
    "sparse": Kind(
        *(SparseResults, lambda *given: SparseSettings(*given, quantize="lucene"), save_masked_lm),
        *((files, "SEGMENT_DOCUMENTS", (1 << 15, 4, 1)), (1, 50, "auto")),
    ),
    "late interaction": Kind(LateResults, LateSettings, save_colbert, (vectors, "SEGMENT_TOKENS", (1 << 17, 40, 9))),
}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    return KINDS[request.param]


def test_chunks_segments_threads_and_batches_change_no_byte_of_the_run(
    tmp_path: Path, kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, runs, (module, size, sizes) = kind.settings("s", str(kind.save(tmp_path / "model"))), set(), kind.segments
    for number, made in enumerate(kind.results.shuffled(tmp_path, CORPUS, TEXTS, sizes=(3, 7, 1000))):
        monkeypatch.setattr(module, size, sizes[number])
        made.make_all(settings, token_budget=kind.budgets[number])
        runs.add(Path(made.find_all(settings, threads=1 + number)).read_bytes())
    assert len(runs) == 1


def changing(pattern: str, **changes: Any) -> Callable[[Path], object]:
    """Change what a record says."""

    def change(results: Path) -> None:
        (path,) = results.glob(pattern)
        write_json(path, read_json(path) | changes)

    return change


def damage_first(results: Path) -> None:
    """Change a byte of the first chunk."""
    damage(next(results.glob("*/s/small/*-0.arrow")))


WEIGHTS, TOKENS = "postings/s/small/*-0.json", "tokens/s/small/queries.json"
CHANGES: list[tuple[str, Callable[[Path], object], str]] = [
    *((kind, damage_first, "-0.arrow: .*damaged or replaced") for kind in KINDS),
    *((kind, changing("models/s.json", model="x"), r"it was made from the models/s\.json") for kind in KINDS),
    ("late interaction", changing(TOKENS, dim=3), r"has dimensions 16, but .*queries\.arrow has 3"),
    ("sparse", changing(WEIGHTS, made={"precision": "bfloat16"}), "has precision bfloat16, but .* has float32"),
    ("sparse", changing(WEIGHTS, rows=5), "found 5 texts, expected 1"),
    ("sparse", changing(WEIGHTS, system="other"), "other"),
]


@pytest.mark.parametrize(("name", "change", "says"), CHANGES)
def test_what_was_damaged_or_belongs_elsewhere_is_refused(tmp_path: Path, name: str, change: Any, says: str) -> None:
    kind = KINDS[name]
    settings = kind.settings("s", str(kind.save(tmp_path / "model")))
    made = kind.results(tmp_path, CORPUS, TEXTS, size=17).make_all(settings)
    change(made.results)
    refused(lambda: made.find(settings), made.results, says)


def test_a_model_that_changed_since_it_was_fetched_is_refused(tmp_path: Path, kind: Kind) -> None:
    settings = kind.settings("s", str(kind.save(tmp_path / "model")))
    made = kind.results(tmp_path, CORPUS, TEXTS)
    made.fetch(settings)
    config = tmp_path / "model/config.json"
    config.write_text(f"{config.read_text()} ")
    refused(lambda: made.make(settings, 0), made.results, r"has another config\.json than recorded")


def test_a_number_that_is_not_finite_names_its_text(tmp_path: Path, kind: Kind) -> None:
    folder = kind.save(tmp_path / "model")
    change_weights(folder, having_row("bert.embeddings.position_embeddings.weight", 15, np.nan))
    settings = kind.settings("s", str(folder))
    made = kind.results(tmp_path, CORPUS, TEXTS)
    made.fetch(settings)
    refused(lambda: made.make(settings, 0), made.results, "doc_id 'long' holds infinity or not-a-number")
