"""An edit reruns what depends on it and nothing else; and modules that need no torch do not import it."""

import ast
import io
import json
import os
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path

import pytest

from beirflow import WORKFLOW
from beirflow.core.extensions import Extension, extensions
from beirflow.run import code_version as module
from beirflow.run.code_version import NO_INFLUENCE, _modules, calls, code_of, code_version
from forks import run_code_in_fork
from reruns import COMMAND, LIST, reruns
from workflow_rules import functions_of, rule_codes, rule_modules, workflow_rules

RULES = {rule: functions_of(rule) for rule in sorted(rule_codes())}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A small package in the place of this one."""
    folder = tmp_path / "beirflow"
    folder.mkdir()
    for name in ("PACKAGE", "extensions"):
        monkeypatch.setattr(module, name, folder if name == "PACKAGE" else tuple)
    forget()
    yield folder
    monkeypatch.undo()
    forget()


def forget() -> None:
    """Read the files again."""
    for cached in (code_version, module.module_at, module._file_of, module._modules, module._packages_of_others):
        cached.cache_clear()


def edit(path: Path) -> None:
    path.write_text(path.read_text(encoding="utf-8") + "\nedited = True\n", encoding="utf-8")


def test_an_edit_to_each_module_reruns_the_rules_of_the_list() -> None:
    differ = [*unified_diff(LIST.read_text(encoding="utf-8").splitlines(), reruns().splitlines(), lineterm="", n=0)]
    assert not differ, "\n".join([f"`{COMMAND}` writes the list again; commit it if these rules should rerun:", *differ])


def test_a_new_module_beside_one_that_imports_all_beside_it_changes_its_digest(package: Path) -> None:
    (package / "measures").mkdir()
    (package / "measures/all.py").write_text(f"{module.LOADS_FOLDER.decode()}\n")
    (package / "other.py").write_text("x = 1\n")
    functions = ("beirflow.measures.all:f", "beirflow.other:f")
    before = [code_version(each) for each in functions]
    (package / "measures/new.py").write_text("from beirflow.other import x\n")
    forget()
    assert [code_version(each) == digest for each, digest in zip(functions, before, strict=True)] == [False, True]


WRITTEN = """def double(x):
    return {
        "a":
        "b",
    }, x * 2
"""
DESCRIBED = '''r"""A module."""
# A comment with """quotes""" and a (

def double(x):  # another
    r = """Double a number, e.g. "3" # and '4'."""

    """The \\""" second."""
    return {
        "a":
        # of a value
        "b",
    }, x * 2
'''


def code(source: str) -> list[bytes]:
    return module.code_lines(source.encode())


def test_words_and_blank_lines_are_not_code_and_every_value_is() -> None:
    described = DESCRIBED.replace("r = ", "", 1)
    assert code(described) == code(WRITTEN)
    assert code(DESCRIBED) != code(WRITTEN) != code(described.replace('"b"', '"c"'))
    for other in ("x = ''", 'f("a")', '"a" % x', "x = \\\n'a'", "f(\n    '''a'''\n)", "x = '#a'", 'f"{x!r}#a"'):
        assert code(other) != code(other.replace("a", "b").replace("x", "y")), other


def test_the_lines_of_code_of_every_module_are_what_python_reads_without_its_docstrings() -> None:
    for path in module.PACKAGE.rglob("*.py"):
        source = path.read_bytes()
        assert b"".join(b"".join(module.code_lines(source)).split()) == tokens(source).encode(), path


LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.ENCODING, tokenize.INDENT, tokenize.DEDENT}


def tokens(source: bytes) -> str:
    """Join Python's own tokens, without comments, lines that are one string, and spaces."""
    kept, line = [], []
    for token in tokenize.tokenize(io.BytesIO(source).readline):
        if token.type == tokenize.NEWLINE:
            kept += [] if {each.type for each in line} == {tokenize.STRING} else [each.string for each in line]
            line = []
        elif token.type not in LAYOUT:
            line.append(token)
    return "".join("".join(kept).replace("\\\n", "").split())


def test_a_digest_is_the_same_in_every_process_and_differs_between_rules() -> None:
    digests = [code_version(*functions) for functions in RULES.values()]
    assert len(set(digests)) == len({*RULES.values()}) >= 60  # two rules search vectors by the same function
    assert all(len(digest) == 16 and int(digest, 16) >= 0 for digest in digests)
    program = f"from beirflow.run.code_version import code_version; print(*(code_version(*each) for each in {[*RULES.values()]}))"
    assert run(program).split() == digests
    encode = "beirflow.families.dense.encode"
    assert code_version(f"{encode}:encode_chunk") != code_version(f"{encode}:encode_queries")


@pytest.mark.parametrize(
    "statement",
    [
        "from beirflow.a import (  # the first (of two)\n    x,\n)",
        "from beirflow.other import (\n    a,  # a comment with )\n)\nimport beirflow.a as z",
        "def f():\n    from beirflow.folder import a",
    ],
)
def test_every_way_to_import_a_module_is_seen_at_any_depth_and_in_a_circle(package: Path, statement: str) -> None:
    (package / "beside.py").write_text("x = 1\n")
    (package / "one.py").write_text(f'"""A module."""\n{statement}\n')
    folder, name = (package / "folder", "folder.") if "folder" in statement else (package, "")
    folder.mkdir(exist_ok=True)
    (folder / "a.py").write_text(f"from beirflow.{name}b import x\n")
    (folder / "b.py").write_text(f"from beirflow.{name}a import y\nx = 1\n")
    forget()
    before = code_version("beirflow.one:f")
    for edited, changes in ((f"{name}a", True), (f"{name}b", True), ("beside", False)):
        edit(module._file_of(edited))
        forget()
        assert (code_version("beirflow.one:f") != before) == changes, edited
        before = code_version("beirflow.one:f")


def test_the_statements_alone_name_what_whole_files_name_and_none_is_relative() -> None:
    for path in module.PACKAGE.rglob("*.py"):
        nodes = [node for node in ast.walk(ast.parse(path.read_bytes())) if isinstance(node, ast.Import | ast.ImportFrom)]
        assert not [node for node in nodes if isinstance(node, ast.ImportFrom) and node.level], "the digest does not see these"
        whole = {name for node in nodes for name in module._imported(node) if name.startswith("beirflow.")}
        source = path.read_bytes()
        # Some more are in the text of a program.
        assert {f"beirflow.{name}" for name in module.imported_names(source, module.code_lines(source))} >= whole, path


@pytest.fixture
def others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package with an extension of others."""
    folder = tmp_path / "beirflow_others"
    files = {"__init__": "", "layout": "", "unused": "", "folder/__init__": "", "b": "from beirflow.core.writing import x\n"}
    files |= {"folder/a": "from ..b import x\nimport beirflow_others.layout\n"}
    for name, content in files.items():
        (folder / f"{name}.py").parent.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.py").write_text(content)
    monkeypatch.setattr(module, "extensions", lambda: (*extensions(), Extension(folder)))
    forget()
    yield folder
    monkeypatch.undo()
    forget()


@pytest.mark.parametrize(
    "statement",
    [
        "x = 1; from .folder import a",
        "def f():\n    from . \\\n    folder . a import x",
        "import os, beirflow_others.folder.a",
    ],
)
def test_the_code_of_a_package_of_others_is_what_it_reaches_there_and_here(others: Path, statement: str) -> None:
    (others / "one.py").write_text(f"{statement}\n")

    def digest() -> str:
        forget()
        return code_of(["beirflow_others.one"])

    for edited in ("one", "folder/a", "b"):
        before = digest()
        edit(others / f"{edited}.py")
        assert digest() != before, edited
    assert "core.writing" in module.reached_modules(others / "one.py")
    before = digest()
    edit(others / "unused.py")
    edit(others / "layout.py")
    assert digest() == before


def test_code_in_a_package_of_others_itself_counts_where_it_is_used(others: Path) -> None:
    (others / "one.py").write_text("from beirflow_others import x\n")
    before = code_of(["beirflow_others.one"]), code_of(["beirflow_others"])
    edit(others / "__init__.py")
    forget()
    assert code_of(["beirflow_others.one"]) != before[0]
    assert code_of(["beirflow_others"]) != before[1]


def test_no_other_module_is_imported_in_a_way_that_the_digest_does_not_see() -> None:
    ways = re.compile(r"\b(?:__import__|import_module|exec_module|runpy|(?<!\.)exec|(?<!\.)eval)\b\(")
    paths = [path for path in module.PACKAGE.rglob("*.py") if ways.search(path.read_text())]
    assert {path.relative_to(module.PACKAGE).as_posix() for path in paths} == {
        *("__init__.py", "cli/__init__.py"),  # names of the library and commands, which no job uses
        *("core/extensions.py", "ranking/measures/all_measures.py"),  # folders, which the digest knows
        *("models/computing/loading.py", "models/own_class.py"),  # not of this package
        *("run/by_name.py", "run/worker.py"),  # those of rules, and of functions whose digest is a parameter of its own
    }


def run(program: str) -> str:
    environment = os.environ | {"PYTHONPATH": str(module.PACKAGE.parent)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


LOADED_BY_EACH_RULE = """
import builtins, importlib, json, sys
for name in [name for name in sys.modules if name.split(".")[0] == "beirflow"]:
    del sys.modules[name]
direct, plain = {}, builtins.__import__
def noting(name, globals=None, locals=None, fromlist=(), level=0):
    found = plain(name, globals, locals, fromlist, level)
    if name.split(".")[0] == "beirflow":
        named = [name, *(f"{name}.{each}" for each in fromlist or ())]
        direct.setdefault(globals["__name__"], set()).update(each for each in named if each in sys.modules)
    return found
def noting_call(name, package=None, plain=importlib.import_module):
    found = plain(name, package)
    if name.split(".")[0] == "beirflow":
        direct.setdefault(sys._getframe(1).f_globals["__name__"], set()).add(name)
    return found
builtins.__import__, importlib.import_module = noting, noting_call
loaded = {}
for rule, modules in RULES.items():
    waiting, names = set(modules), set()
    for name in modules:
        importlib.import_module(name)
    while waiting:
        names.add(name := waiting.pop())
        if name not in SKIPPED:
            waiting |= direct.get(name, set()) - names
    modules = [name for name in names if name.startswith("beirflow.")]
    loaded[rule] = [name.partition(".")[2] for name in modules]
print(json.dumps(loaded))
"""
"""A module is imported once for all rules; Python's own function for it notes which module asked for which."""


def lean_modules() -> list[str]:
    """List the modules of the rules whose environment has no torch."""
    environments = {rule: WORKFLOW.parent / "envs" / Path(workflow_rules()[rule].conda_env).name for rule in RULES}
    lean = [rule for rule, environment in environments.items() if "torch==" not in environment.read_text()]
    return sorted({name for rule in lean for name in rule_modules(rule)})


def test_what_python_loads_for_a_job_is_in_its_digest() -> None:
    modules = {rule: [function.partition(":")[0] for function in RULES[rule]] for rule in RULES}
    skipped = [f"beirflow.{name}" for name in NO_INFLUENCE]
    done = run_code_in_fork(f"RULES, SKIPPED = {modules}, {skipped}\n{LOADED_BY_EACH_RULE}")
    assert done.returncode == 0, done.stderr
    for rule, names in json.loads(done.stdout).items():
        with_code = {name for name in names if not name.endswith(".layout")} & _modules()
        assert with_code - NO_INFLUENCE == rule_modules(rule), rule


def test_rules_in_an_environment_without_torch_do_not_import_it() -> None:
    lean = [f"beirflow.{name}" for name in lean_modules()]
    assert len(lean) >= 100
    program = f"import importlib, sys; [importlib.import_module(name) for name in {lean}]"
    assert run(f"{program}; print(*({{'torch', 'transformers'}} & set(sys.modules)))") == "\n"


def test_modules_that_are_imported_by_name_have_a_digest_of_all_that_they_reach(package: Path) -> None:
    names = ["beirflow.a", "beirflow.b"]

    def digest(**contents: str) -> str:
        for name, content in contents.items():
            (package / f"{name}.py").write_text(content)
        forget()
        return code_of(names)

    before = digest(a="from beirflow.c import x\n", b="x = 2\n", c="x = 3\n")
    assert code_of(reversed(names)) == before != code_of(names[:1])
    assert digest(c="x = 4\n") != before
    one, other = (digest(a=a, b=b) for a, b in (("x = 1\n", "x = 2\n"), ("x = 2\n", "x = 1\n")))  # as if each were renamed
    assert one != other


def test_entries_of_params_are_the_functions_of_a_job_and_the_digest_of_their_code() -> None:
    search, dimensions = "beirflow.families.lexical.search_index:search_index", "beirflow.families.dense.ranges:dimensions_of"
    code = code_version(search, dimensions, "beirflow.families.system:settings_of")
    assert calls(search, "beirflow.families.system:settings_of", dimensions=f"{dimensions}()") == {
        "function": search,
        "dimensions": f"{dimensions}()",
        "code": code,
    }
    assert code != code_version(search, dimensions) != code_version(search)
