"""Forgeries of every family and of every file for readers: each is detected."""

import re
from itertools import groupby
from pathlib import Path

import pytest

from beirflow.core import kinds
from forger import Forger
from forgeries import OF_SAMPLES, PAGES, RESULTS, Forgery
from results_maker import Made
from results_of_everything import make_everything

pytest.importorskip("faiss")


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return make_everything(tmp_path_factory.mktemp("everything"))


def lines_of(forger: Forger, sample: int) -> list[str]:
    """Give the lines that an audit prints."""
    return [f"{check.status}: {check.name}: {check.found}" for check in forger.checks(sample)]


def first_of_each_family(forgeries: list[Forgery]) -> list[Forgery]:
    """Forgeries that one folder can have together."""
    return [next(of_one) for _, of_one in groupby(forgeries, key=lambda forgery: forgery.name.partition(":")[0])]


def unseen(forger: Forger, forgeries: list[Forgery], sample: int) -> list[str]:
    """Names of forgeries that an audit of all of them says nothing of."""
    for forgery in forgeries:
        forgery.forge(forger)
    lines = lines_of(forger, sample)
    return [forgery.name for forgery in forgeries if not any(re.match(forgery.seen, line) for line in lines)]


def without_pages(forger: Forger) -> Forger:
    for path in [path for path in forger.results.rglob("*") if path.is_file()]:
        if kinds.is_derived(path.relative_to(forger.results).as_posix()):
            path.unlink()
    return forger


def test_nothing_is_noticed_where_nobody_touched_them(everything: Made, tmp_path: Path) -> None:
    assert Forger.of(everything, tmp_path).noticed() == []
    assert Forger(tmp_path / "results").noticed() == []


KINDS = {"results": RESULTS, "pages": PAGES, "samples": OF_SAMPLES}


def forger_of(everything: Made, folder: Path, kind: str) -> Forger:
    forger = Forger.of(everything, folder)
    return forger if kind == "pages" else without_pages(forger)


@pytest.mark.parametrize("kind", ["results", "pages"])
def test_forgeries_in_one_folder_are_detected(everything: Made, tmp_path: Path, kind: str) -> None:
    assert unseen(forger_of(everything, tmp_path, kind), first_of_each_family(KINDS[kind]), 0) == []


SINGLE = [pytest.param(kind, each, id=f"{kind}-{each.name}") for kind, forgeries in KINDS.items() for each in forgeries]


@pytest.mark.long
@pytest.mark.parametrize(("kind", "forgery"), SINGLE)
def test_a_forgery_is_detected(everything: Made, tmp_path: Path, kind: str, forgery: Forgery) -> None:
    assert unseen(forger_of(everything, tmp_path, kind), [forgery], 1000 * forgery.sample) == []
