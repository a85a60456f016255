"""An edit reruns what depends on it and nothing else; and modules that need no torch do not import it."""

import ast
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tokenize
from collections.abc import Iterator, Sequence
from difflib import unified_diff
from pathlib import Path

import pytest

from beirflow import WORKFLOW
from beirflow.config.families import FAMILIES
from beirflow.core.extensions import Extension, extensions
from beirflow.families.rerank.settings import ENCODERS
from beirflow.run import code_version as module
from beirflow.run.code_version import NO_INFLUENCE, PATHS, _modules, calls, code_of, code_version
from forks import run_code_in_fork
from needed_code import needed_modules
from reruns import COMMAND, LIST, reruns
from workflow_rules import functions_of, rule_codes, rule_modules, workflow_rules

SOURCES = module.PACKAGE.parent
MODULES = sorted(
    ".".join(path.relative_to(module.PACKAGE).with_suffix("").parts)
    for path in module.PACKAGE.rglob("*.py")
    if path.stem != "__init__"
)
RULES = {rule: functions_of(rule) for rule in sorted(rule_codes())}


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package."""
    folder = tmp_path_factory.mktemp("code")
    shutil.copytree(module.PACKAGE, folder / "beirflow", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@pytest.fixture
def copy(copied: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """That copy, which the digests are made of; a test may change it."""
    before = {path: path.stat() for path in copied.rglob("*.py")}
    monkeypatch.setattr(module, "PACKAGE", copied / "beirflow")
    forget()
    yield copied
    forget()
    for path in copied.rglob("*.py"):
        if path not in before:
            path.unlink()
        elif path.stat().st_mtime_ns != before[path].st_mtime_ns:
            shutil.copy2(SOURCES / path.relative_to(copied), path)


def forget() -> None:
    """Read the files again."""
    for cached in (code_version, module.module_at, module._file_of, module._modules, module._packages_of_others):
        cached.cache_clear()


def fresh_versions() -> dict[str, str]:
    forget()
    return {rule: code_version(*functions) for rule, functions in RULES.items()}


def edit(path: Path) -> None:
    path.write_text(path.read_text(encoding="utf-8") + "\nedited = True\n", encoding="utf-8")


def changes(copy: Path, functions: Sequence[str], edited: str) -> bool:
    forget()
    before = code_version(*functions)
    edit(copy.joinpath("beirflow", *edited.split(".")).with_suffix(".py"))
    forget()
    return code_version(*functions) != before


def test_a_digest_changes_with_the_modules_that_a_job_reaches_and_with_no_other(copy: Path) -> None:
    reached = rule_modules("merge_chunks")
    assert {"ranking.merge", "ranking.ranking", "core.records", "core.patterns"} <= reached
    for edited in sorted({*reached, "families.dense.encode", "evaluation.measures", PATHS} - NO_INFLUENCE):
        assert changes(copy, RULES["merge_chunks"], edited) == (edited in reached), edited


def test_an_edit_to_each_module_reruns_the_rules_of_the_list() -> None:
    differ = [*unified_diff(LIST.read_text(encoding="utf-8").splitlines(), reruns().splitlines(), lineterm="", n=0)]
    assert not differ, "\n".join([f"`{COMMAND}` writes the list again; commit it if these rules should rerun:", *differ])


def test_a_new_measure_changes_the_digest_of_what_measures_and_of_nothing_else(copy: Path) -> None:
    rules = ["evaluate_run", "fuse_runs", "encode_chunk", "merge_chunks"]
    before = fresh_versions()
    new = copy / "beirflow/ranking/measures/new.py"
    new.write_text("from beirflow.ranking.measures.registry import measure\n", encoding="utf-8")
    after = fresh_versions()
    assert [before[rule] != after[rule] for rule in rules] == [True, True, False, False]
    assert changes(copy, RULES["evaluate_run"], "ranking.measures.beir")


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


MEANINGS = ("ranking/measures/registry.py", "cli/listing.py")
"""Modules of the meanings of measures, the first lines of their docstrings: the command lists them, and no result has them."""


def test_the_lines_of_code_of_every_module_are_what_python_reads_without_its_docstrings() -> None:
    for path in module.PACKAGE.rglob("*.py"):
        source = path.read_bytes()
        assert b"".join(b"".join(module.code_lines(source)).split()) == tokens(source).encode(), path
        if path.relative_to(module.PACKAGE).as_posix() not in MEANINGS:
            assert not re.search(rb"__doc__|getdoc|docstring_parser|\.meaning\b", source), (
                f"{path}: a result depends on docstrings"
            )


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


STAGES = [(family.represents.rule, family.searches.rule) for family in FAMILIES.values() if family.represents and family.searches]


@pytest.mark.parametrize(("one", "other"), [*STAGES, *((search, represent) for represent, search in STAGES)])
def test_an_edit_to_what_only_one_stage_needs_does_not_rerun_the_other(one: str, other: str) -> None:
    reached, needed = rule_modules(one), needed_modules(one)
    assert len(needed & reached) >= 10
    assert (reached - needed) & needed_modules(other) == set()


def test_an_edit_to_the_interface_of_families_makes_no_result_again() -> None:
    reach_it = [rule for rule in RULES if any(name.endswith(".family") for name in rule_modules(rule))]
    assert sorted(reach_it) == ["audit", "estimate", "leaderboard", "try"]


def test_an_edit_to_an_encoder_scores_again_only_the_pairs_of_rerankers_that_use_it(copy: Path) -> None:
    used = {key: [kind.pairs.partition(":")[0]] for key, kind in ENCODERS.items()}
    families = ("families.dense.", "families.late_interaction.")
    assert [name for name in needed_modules("score_pairs") if name.startswith(families)] == []
    for edited, of in (
        ("families.late_interaction.max_sim", "late"),
        ("families.late_interaction.settings", "late"),
        ("families.dense.top_k", "dense"),
    ):
        before = {key: code_of(modules) for key, modules in used.items()}
        assert not changes(copy, RULES["score_pairs"], edited)
        assert [key for key, modules in used.items() if code_of(modules) != before[key]] == [of]


def test_another_entrance_changes_a_digest_and_words_change_none(copy: Path) -> None:
    before = fresh_versions()
    for edited in (*NO_INFLUENCE, PATHS):
        edit(module._file_of(edited))
    encoder = module._file_of("models.encoders.encoder")
    encoder.write_text('"""Other words."""\n\n# And more.\n' + encoder.read_text())
    assert fresh_versions() == before
    encode = "beirflow.families.dense.encode"
    assert code_version(f"{encode}:encode_chunk") != code_version(f"{encode}:encode_queries")


def test_a_digest_is_the_same_in_every_place_and_differs_between_rules(copy: Path) -> None:
    digests = list(fresh_versions().values())
    assert len(set(digests)) == len(RULES) >= 60
    assert all(len(digest) == 16 and int(digest, 16) >= 0 for digest in digests)
    program = f"from beirflow.run.code_version import code_version; print(*(code_version(*each) for each in {[*RULES.values()]}))"
    assert run(program).split() == digests


@pytest.mark.parametrize(
    "statement",
    [
        "from beirflow.a import x",
        "from beirflow import a",
        "import beirflow.a",
        "import os, beirflow.a as z",
        "x = 1; from beirflow.a import x",
        "import os, \\\n    beirflow.a",
        "from beirflow.a \\\n    import x",
        "from beirflow.a import (  # the first (of two)\n    x,\n)",
        "from beirflow.core import (\n    a,  # a comment with )\n)\nfrom beirflow.a import x",
        "def f():\n    from beirflow.a import x",
        "from beirflow.room import a",
        "from beirflow.room.a import x",
        "import beirflow.room.a",
    ],
)
def test_every_way_to_import_a_module_is_seen_at_any_depth_and_in_a_circle(copy: Path, statement: str) -> None:
    (copy / "beirflow/one.py").write_text(f'"""A module."""\n{statement}\n')
    folder, name = (copy / "beirflow/room", "room.") if "room" in statement else (copy / "beirflow", "")
    folder.mkdir(exist_ok=True)
    (folder / "a.py").write_text(f"from beirflow.{name}b import x\n")
    (folder / "b.py").write_text(f"from beirflow.{name}a import y\nx = 1\n")
    assert changes(copy, ["beirflow.one:f"], f"{name}a")
    assert changes(copy, ["beirflow.one:f"], f"{name}b")
    assert not changes(copy, ["beirflow.one:f"], "core.writing")


def test_the_statements_alone_name_what_whole_files_name_and_none_is_relative() -> None:
    for path in module.PACKAGE.rglob("*.py"):
        nodes = [node for node in ast.walk(ast.parse(path.read_bytes())) if isinstance(node, ast.Import | ast.ImportFrom)]
        assert not [node for node in nodes if isinstance(node, ast.ImportFrom) and node.level], "the digest does not see these"
        whole = {name for node in nodes for name in module._imported(node) if name.startswith("beirflow.")}
        source = path.read_bytes()
        assert {f"beirflow.{name}" for name in module.imported_names(source, module.code_lines(source))} == whole, path


@pytest.fixture
def others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package with an extension of others."""
    folder = tmp_path / "beirflow_others"
    files = {"__init__": "", "layout": "", "unused": "", "room/__init__": "", "b": "from beirflow.core.writing import x\n"}
    files |= {"room/a": "from ..b import x\nimport beirflow_others.layout\n"}
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
        "from .room.a import x",
        "from .room import a",
        "from beirflow_others.room import (\n    a,\n)",
        "import beirflow_others.room.a",
        "x = 1; from .room import a",
        "from . \\\n    import room, c\nfrom .room import a",
        "def f():\n    from . room . a import x",
        "import os, beirflow_others.room.a",
    ],
)
def test_the_code_of_a_package_of_others_is_what_it_reaches_there_and_here(others: Path, statement: str) -> None:
    (others / "one.py").write_text(f"{statement}\n")

    def digest() -> str:
        forget()
        return code_of(["beirflow_others.one"])

    for edited in ("one", "room/a", "b"):
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


OTHER_WAYS = {"__import__", "import_module", "exec_module", "load_module", "runpy", "exec", "eval"}
"""To import a module whose name is in no statement."""


def other_imports(source: str) -> set[str]:
    """Find the other ways of importing that a source names; ``model.eval()`` is none."""
    if not any(way in source for way in OTHER_WAYS):  # to parse every module takes a second
        return set()
    nodes = list(ast.walk(ast.parse(source)))
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    names |= {alias.name for node in nodes if isinstance(node, ast.Import | ast.ImportFrom) for alias in node.names}
    attributes = {node.attr for node in nodes if isinstance(node, ast.Attribute)} - {"exec", "eval"}
    return (names | attributes) & OTHER_WAYS


def test_no_module_is_imported_in_a_way_that_the_digest_does_not_see() -> None:
    for source in ("import importlib as i; i.import_module('a')", "from importlib import import_module as f", "__import__('a')"):
        assert other_imports(source)
    found = {name: other_imports((module.PACKAGE.joinpath(*name.split(".")).with_suffix(".py")).read_text()) for name in MODULES}
    known = {
        "cli.doctor",  # which no job imports, nor the next
        "cli.workflow_call",
        "core.extensions",
        "models.computing.loading",  # what jobs import when they need it, ahead
        "models.encoders.backbone",
        "ranking.measures.all_measures",  # modules beside it
        "run.by_name",
        "run.worker",
        "models.own_class",
    }
    assert {name for name, ways in found.items() if ways} == known
    # Its callers: the entrances; what answers queries, finds matches, scores pairs, states a system or turns texts into terms,
    # whose digest is its own parameter; and checks and what only imports ahead, which no result depends on.
    callers = {
        "report.analysis.matches",
        "evaluation.latency",
        "evaluation.systems",
        "run.entrance",
        "families.expansions.models",
        "families.postings.analyzer",
        "families.rerank.scorers.load",
        "families.rerank.settings",
        "families.system",
    }
    callers |= {"evaluation.cost", "report.report", "run.worker"}
    callers |= {"run.undocumented"}  # which only knows the form of names
    assert {name for name in MODULES if "run.by_name" in module.module_at(module._file_of(name)).imports} == callers


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


def test_a_job_that_reads_results_knows_no_family_and_no_model() -> None:
    scores, pages = ["collect_scores", "compare_systems", "summarize"], ["export_tables", "write_report"]
    for rule in (*scores, *pages, "draw_figures", "draw_paper"):
        reached = rule_modules(rule)
        assert len(reached) <= 27, rule
        packages = {name.partition(".")[0] for name in reached}
        assert packages <= {"core", "run", "data", "ranking", "config", "evaluation", "report", "extensions"}, rule


def test_modules_that_are_imported_by_name_have_a_digest_of_all_that_they_reach(copy: Path) -> None:
    names = ["beirflow.families.lexical.answers", "beirflow.families.fusion.answers"]
    before = code_of(names)
    assert code_of(reversed(names)) == before != code_of(names[:1])
    edit(copy / "beirflow/families/lexical/bm25.py")
    forget()
    assert code_of(names) != before
    for name, content in (("a", "x = 1\n"), ("b", "x = 2\n")):
        (copy / f"beirflow/{name}.py").write_text(content)
    before = code_of(["beirflow.a", "beirflow.b"])
    for name, content in (("a", "x = 2\n"), ("b", "x = 1\n")):  # as if each were renamed
        (copy / f"beirflow/{name}.py").write_text(content)
    forget()
    assert code_of(["beirflow.a", "beirflow.b"]) != before


def test_entries_of_params_are_the_functions_of_a_job_and_the_digest_of_their_code() -> None:
    encode, reuse = "beirflow.families.dense.encode:encode_chunk", "beirflow.families.dense.reuse:shared_files"
    code = code_version(encode, reuse, "beirflow.families.system:settings_of")
    assert calls(encode, "beirflow.families.system:settings_of", shared_paths=f"{reuse}()") == {
        "entrance": encode,
        "shared_paths": f"{reuse}()",
        "code": code,
    }
    assert code != code_version(encode, reuse) != code_version(encode)
