"""The rules that an edit to each module of the package reruns. As a program, it writes their list, reruns.txt."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from beirflow.run import code_version
from workflow_rules import functions_of, rule_codes

LIST, COMMAND = Path(__file__).with_suffix(".txt"), "python tests/reruns.py"

HEAD = f"""Rules that an edit to a module reruns, since the digest of their code changes; written by `{COMMAND}`.
Code that only some systems need is imported by name: its digest is another parameter, and not in this list.

"""


FILE_OF = code_version._file_of  # as it is without an edit


def reruns() -> str:
    """Return the list: a line with the path of each module and its rules."""
    return HEAD + "".join(f"{_path_of(name)}: {_listed(rules)}\n" for name, rules in _rules_by_module())


def _path_of(module: str) -> str:
    """Return the path of a module below the package, or below the folder of the extensions."""
    path = module.replace(".", "/")
    return f"{path}/__init__.py".lstrip("/") if FILE_OF(module).name == "__init__.py" else f"{path}.py"


def _rules_by_module() -> Iterator[tuple[str, set[str]]]:
    """Yield each module with the rules whose digest another statement in it changes."""
    before, file_of = rule_codes(), code_version._file_of
    modules = sorted(name for name in code_version._modules() if "tests" not in name.split("."))
    digest = code_version.code_version.__wrapped__  # which nothing keeps
    with TemporaryDirectory() as folder:
        for number, module in enumerate(modules):
            edited = Path(folder, f"{number}.py")
            edited.write_bytes(file_of(module).read_bytes() + b"\nedited = True\n")

            def after_the_edit(name: str, module: str = module, edited: Path = edited) -> Path:
                return edited if name == module else file_of(name)

            with patch.object(code_version, "_file_of", after_the_edit):
                yield module, {rule for rule, code in before.items() if digest(*functions_of(rule)) != code}


def _listed(rules: set[str]) -> str:
    others = rule_codes().keys() - rules
    if not rules or len(rules) <= len(others):
        return ", ".join(sorted(rules)) or "none"
    return f"all but {', '.join(sorted(others))}" if others else "all"


if __name__ == "__main__":
    LIST.write_text(reruns(), encoding="utf-8")
