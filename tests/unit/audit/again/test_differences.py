"""Tables that are made again, with and without the columns of extensions."""

from pathlib import Path

import pytest

from beirflow.audit.again.differences import UnsourcedError, difference
from beirflow.core.extensions import Extension
from beirflow.core.layout import COST, SUMMARY

PLAIN = "system,seconds,load_per_core\nbm25,1.5,0.5\n"
ADDED = "system,seconds,watts,load_per_core\nbm25,1.5,9.0,0.5\n"


def compared(folder: Path, here: str, made: str, path: str = COST) -> str:
    for name, content in (("here.csv", here), ("made.csv", made)):
        (folder / name).write_text(content)
    return difference(path, folder / "here.csv", folder / "made.csv")


def test_columns_of_an_extension_that_is_not_installed_are_named_and_the_others_compared(tmp_path: Path) -> None:
    with pytest.raises(UnsourcedError, match=r"^its columns watts need the extension that adds them$"):
        compared(tmp_path, ADDED, PLAIN)
    assert compared(tmp_path, ADDED.replace("1.5", "2.5"), PLAIN) == "line 2: seconds is 2.5, expected 1.5"
    assert compared(tmp_path, ADDED.replace("system,", "name,"), PLAIN).startswith("1 rows of name, seconds")
    with pytest.raises(UnsourcedError) as both:
        compared(tmp_path, ADDED, PLAIN.replace("0.5", ""))
    assert (both.value.columns, both.value.added) == (["load_per_core"], ["watts"])
    assert compared(tmp_path, ADDED, PLAIN, SUMMARY) == "1 rows of system, seconds, watts, load_per_core"


def test_costs_that_were_collected_without_an_extension_are_compared_without_its_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert compared(tmp_path, PLAIN, ADDED) == "1 rows of system, seconds, load_per_core"
    watts = Extension(tmp_path, from_outside={COST: ("watts",)})
    monkeypatch.setattr("beirflow.audit.again.differences.extensions", lambda: (watts,))
    assert compared(tmp_path, PLAIN, ADDED) == ""
    assert compared(tmp_path, PLAIN.replace("1.5", "2.5"), ADDED) == "line 2: seconds is 2.5, expected 1.5"
    assert compared(tmp_path, ADDED.replace("9.0", "8.0"), ADDED) == "line 2: watts is 8.0, expected 9.0"
    with pytest.raises(UnsourcedError, match="columns watts come from is not among the results"):
        compared(tmp_path, ADDED, ADDED.replace("9.0", ""))


def test_a_measure_whose_benchmark_is_gone_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnsourcedError, match="columns load_per_core come from"):
        compared(tmp_path, PLAIN, PLAIN.replace("0.5", ""))
