"""Extensions of others, which entry points of installed packages name."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from beirflow.core.errors import ConfigError
from beirflow.core.extensions import Addition, Extension, additions_to, extensions


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of installed packages."""
    monkeypatch.syspath_prepend(str(tmp_path))
    extensions.cache_clear()
    yield tmp_path
    extensions.cache_clear()


def install(packages: Path, value: str) -> None:
    about = packages / "mine-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1\n")
    (about / "entry_points.txt").write_text(f"[beirflow.extensions]\nmine = {value}\n")


def test_an_installed_package_is_an_extension_after_those_of_the_project(packages: Path) -> None:
    before = extensions()
    extensions.cache_clear()
    install(packages, "beirflow_mine_of_a_test")
    (packages / "beirflow_mine_of_a_test").mkdir()
    (packages / "beirflow_mine_of_a_test/__init__.py").write_text(
        "from pathlib import Path\nfrom beirflow.core.extensions import Extension\n"
        "EXTENSION = Extension(folder=Path(__file__).parent)\n"
    )
    assert extensions() == (*before, Extension(packages / "beirflow_mine_of_a_test"))


@pytest.mark.parametrize("value", ["mine", "beirflow.mine", "beirflow_mine:EXTENSION", "beirflow_mine.module"])
def test_an_entry_point_that_names_another_package_is_refused_by_its_name(packages: Path, value: str) -> None:
    install(packages, value)
    with pytest.raises(ConfigError, match=f"the entry point {value!r} of the group beirflow.extensions does not name a package"):
        extensions()


def test_an_addition_gets_the_values_of_its_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    adds = Extension(tmp_path, additions={"collect_costs": Addition("beirflow_mine.costs:columns", ("price",))})
    monkeypatch.setattr("beirflow.core.extensions.extensions", lambda: (Extension(tmp_path), adds))
    config = {"price": 3, "top_k": 10}
    assert additions_to("collect_costs", config) == {"beirflow_mine.costs:columns": {"price": 3}}
    assert additions_to("write_report", config) == {}
    assert Extension(tmp_path / "beirflow_mine").package == "beirflow_mine"
    assert {each.package for each in extensions()} >= {"beirflow.extensions.energy", "beirflow.extensions.beir_paper"}
