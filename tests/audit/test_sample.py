"""A sample that looks where forging pays, and that no label can make blind."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from beirflow.audit.again.samples import check_runs_that_follow, check_samples
from beirflow.audit.checks import Check
from beirflow.audit.facts.configured import check_configured
from beirflow.audit.verdict import SHARES, grades, seen
from beirflow.config.experiment import Experiment
from beirflow.config.load import load_experiment
from forger import FAILED, NOT_CHECKED, PASSED, Forger
from forgeries import in_order, relevant, relevant_first
from results_maker import Made

LABEL = "bfloat16"
PUSH = 0.022
"""Of a vector's length, some twice: less than what the label allows, and far more than what rounding does."""


def label(forger: Forger) -> None:
    """Say that everything was computed in half precision, as `auto` would on some machines."""
    forger.edit("manifest.json", configuration__precision="auto")
    for name in ("queries", "chunk-0", "chunk-1"):
        forger.edit(f"embeddings/tiny/small/{name}.json", made__precision=LABEL)
    for name in ("small", "more"):  # some vectors of the second are those of the first
        forger.edit(f"runs/tiny/{name}.json", made__precision=LABEL)


def push_relevant(forger: Forger) -> None:
    """Move every relevant document a little towards what its query has and the others have not."""
    queries = pq.read_table(forger.path("corpora/small/queries.parquet"))["query_id"].to_pylist()
    vectors = np.load(forger.path("embeddings/tiny/small/queries.npy"))
    vectors -= vectors.mean(axis=0)
    relevant = pq.read_table(forger.path("corpora/small/qrels.parquet")).to_pylist()
    push(forger, [(row["doc_id"], vectors[queries.index(row["query_id"])]) for row in relevant])


def push_rivals(forger: Forger) -> None:
    """Move every document that is relevant to nothing a little away from all queries."""
    relevant = set(pq.read_table(forger.path("corpora/small/qrels.parquet"))["doc_id"].to_pylist())
    documents = pq.read_table(forger.path("corpora/small/documents.parquet"))["doc_id"].to_pylist()
    away = -np.load(forger.path("embeddings/tiny/small/queries.npy")).mean(axis=0)
    push(forger, [(doc_id, away) for doc_id in documents if doc_id not in relevant])


def push(forger: Forger, moves: list[tuple[str, np.ndarray]]) -> None:
    """Move the vectors of documents a little, each in its direction."""
    file = pq.ParquetFile(forger.path("corpora/small/documents.parquet"))
    for chunk in range(file.metadata.num_row_groups):
        ids = file.read_row_group(chunk, ["doc_id"])["doc_id"].to_pylist()

        def moved(stored: np.ndarray, ids: list[str] = ids) -> np.ndarray:
            for doc_id, direction in moves:
                if doc_id in ids:
                    place = ids.index(doc_id)
                    stored[place] += PUSH * np.linalg.norm(stored[place]) * direction / np.linalg.norm(direction)
            return stored

        forger.edit_array(f"embeddings/tiny/small/chunk-{chunk}.npy", moved)


def automatic(forger: Forger) -> Experiment:
    """The configuration of an auditor who leaves the precision to the results."""
    return load_experiment({**forger.experiment.config, "precision": "auto"})


def of_documents(forger: Forger) -> list[str]:
    """List the faults that the sample finds in the documents of the forged corpus."""
    name = "documents encoded again have the stored vectors"
    found = [check for check in sampled(forger) if check.name == name and ("tiny", "small") in check.results]
    return [check.found for check in found if check.status == FAILED]


def sampled(forger: Forger, sample: int = 30) -> list[Check]:
    """The checks of a sample, and of what is made again without one."""
    chain = forger.followed()
    with chain.limits:
        return [*check_runs_that_follow(chain, sample, 1), *check_samples(chain, sample, 1)]


def test_vectors_that_were_moved_in_favour_of_what_is_relevant_are_found(original: Made, tmp_path: Path) -> None:
    for push_some, faults in ((lambda forger: None, 0), (push_relevant, 1), (push_rivals, 1)):
        forger = Forger.of(original, tmp_path / push_some.__name__)
        forger.experiment = automatic(forger)
        label(forger)
        push_some(forger)
        forger.digest_summary_again()
        found = of_documents(forger)
        assert len(found) == faults, push_some
        assert all("relevant pairs" in each and "all in one direction" in each for each in found)


@pytest.mark.parametrize("drawn", [100, 101])
def test_what_a_sample_sees_is_what_drawing_with_replacement_would_at_least(drawn: int) -> None:
    assert SHARES == (0.01, 0.05, 0.2)
    number = (drawn + 1) // 2
    words = [f"{share:.0%} forged is seen with {1 - (1 - share) ** number:.0%}" for share in SHARES]
    assert seen(drawn, 5183) == f"{drawn} of 5183 made again: {', '.join(words)}"
    assert seen(60, 60) == "all 60 made again"


def test_a_probability_is_stated_only_where_documents_were_made_again_and_of_those_that_were() -> None:
    fused = Check("queries fused again have the recorded ranks", PASSED, "")
    few, many, whole = (replace(fused, drawn=each) for each in ((100, 5183), (100, 100_000), (60, 60)))
    absent = replace(few, status=NOT_CHECKED, drawn=None)
    for checks, expected in (
        ([fused, few, whole, many], f"yes ({seen(100, 5183)})"),
        ([fused, whole], "yes (all 60 made again)"),
        ([fused, absent], "1 of 2 checks (no document was made again)"),
        ([absent], "no"),
    ):
        assert dict(grades({"sample": checks}))["sampled"] == expected


def test_the_precision_that_the_auditor_configured_decides_the_tolerance(forger: Forger) -> None:
    """Vectors as near as a label allows fail where the audit is configured with their true precision, though not bit by bit."""
    label(forger)
    push_rivals(forger)
    forger.digest_summary_again()
    asked = Forger(forger.results, load_experiment({**forger.experiment.config, "precision": "float32"}))
    (found,) = of_documents(asked)
    assert "relevant pairs" not in found
    bits = [check.found for check in sampled(asked) if "bit for bit" in check.name and check.found.startswith("tiny on small")]
    assert [re.findall(r"was computed with precision '(\w+)', here it is 'float32'", found) for found in bits] == [
        ["bfloat16"]
    ] * 2
    (check,) = [check for check in check_configured(asked.followed()) if "precision:" in check.found]
    assert check.status == NOT_CHECKED
    assert "configured with auto, the audit with float32" in check.found
    automatically = check_configured(Forger(forger.results, automatic(forger)).followed())
    assert not any("precision:" in check.found for check in automatically)


def cut(forger: Forger, system: str) -> None:
    """Leave out all but the first hits of each query; every score is true."""
    forger.edit_table(f"runs/{system}/small.parquet", lambda run: run[run["rank"] <= 5])
    forger.evaluate_again(system, "small")


def rivals_left_out(forger: Forger, system: str) -> None:
    """Leave out the hits before the last relevant one, and take others for them; every score is true."""
    best = relevant(forger)

    def change(run: pd.DataFrame) -> pd.DataFrame:
        keep = [
            rows[rows["doc_id"].isin(best[str(query)]) | (rows["rank"] > rows["rank"].median())]
            for query, rows in run.groupby("query_id")
        ]
        return in_order(pd.concat(keep))

    forger.edit_table(f"runs/{system}/small.parquet", change)
    forger.evaluate_again(system, "small")


Forged = tuple[Callable[[Forger, str], object], str]
"""A forgery of the run of a system, and the words of the audit about its hits."""

FORGED: list[Forged] = [
    (lambda *_: None, "queries, "),
    (relevant_first, "has the score |of those made again, expected "),
    (rivals_left_out, "expected one with|of those made again, expected "),
    (cut, "of those made again, expected "),
]
POSTINGS = {
    "masked": "postings/masked/*/weights-*.arrow",
    "words": "postings/lucene-english/*/chunk-*.arrow",
    "tokens": "tokens/tokens/*/chunk-*.arrow",
}
DELETED: list[tuple[str, dict[str, tuple[str, Forged]]]] = [
    *[("families", {name: (POSTINGS[name], FORGED[(turn + i) % 4]) for i, name in enumerate(POSTINGS)}) for turn in range(4)],
    *[
        ("forger", {name: (f"embeddings/{name}/*/chunk-*.npy", FORGED[turn + i]) for i, name in enumerate(("tiny", "second"))})
        for turn in (0, 2)
    ],
    ("forger", {"tiny": ("embeddings/tiny/*/*", FORGED[1])}),
]
"""Results, and by system the files that are deleted and what is forged: each forgery with each system, several in one audit."""


@pytest.mark.parametrize(("results", "systems"), DELETED)
def test_hits_are_scored_again_from_their_texts_where_representations_were_deleted(
    results: str, systems: dict[str, tuple[str, Forged]], request: pytest.FixtureRequest
) -> None:
    forger: Forger = request.getfixturevalue(results)
    for gone, _ in systems.values():
        for path in [*forger.results.glob(gone)]:
            path.unlink()
    forger.edit("manifest.json", configuration__keep_representations=False)
    for system, (_, (forge, _)) in systems.items():
        forge(forger, system)
    forger.digest_summary_again()
    checks = sampled(forger)
    for system, (_, (_, found)) in systems.items():
        own = [check for check in checks if re.match(rf"({system} on |runs/{system}/)small\b", check.found)]
        (check,) = [check for check in own if check.name.startswith("hits ")]
        assert check.status == (PASSED if found == "queries, " else FAILED)
        assert re.search(found, check.found)
        (ranks,) = [check for check in own if check.name == "queries searched again have the recorded ranks"]
        assert ranks.status == NOT_CHECKED
