"""The pins of envs/ follow from one lock, which holds what pyproject.toml requires."""

import re
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from beirflow.run.provenance import VERSIONS
from lock import FILES_ALONE, LOCK, OF_TORCH, PLUGIN, REPOSITORY, closure, direct_requirements, followers, name_of, pins_of

PINS = pins_of(LOCK.read_text())
FOLLOWERS = followers(LOCK.read_text())


def test_every_file_of_pins_follows_from_the_lock() -> None:
    there = {path.name: path.read_text() for path in LOCK.parent.iterdir() if path != LOCK}
    assert there == FOLLOWERS, "run: python tests/lock.py"


@pytest.mark.parametrize("name", direct_requirements())
def test_the_lock_holds_a_version_in_the_range_of_every_requirement(name: str) -> None:
    for text in direct_requirements()[name]:
        requirement = Requirement(text)
        version = Version(re.split("==| ", PINS[name_of(text)].requirement)[1])
        assert version in requirement.specifier, text


def test_everything_is_pinned_by_hashes_but_torch_which_has_several_builds() -> None:
    assert [name for name, pin in PINS.items() if not pin.hashes] == ["torch"]
    assert all(re.fullmatch("sha256:[0-9a-f]{64}", each) for pin in PINS.values() for each in pin.hashes)
    with_hashes = {name for name, text in FOLLOWERS.items() if "--hash" in text}
    assert {name for name in FOLLOWERS if name.endswith(".txt")} - with_hashes == {"requirements-torch.txt"}


def test_the_lock_names_no_index() -> None:
    for text in (LOCK.read_text(), *FOLLOWERS.values()):
        assert not re.search(r"://|--(?:extra-)?index-url|--find-links|@ file|/work/", text)


def test_what_is_installed_together_needs_nothing_else() -> None:
    """It is installed without looking for more: whatever a package needs is in one of the files."""
    files = ("requirements", "requirements-build", "requirements-torch", "requirements-weights", "requirements-dev")
    files += ("requirements-faiss", "requirements-onnx", "requirements-sentence-transformers", "requirements-slurm")
    together = set().union(*(pins_of(FOLLOWERS[f"{name}.txt"]) for name in files))
    assert together >= closure(PINS, direct_requirements()["dev"])
    lacking = {name for name, pin in PINS.items() if pin.needed_by & together - {*FILES_ALONE} - {"torch"}} - together
    assert lacking == set()
    assert {name for name, pin in PINS.items() if "torch" in pin.needed_by and not OF_TORCH.match(name)} <= together
    assert "torch" not in pins_of(FOLLOWERS["requirements.txt"])


def test_a_package_without_models_needs_no_model_code() -> None:
    assert closure(PINS, direct_requirements()[""]) & {"torch", "transformers", "tokenizers", "faiss-cpu", "onnxruntime"} == set()


def test_snakemake_may_have_the_versions_that_the_workflow_accepts() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    for package, (oldest, _) in VERSIONS.items():
        assert f"{package}>={oldest}" in project["dependencies"]


def test_the_extra_for_clusters_is_the_plugin_of_this_repository_which_no_pin_names() -> None:
    plugin = tomllib.loads((REPOSITORY / PLUGIN).read_text())["project"]
    extras = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    (required,) = map(Requirement, extras["slurm"])
    assert required.name == plugin["name"]
    assert Version(plugin["version"]) in required.specifier
    # What developers install is on the index.
    assert not any("slurm" in each for each in extras["dev"])
    assert plugin["name"] not in PINS
