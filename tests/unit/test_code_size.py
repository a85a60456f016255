"""Each package keeps to the lines of code that pyproject.toml allows it, and what is allowed follows the code down."""

import ast
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]

ENDINGS = (".py", ".smk", ".yaml", ".j2", ".js", ".css")

SLACK = 20  # lines that may be allowed beyond those that are there


def lines_of_code(path: Path) -> int:
    """Lines of a file that hold code: no docstring, import, comment or blank line."""
    lines = path.read_text(encoding="utf-8").splitlines()
    code = {number for number, line in enumerate(lines, 1) if line.strip() and not line.strip().startswith("#")}
    for node in ast.walk(ast.parse("\n".join(lines))) if path.suffix == ".py" else ():
        text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        if text or isinstance(node, ast.Import | ast.ImportFrom):
            code -= {*range(node.lineno, (node.end_lineno or node.lineno) + 1)}
    return len(code)


def files() -> Iterator[tuple[str, Path]]:
    """The files of the product, each with its package, an extension or the workflow, of which the catalogue is data."""
    packages = {path.name: path for path in (REPOSITORY / "src/beirflow").iterdir() if path.is_dir() and not path.is_symlink()}
    packages |= {f"extensions/{path.name}": path for path in (REPOSITORY / "extensions").iterdir() if path.is_dir()}
    for name, folder in {**packages, "workflow": REPOSITORY / "workflow"}.items():
        for path in folder.rglob("*"):
            parts = path.relative_to(folder).parts
            is_data = "catalogue" in parts and path.suffix != ".py"
            if path.suffix in ENDINGS and "tests" not in parts and not is_data:
                yield name, path


def test_no_package_has_more_lines_than_it_may_and_none_may_have_more_than_it_needs() -> None:
    allowed = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["beirflow"]["lines_of_code"]
    counted: Counter[str] = Counter()
    for package, path in files():
        counted[package] += lines_of_code(path)
    assert counted.keys() == allowed.keys()
    too_many = {package: lines for package, lines in counted.items() if lines > allowed[package]}
    assert too_many == {}
    lower = {package: lines for package, lines in counted.items() if lines < allowed[package] - SLACK}
    assert lower == {}, "lower these in pyproject.toml"
