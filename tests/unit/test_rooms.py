"""The package is rooms in an order, and a room imports only those before it."""

import ast
from functools import cache
from pathlib import Path

from beirflow.experiment.families import FAMILIES
from beirflow.files.kinds import CHUNKS_OF_REPRESENTATIONS, REPRESENTATIONS

PACKAGE = Path(__file__).parents[2] / "workflow/beirflow"

FLOORS = (
    ("files",),
    ("jobs", "sources"),
    ("datasets", "catalogue", "computing"),
    ("runs", "models"),
    ("postings", "encoders", "expansions", "evaluation"),
    ("training", "analysis"),
    ("dense", "lexical", "sparse", "late", "fusion", "imported", "report"),
    ("rerank", "approximate", "paper"),
    ("audit",),
    ("exchange",),
    ("experiment",),
)
"""From the ground up; rooms of one floor do not know each other."""

READERS = ("evaluation", "analysis", "report", "paper", "audit")
"""Rooms that read runs, whatever made them."""

FAMILY_ROOMS = {family.__module__.split(".")[1]: name for name, family in FAMILIES.items()}
"""The room of each family, with its name."""

ROOMS = [room for floor in FLOORS for room in floor]

MOST_FLOORS = 11

AUDIT = (("chain",), ("facts",), ("again",))
"""The packages inside of the room of the audit, in the same order; its own modules are above them."""


@cache
def tree_of(path: Path) -> ast.Module:
    """The statements of a module."""
    return ast.parse(path.read_text(encoding="utf-8"))


def below(room: str) -> set[str]:
    """The rooms that a room may import from, itself included."""
    floors = list(FLOORS)
    height = next(i for i, floor in enumerate(floors) if room in floor)
    return {room, *(name for floor in floors[:height] for name in floor)}


def imported_names(path: Path) -> list[list[str]]:
    """The names below the package that a module imports, inside functions too."""
    found = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ImportFrom):
            found |= {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    dotted = [name.split(".") for name in found]
    return [parts[1:] for parts in dotted if parts[0] == "beirflow" and len(parts) > 1]


def imported_rooms(path: Path) -> set[str]:
    """The rooms that a module imports from."""
    return {parts[0] for parts in imported_names(path)}


def test_every_room_has_a_floor_and_says_what_it_is_for() -> None:
    folders = sorted(path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__")
    assert folders == sorted(ROOMS)
    assert len(FLOORS) <= MOST_FLOORS
    assert [path.name for path in PACKAGE.glob("*.py")] == ["__init__.py"]
    for room in ROOMS:
        content = tree_of(PACKAGE / room / "__init__.py").body
        assert len(content) == 1, room
        assert isinstance(content[0], ast.Expr), room


def test_a_room_imports_only_rooms_below_it() -> None:
    above = {(room, path.name): imported_rooms(path) - below(room) for room in ROOMS for path in (PACKAGE / room).rglob("*.py")}
    assert {place: rooms for place, rooms in above.items() if rooms} == {}


def test_a_room_that_reads_runs_knows_no_family() -> None:
    paths = [path for room in READERS for path in (PACKAGE / room).rglob("*.py")]
    known = {path: imported_rooms(path) & {*FAMILY_ROOMS, "experiment"} for path in paths}
    assert {path: rooms for path, rooms in known.items() if rooms} == {}


def test_unit_tests_live_in_rooms_of_the_same_names() -> None:
    folders = {path.name for path in Path(__file__).parent.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders <= set(ROOMS)
    for room in folders:
        modules = {path.stem for path in (PACKAGE / room).rglob("*")}
        tests = {path.stem.removeprefix("test_") for path in (Path(__file__).parent / room).glob("test_*.py")}
        assert tests <= modules, room


HOMONYMS = {
    "encoders/head.py": {"dense"},  # a kind of layer
    "evaluation/cost.py": {"rerank"},  # a kind of work, in seconds of records
    "experiment/expected_cost.py": {"rerank"},
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
    """The modules that may not know a family: all but those of its room, and the table."""
    modules = (path.relative_to(PACKAGE) for path in sorted(PACKAGE.rglob("*.py")))
    return [path for path in modules if path.parts[0] not in FAMILY_ROOMS and path.as_posix() != "experiment/families.py"]


def test_no_module_outside_its_room_names_a_family() -> None:
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
    kinds = {f"{room.title()}Settings" for room in FAMILY_ROOMS}
    is_kind = node.func.id == "isinstance" and not kinds.isdisjoint(
        name.id for name in ast.walk(node) if isinstance(name, ast.Name)
    )
    return of_settings and (is_kind or node.func.id == "hasattr" or (node.func.id == "getattr" and len(node.args) == 3))


def test_no_module_outside_its_room_tries_what_settings_a_family_has() -> None:
    tries = []
    for path in modules_without_a_family():
        tries += [f"{path}: {ast.unparse(node)}" for node in ast.walk(tree_of(PACKAGE / path)) if tries_settings(node)]
    assert tries == []


def test_a_rule_file_names_no_family_but_its_own() -> None:
    for rules in sorted(PACKAGE.parent.glob("rules/*.smk")):
        named = {name for name in FAMILIES if f'"{name}"' in rules.read_text(encoding="utf-8")}
        assert named <= {FAMILY_ROOMS.get(rules.stem)}, rules.name


def test_chunks_of_every_family_are_known_to_be_representations() -> None:
    for family in FAMILIES.values():
        chunks = {output for record in family.records for output in record.outputs if "{chunk}" in output}
        assert chunks <= set(CHUNKS_OF_REPRESENTATIONS), family.name
        assert all(chunk.startswith(REPRESENTATIONS) for chunk in chunks), family.name
