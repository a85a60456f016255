"""The package is rooms in an order, and a room imports only those before it."""

import ast
from pathlib import Path

import pytest

FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
PACKAGE = Path(__file__).parents[2] / "workflow/beirflow"

FLOORS = (
    ("files",),
    ("jobs", "sources"),
    ("datasets", "catalogue"),
    ("models",),
    ("runs",),
    ("postings",),
    ("computing",),
    ("encoders", "expansions"),
    ("training",),
    ("dense", "lexical", "sparse", "late", "fusion", "imported"),
    ("rerank",),
    ("experiment",),
    ("evaluation",),
    ("analysis",),
    ("report",),
    ("paper",),
    ("chain",),
    ("consistency",),
    ("recomputed", "remade"),
    ("audit",),
    ("exchange",),
)
"""From the ground up; rooms of one floor do not know each other."""

ROOMS = [room for floor in FLOORS for room in floor]


def below(room: str) -> set[str]:
    """The rooms that a room may import from, itself included."""
    floors = list(FLOORS)
    height = next(i for i, floor in enumerate(floors) if room in floor)
    return {room, *(name for floor in floors[:height] for name in floor)}


def imported_rooms(path: Path) -> set[str]:
    """The rooms that a module imports from, inside functions too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            found |= {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    dotted = [name.split(".") for name in found]
    return {parts[1] for parts in dotted if parts[0] == "beirflow" and len(parts) > 1}


def test_every_room_has_a_floor_and_says_what_it_is_for() -> None:
    folders = sorted(path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__")
    assert folders == sorted(ROOMS)
    assert [path.name for path in PACKAGE.glob("*.py")] == ["__init__.py"]
    for room in ROOMS:
        content = ast.parse((PACKAGE / room / "__init__.py").read_text(encoding="utf-8")).body
        assert len(content) == 1, room
        assert isinstance(content[0], ast.Expr), room


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_rooms_below_it(room: str) -> None:
    modules = sorted((PACKAGE / room).rglob("*.py"))
    wrong = {path.name: sorted(imported_rooms(path) - below(room)) for path in modules if imported_rooms(path) - below(room)}
    assert wrong == {}


def parameters_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """The names of the parameters of a function, keyword-only ones included; not ``self``, ``cls``, ``*`` and ``**``."""
    arguments = function.args
    names = [each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    return names[1:] if names[:1] in (["self"], ["cls"]) else names


@pytest.mark.parametrize("room", ROOMS)
def test_no_function_has_more_than_eight_parameters(room: str) -> None:
    trees = {path.name: ast.parse(path.read_text(encoding="utf-8")) for path in (PACKAGE / room).glob("*.py")}
    functions = [(name, node) for name, tree in trees.items() for node in ast.walk(tree) if isinstance(node, FUNCTION)]
    assert {(name, node.name): parameters_of(node) for name, node in functions if len(parameters_of(node)) > 8} == {}


def test_unit_tests_live_in_rooms_of_the_same_names() -> None:
    folders = {path.name for path in Path(__file__).parent.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders <= set(ROOMS)
    for room in folders:
        modules = {path.stem for path in (PACKAGE / room).rglob("*")}
        tests = {path.stem.removeprefix("test_") for path in (Path(__file__).parent / room).glob("test_*.py")}
        assert tests <= modules, room
