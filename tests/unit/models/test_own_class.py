"""A class of the user's own: found and hashed without being run, and loaded from what was hashed."""

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from beirflow.core.digests import file_digest
from beirflow.core.errors import DataError, ModelError
from beirflow.core.records import Job, read_json
from beirflow.models.model_files import check_model, fetch_model, model_digests, model_files
from beirflow.models.model_places import model_problem
from beirflow.models.own_class import class_files, load_class
from beirflow.models.settings import ModelSettings

BOOM = "if __name__: raise RuntimeError('imported')\n"
FILES = {
    "zoo_of_mine/__init__.py": "",
    "zoo_of_mine/deep/__init__.py": "from .. import shared\n",
    "zoo_of_mine/deep/encoder.py": "import numpy\nfrom .near import thing\nimport helper_of_mine\nclass Mine:\n    pass\n",
    "zoo_of_mine/deep/near.py": "def thing():\n    import zoo_of_mine.late\n",
    "zoo_of_mine/late.py": "",
    "zoo_of_mine/shared.py": "",
    "zoo_of_mine/unused.py": "syntax error",
    "helper_of_mine.py": "",
    "unused_of_mine.py": "",
}


def write(folder: Path, files: Mapping[str, str], first: str = "") -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text((first if text != "syntax error" else "") + text)
    return folder


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working directory; what is imported from it is forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [each for each in sys.path if each not in ("", os.fspath(tmp_path))])
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if "of_mine" in name:
            del sys.modules[name]


def system(encoder: str = "zoo_of_mine.deep.encoder:Mine", **arguments: Any) -> ModelSettings:
    return ModelSettings(name="mine", encoder=encoder, arguments=arguments or None)


def test_what_a_class_is_made_of_is_found_without_running_it(here: Path) -> None:
    write(here, FILES, first=BOOM)
    assert model_problem(system()) is None
    unused = {name for name in FILES if "unused" in name}
    assert list(class_files(system())) == sorted(set(FILES) - unused)
    assert model_digests(system()) == {name: file_digest(here / name) for name in set(FILES) - unused}
    assert {path.relative_to(here).as_posix() for path in model_files(system())} == set(FILES) - unused
    with pytest.raises(ModelError, match=r"zoo_of_mine.deep.encoder:Mine cannot be made: RuntimeError: imported in .*, line 1"):
        load_class(system())


def test_an_installed_class_has_nothing_to_do_with_its_neighbours(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(write(here / "lib/site-packages", FILES))
    assert {name for name in class_files(system()) if not name.startswith("zoo_of_mine/")} == set()


@pytest.mark.parametrize(
    ("encoder", "words"),
    [
        ("nowhere_of_mine:Mine", "there is no module nowhere_of_mine with a source file on Python's path"),
        ("zoo_of_mine.deep.nowhere:Mine", "there is no module zoo_of_mine.deep.nowhere"),
        ("zoo_of_mine.deep.encoder:Yours", "does not define Yours"),
        ("zoo_of_mine.unused:Mine", "cannot be read as Python"),
        ("sys:exit", "there is no module sys with a source file"),
        ("zoo_of_mine", "expected package.module:Class"),
        ("zoo_of_mine:a.b", "expected package.module:Class"),
    ],
)
def test_what_is_no_class_is_refused(encoder: str, words: str, here: Path) -> None:
    write(here, FILES)
    assert words in str(model_problem(system(encoder)))
    assert model_files(system(encoder)) == []


def test_files_that_arguments_name_belong_to_the_class(here: Path) -> None:
    write(here, FILES)
    write(here / "weights", {"a.bin": "a", "deep/b.bin": "b"})
    names = set(class_files(system(weights=str(here / "weights"), one=str(here / "weights/a.bin"), text="weights", number=3)))
    assert {name for name in names if name.startswith("arguments/")} == {
        "arguments/weights/weights/a.bin",
        "arguments/weights/weights/deep/b.bin",
        "arguments/one/a.bin",
    }
    write(here / "weights", {f"{i}": "" for i in range(1000)})
    assert "more than 1000 files; name the folder of the model alone" in str(model_problem(system(weights=str(here / "weights"))))


def test_another_module_of_the_same_name_is_not_loaded(here: Path) -> None:
    write(here, FILES)
    sys.modules["helper_of_mine"] = type(sys)("helper_of_mine")
    sys.modules["helper_of_mine"].__file__ = str(here / "unused_of_mine.py")
    write(here, {"helper_of_mine.py": "class Mine: pass"})
    with pytest.raises(ModelError, match=r"helper_of_mine is .*unused_of_mine.py when it is imported, but .*helper_of_mine.py"):
        load_class(system("helper_of_mine:Mine"))


def test_the_record_says_what_the_class_is_and_a_change_of_it_is_noticed(here: Path, tmp_path: Path) -> None:
    write(here, FILES)
    record = str(tmp_path / "results/model.json")
    fetch_model(
        system=system(size=3), configured=["similarity"], output_path=record, job=Job(tmp_path / "results", "fetch_model/mine")
    )
    held = read_json(record)
    assert (held["model"], held["encoder"], held["arguments"]) == (None, "zoo_of_mine.deep.encoder:Mine", {"size": 3})
    assert held["files"] == model_digests(system())
    check_model(system(size=3), record)
    (here / "zoo_of_mine/shared.py").write_text("# another")
    with pytest.raises(DataError, match=r"zoo_of_mine.deep.encoder:Mine has another zoo_of_mine/shared.py"):
        check_model(system(size=3), record)
