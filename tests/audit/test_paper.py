"""Tables of the BEIR paper that were made prettier, with their record made again: they no longer show the results."""

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from beirflow.audit.again.for_reading import _read_page, _rebuilt, check_files_for_reading
from beirflow.audit.chain import Chain
from beirflow.audit.checks import Check
from beirflow.core.digests import file_digest
from beirflow.core.records import read_json
from forger import FAILED, NOT_CHECKED, PASSED, WARNING, Forger

RECORD = "paper/index.json"


def walked(papered: Forger) -> Chain:
    """Walk from the manifest, whose findings these checks need."""
    chain = Chain(papered.results, read_json(papered.path("manifest.json")), audited_with=papered.experiment)
    chain.follow()
    return chain


def made_again(papered: Forger, name: str) -> Check:
    """The check of one file, which is made again."""
    (check,) = _rebuilt(walked(papered), [name])
    return check


def record_again(papered: Forger, **values: Any) -> None:
    papered.edit(RECORD, outputs={path: file_digest(papered.path(path)) for path in papered.read(RECORD)["outputs"]}, **values)


def edit(name: str, **columns: object) -> Callable[[Forger], str]:
    def change(papered: Forger) -> str:
        table = pd.read_csv(papered.path(name)).assign(**columns)
        papered.replace(name, table.to_csv(index=False).encode())
        return name

    return change


def edit_statistics(papered: Forger) -> str:
    papered.edit("paper/words/small.json", counts__documents=7)
    return "paper/words/small.json"


def edit_words(papered: Forger) -> str:
    papered.edit_table("paper/words/small.parquet", lambda words: words.assign(count=words["count"] + 1))
    return "paper/words/small.parquet"


def test_untouched_tables_are_what_the_results_give(papered: Forger) -> None:
    found = [
        check for check in check_files_for_reading(walked(papered)) if any(path.startswith("paper/") for path in check.files)
    ]
    made = {path for check in found if check.status == PASSED for path in check.files}
    tables = {path.relative_to(papered.results).as_posix() for path in papered.path("paper").glob("*.csv")}
    assert len(tables) == 13
    assert tables < made
    assert {"paper/words/small.json", "paper/words/small.parquet"} < made
    assert {check.status for check in found} == {PASSED, NOT_CHECKED}
    assert {path for check in found if check.status == NOT_CHECKED for path in check.files} >= {"paper/overlap-graph.svg"}


TABLES = [
    edit("paper/table-2.csv", **{"here second": 0.99}),
    edit("paper/claims.csv", verdict="holds"),
    edit("paper/overlap.csv", similarity=0.5),
    edit("paper/bias.csv", hole=0.0),
    edit("paper/efficiency.csv", cpu_ms=1.0),
]


@pytest.mark.parametrize("changes", [TABLES, [edit_statistics, edit_words]], ids=["tables", "words"])
def test_tables_that_do_not_show_the_results_are_found(papered: Forger, changes: list[Callable[[Forger], str]]) -> None:
    names = [change(papered) for change in changes]
    record_again(papered)
    statuses = {check.files[0]: check.status for check in _rebuilt(walked(papered), names)}
    assert statuses == dict.fromkeys(names, FAILED)


def test_the_page_is_made_again(papered: Forger) -> None:
    assert made_again(papered, "paper/index.html").status == PASSED


def test_a_page_that_shows_something_else_is_found(papered: Forger) -> None:
    page = papered.path("paper/index.html").read_text(encoding="utf-8")
    papered.replace("paper/index.html", page.replace("second", "the best", 1).encode())
    record_again(papered)
    assert made_again(papered, "paper/index.html").status == FAILED


def test_a_figure_that_was_changed_is_found_by_the_record_of_the_page(papered: Forger) -> None:
    papered.replace("paper/overlap-graph.svg", b"<svg/>")
    changed = _read_page(walked(papered), RECORD, "paper/index.html").changed
    assert {path: check.status for path, check in changed.items()} == {"paper/overlap-graph.svg": FAILED}


def test_tables_made_with_another_catalogue_are_a_warning(papered: Forger) -> None:
    edit("paper/table-2.csv", **{"printed BM25": 0.5})(papered)
    record_again(papered, printed={"paper.yaml": "0" * 64})
    check = made_again(papered, "paper/table-2.csv")
    assert check.status == WARNING
    assert "another catalogue" in check.found


def test_a_table_with_further_judgements_is_not_made_again_without_them(papered: Forger) -> None:
    edit("paper/bias.csv", extra=3)(papered)
    check = made_again(papered, "paper/bias.csv")
    assert check.status == NOT_CHECKED
    assert "what its columns extra come from is not among the results" in check.found


def test_further_judgements_hide_nothing_that_does_not_come_of_them(papered: Forger) -> None:
    edit("paper/bias.csv", extra=3, ndcg_holes_relevant=0.9)(papered)
    check = made_again(papered, "paper/bias.csv")
    assert (check.status, "ndcg_holes_relevant is 0.9" in check.found) == (FAILED, True)
