"""Each family lives in a folder of its own, and nothing outside it names it."""

import ast
from functools import cache
from pathlib import Path

from beirflow.config.families import FAMILIES
from beirflow.core.kinds import CHUNKS_OF_REPRESENTATIONS, REPRESENTATIONS

PACKAGE = Path(__file__).parents[2] / "src/beirflow"

FOLDERS = {family.__module__.split(".")[2]: name for name, family in FAMILIES.items()}
"""The folder of each family, with its name."""


@cache
def tree_of(path: Path) -> ast.Module:
    """The statements of a module."""
    return ast.parse(path.read_text(encoding="utf-8"))


def test_every_package_says_what_it_is_for() -> None:
    for path in PACKAGE.rglob("*/__init__.py"):
        content = tree_of(path).body
        assert isinstance(content[0], ast.Expr), path
        assert len(content) == 1 or path.parent.name in ("cli", "lexical"), path  # the command itself, and a family


def test_unit_tests_mirror_the_package() -> None:
    for path in Path(__file__).parent.glob("*/**/test_*.py"):
        folder = PACKAGE / path.parent.relative_to(Path(__file__).parent)
        modules = {module.stem for module in folder.rglob("*")}
        assert path.stem.removeprefix("test_") in modules, path


HOMONYMS = {
    "models/encoders/head.py": {"dense"},  # a kind of layer
    "evaluation/cost.py": {"rerank"},  # a kind of work, in seconds of records
    "config/expected_cost.py": {"rerank"},
    "evaluation/systems.py": {"dense"},  # a key of the settings of a reranker
    "models/card_modules.py": {
        "dense",
        "sparse",
        "rerank",
        "late-interaction",
    },  # a kind of layer; what classes of models are for
    "report/figure_tables.py": {"rerank"},
}
"""By module, names of families that mean something else, or stand in a sentence."""

NAMES = set(FAMILIES) - {"run"}
"""Without that of imported runs, which is a word for much else."""


def modules_without_a_family() -> list[Path]:
    """The modules that may not know a family: all but those of its folder, and the table."""
    modules = (path.relative_to(PACKAGE) for path in sorted(PACKAGE.rglob("*.py")))
    own = {("families", folder) for folder in FOLDERS}
    return [path for path in modules if path.parts[:2] not in own and path.as_posix() != "config/families.py"]


def test_no_module_outside_its_folder_names_a_family() -> None:
    found = {}
    for path in modules_without_a_family():
        constants = {
            node.value
            for node in ast.walk(tree_of(PACKAGE / path))
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
        if named := constants & NAMES:
            found[path.as_posix()] = named
    assert found == HOMONYMS


def tries_settings(node: ast.AST) -> bool:
    """Test whether code tries which settings a system has, or of which family they are."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args):
        return False
    of_settings = "settings" in ast.unparse(node.args[0])
    kinds = {family.settings.__name__ for family in FAMILIES.values()}
    is_kind = node.func.id == "isinstance" and not kinds.isdisjoint(
        name.id for name in ast.walk(node) if isinstance(name, ast.Name)
    )
    return of_settings and (is_kind or node.func.id == "hasattr" or (node.func.id == "getattr" and len(node.args) == 3))


def test_no_module_outside_its_folder_tries_what_settings_a_family_has() -> None:
    tries = []
    for path in modules_without_a_family():
        tries += [f"{path}: {ast.unparse(node)}" for node in ast.walk(tree_of(PACKAGE / path)) if tries_settings(node)]
    assert tries == []


def test_a_rule_file_names_no_family_but_its_own() -> None:
    for rules in sorted((PACKAGE / "workflow/rules").glob("*.smk")):
        named = {name for name in FAMILIES if f'"{name}"' in rules.read_text(encoding="utf-8")}
        assert named <= {FOLDERS.get(rules.stem)}, rules.name


def test_chunks_of_every_family_are_known_to_be_representations() -> None:
    for family in FAMILIES.values():
        chunks = {pattern for pattern in family.representations if "{chunk}" in pattern}
        assert chunks <= set(CHUNKS_OF_REPRESENTATIONS), family.name
        assert all(chunk.startswith(REPRESENTATIONS) for chunk in chunks), family.name
