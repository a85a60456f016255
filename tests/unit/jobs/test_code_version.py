"""An edit reruns what depends on it and nothing else; and modules that need no torch do not import it."""

import ast
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from beirflow.jobs import code_version as module
from beirflow.jobs.code_version import NO_INFLUENCE, code_of, code_version, reached_modules

WORKFLOW = module.PACKAGE.parent
MODULES = sorted(
    ".".join(path.relative_to(module.PACKAGE).with_suffix("").parts)
    for path in module.PACKAGE.rglob("*.py")
    if path.stem != "__init__"
)
SCRIPTS = sorted(path.stem for path in (WORKFLOW / "scripts").glob("*.py"))
NEED_TORCH = {
    *("jobs.devices", "jobs.gpu_job", "jobs.threads", "runs.shortlist"),
    *("computing.arrival", "computing.failing", "computing.lean_imports", "computing.made", "computing.model_limits"),
    *("computing.model_settings", "computing.packed_attention", "computing.padding_check", "computing.pooling"),
    *("encoders.backbone", "encoders.encoder", "encoders.head", "encoders.load", "encoders.onnx_backbone"),
    *("encoders.own_encoder", "encoders.query_lists", "encoders.tower", "encoders.word_vectors"),
    *("dense.encode", "dense.own_candidates", "dense.search", "dense.spot_check", "dense.top_k"),
    *("dense.chunk_blocks", "dense.exact_scores", "dense.fast_pass"),
    *("sparse.heads", "sparse.tokens", "sparse.pooling", "sparse.weigher", "sparse.steps", "sparse.spot_check", "sparse.matches"),
    *("late.encoder", "late.max_sim", "late.search", "late.steps", "late.spot_check", "late.matches"),
    *(
        "rerank.score_pairs",
        "rerank.cross_encoder",
        "rerank.language_models",
        "rerank.pair_scorer",
        "rerank.encoders",
        "rerank.load",
        "rerank.spot_check",
    ),
    *("expansions.decoder", "expansions.loading", "expansions.making", "expansions.sampler", "expansions.spot_check"),
    *("expansions.weigh_words", "expansions.word_weigher", "expansions.write_queries", "expansions.writer"),
    *("training.checkpoint", "training.steps", "training.train_encoder", "training.trainee"),
    *("dense.answers", "sparse.answers", "late.answers", "rerank.answers"),
}

REACHED = {
    "collect_costs": {"evaluation.cost", "files.records"},
    "collect_scores": {"evaluation.scores", "files.writing"},
    "compare_systems": {"evaluation.significance", "evaluation.paired_tests", "evaluation.scores"},
    "draw_figures": {"report.figures", "report.figure_style", "report.figure_cost", "evaluation.scores"},
    "encode_chunk": {
        "dense.encode",
        "encoders.encoder",
        "computing.batching",
        "computing.pooling",
        "dense.reuse",
        "dense.vectors",
    },
    "encode_queries": {"dense.encode", "encoders.encoder", "computing.packed_attention", "files.writing"},
    "evaluate_run": {"evaluation.evaluate", "evaluation.measures", "runs.ranking", "files.digests"},
    "inspect_dataset": {"analysis.inspection", "analysis.shown_queries", "analysis.document_scan", "evaluation.scores"},
    "match_texts": {"datasets.matching", "files.writing"},
    "merge_chunks": {"runs.merge", "runs.candidates", "runs.ranking", "runs.run_file", "files.records"},
    "prepare_corpus": {"datasets.prepare", "sources.beir_files", "datasets.judged_queries", "files.writing"},
    "search_chunk": {"dense.search", "runs.ranking", "files.digests"},
    "train_encoder": {"training.train_encoder", "training.steps", "training.trainee", "training.pairs", "encoders.encoder"},
    "summarize": {"evaluation.summary", "experiment.catalogue", "files.records"},
    "index_chunk": {"expansions.files", "lexical.expanded", "lexical.analyzer"},
    "write_queries": {"expansions.sampler", "expansions.decoder", "computing.batching"},
}
NOT_REACHED = {
    "compare_systems": {"report.figures", "analysis.inspection", "evaluation.cost", "evaluation.measures"},
    "draw_figures": {"evaluation.paired_tests", "analysis.inspection", "evaluation.summary", "evaluation.cost"},
    "encode_chunk": {"evaluation.summary", "evaluation.measures", "datasets.prepare", "dense.search", "datasets.matching"},
    "evaluate_run": {"dense.encode", "encoders.encoder", "dense.search", "datasets.prepare", "experiment.catalogue"},
    "inspect_dataset": {"evaluation.significance", "report.figures", "evaluation.measures", "dense.search"},
    "match_texts": {"dense.encode", "encoders.encoder", "dense.reuse", "datasets.prepare", "experiment.experiment"},
    "merge_chunks": {"dense.encode", "encoders.encoder", "dense.search", "evaluation.measures"},
    "prepare_corpus": {"encoders.encoder", "dense.search", "evaluation.measures", "experiment.catalogue"},
    "search_chunk": {"evaluation.measures", "evaluation.summary", "datasets.prepare"},
    "index_chunk": {"expansions.sampler", "expansions.word_weigher", "encoders.encoder"},
    "write_queries": {"expansions.word_weigher", "expansions.given", "lexical.indexing"},
    "summarize": {"dense.encode", "encoders.encoder", "dense.search", "datasets.prepare"},
}
"""A few modules of each side; what is reached in full is compared with what Python loads."""


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package and the adapters."""
    folder = tmp_path_factory.mktemp("code")
    for name in ("beirflow", "scripts"):
        shutil.copytree(WORKFLOW / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@pytest.fixture
def copy(copied: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """That copy, which the digests are made of; a test may change it."""
    before = {path: path.stat() for path in copied.rglob("*.py")}
    monkeypatch.setattr(module, "PACKAGE", copied / "beirflow")
    monkeypatch.setattr(module, "SCRIPTS", copied / "scripts")
    forget()
    yield copied
    forget()
    for path in copied.rglob("*.py"):
        if path not in before:
            path.unlink()
        elif path.stat().st_mtime_ns != before[path].st_mtime_ns:
            shutil.copy2(WORKFLOW / path.relative_to(copied), path)


def forget() -> None:
    """Read the files again."""
    for cached in (code_version, module.module_at, module._file_of):
        cached.cache_clear()


def fresh_version(script: str) -> str:
    forget()
    return code_version(script)


def fresh_versions() -> dict[str, str]:
    forget()
    return {script: code_version(script) for script in SCRIPTS}


def changed_by(path: Path) -> list[str]:
    """The scripts whose digests change by an edit."""
    before = fresh_versions()
    edit(path)
    after = fresh_versions()
    return [script for script in SCRIPTS if after[script] != before[script]]


def edit(path: Path) -> None:
    path.write_text(path.read_text(encoding="utf-8") + "\n# edited\n", encoding="utf-8")


def changes(copy: Path, script: str, edited: str) -> bool:
    before = fresh_version(script)
    edit(copy.joinpath("beirflow", *edited.split(".")).with_suffix(".py"))
    return fresh_version(script) != before


@pytest.mark.parametrize(("script", "edited"), [(script, name) for script, names in REACHED.items() for name in sorted(names)])
def test_an_edit_to_a_module_that_a_job_uses_changes_its_digest(copy: Path, script: str, edited: str) -> None:
    assert changes(copy, script, edited)


@pytest.mark.parametrize(
    ("script", "edited"), [(script, name) for script, names in NOT_REACHED.items() for name in sorted(names)]
)
def test_an_edit_to_a_module_that_a_job_does_not_use_changes_nothing(copy: Path, script: str, edited: str) -> None:
    assert not changes(copy, script, edited)


@pytest.mark.parametrize("edited", sorted(NO_INFLUENCE))
def test_an_edit_to_words_on_a_terminal_reruns_nothing(copy: Path, edited: str) -> None:
    assert changed_by(module._file_of(edited)) == []


def test_an_edit_to_an_adapter_changes_its_digest_alone(copy: Path) -> None:
    assert changed_by(copy / "scripts/encode_chunk.py") == ["encode_chunk"]


def test_a_digest_is_the_same_in_every_place_and_differs_between_rules(copy: Path) -> None:
    digests = list(fresh_versions().values())
    assert len(set(digests)) == len(SCRIPTS)
    assert all(len(digest) == 16 and int(digest, 16) >= 0 for digest in digests)
    program = f"from beirflow.jobs.code_version import code_version; print(*map(code_version, {SCRIPTS}))"
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
        "from beirflow.files import (\n    a,  # a comment with )\n)\nfrom beirflow.a import x",
        "def f():\n    from beirflow.a import x",
        "from beirflow.room import a",
        "from beirflow.room.a import x",
        "import beirflow.room.a",
    ],
)
def test_every_way_to_import_a_module_is_seen_at_any_depth_and_in_a_circle(copy: Path, statement: str) -> None:
    (copy / "scripts/one.py").write_text(f'"""A script."""\n{statement}\n')
    folder, name = (copy / "beirflow/room", "room.") if "room" in statement else (copy / "beirflow", "")
    folder.mkdir(exist_ok=True)
    (folder / "a.py").write_text(f"from beirflow.{name}b import x\n")
    (folder / "b.py").write_text(f"from beirflow.{name}a import y\nx = 1\n")
    assert changes(copy, "one", f"{name}a")
    assert changes(copy, "one", f"{name}b")
    assert not changes(copy, "one", "files.writing")


@pytest.fixture(scope="module")
def imports() -> dict[Path, list[ast.Import | ast.ImportFrom]]:
    """The import statements of every file, wherever they stand in it."""
    files = [*(WORKFLOW / "beirflow").rglob("*.py"), *(WORKFLOW / "scripts").glob("*.py")]
    nodes = {path: ast.walk(ast.parse(path.read_bytes())) for path in files}
    return {path: [node for node in found if isinstance(node, ast.Import | ast.ImportFrom)] for path, found in nodes.items()}


def test_the_statements_alone_name_what_whole_files_name(imports: dict[Path, list[ast.Import | ast.ImportFrom]]) -> None:
    for path, nodes in imports.items():
        whole = {name for node in nodes for name in module._imported(node) if name.startswith("beirflow.")}
        assert {f"beirflow.{name}" for name in module.imported_names(path.read_bytes())} == whole, path


def test_a_module_that_is_renamed_changes_the_digest(copy: Path) -> None:
    (copy / "scripts/one.py").write_text("import beirflow.a, beirflow.b\n")
    (copy / "beirflow/a.py").write_text("x = 1\n")
    (copy / "beirflow/b.py").write_text("x = 2\n")
    before = fresh_version("one")
    (copy / "beirflow/a.py").write_text("x = 2\n")
    (copy / "beirflow/b.py").write_text("x = 1\n")
    assert fresh_version("one") != before


def test_no_module_uses_relative_imports_which_the_digest_does_not_see(
    imports: dict[Path, list[ast.Import | ast.ImportFrom]],
) -> None:
    named = [(path.name, node) for path, nodes in imports.items() for node in nodes]
    assert [name for name, node in named if isinstance(node, ast.ImportFrom) and node.level] == []


OTHER_WAYS = {"__import__", "import_module", "exec_module", "load_module", "runpy", "exec", "eval"}
"""To import a module whose name is in no statement."""


def other_imports(source: str) -> set[str]:
    """Which of the other ways a source names; ``model.eval()`` is none."""
    nodes = list(ast.walk(ast.parse(source)))
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    names |= {alias.name for node in nodes if isinstance(node, ast.Import | ast.ImportFrom) for alias in node.names}
    attributes = {node.attr for node in nodes if isinstance(node, ast.Attribute)} - {"exec", "eval"}
    return (names | attributes) & OTHER_WAYS


def test_no_module_is_imported_in_a_way_that_the_digest_does_not_see() -> None:
    for source in ("import importlib as i; i.import_module('a')", "from importlib import import_module as f", "__import__('a')"):
        assert other_imports(source)
    found = {name: other_imports((module.PACKAGE.joinpath(*name.split(".")).with_suffix(".py")).read_text()) for name in MODULES}
    found |= {script: other_imports((WORKFLOW / f"scripts/{script}.py").read_text()) for script in SCRIPTS}
    # They import the compiler of torch, classes of the user, whose files are hashed, spot checks, which no result depends on, and
    # what answers queries or finds matches, whose digest is a parameter of its own.
    known = {"computing.lean_imports", "models.own_class", "recomputed.samples", "evaluation.latency", "analysis.matches"}
    assert {name for name, ways in found.items() if ways} == known


def run(program: str) -> str:
    environment = os.environ | {"PYTHONPATH": str(WORKFLOW)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


LOADED_BY_EACH_SCRIPT = """
import ast, builtins, importlib, json, pathlib, sys
direct, plain = {}, builtins.__import__
def noting(name, globals=None, locals=None, fromlist=(), level=0):
    found = plain(name, globals, locals, fromlist, level)
    if name.split(".")[0] == "beirflow":
        named = [name, *(f"{name}.{each}" for each in fromlist or ())]
        direct.setdefault(globals["__name__"], set()).update(each for each in named if each in sys.modules)
    return found
builtins.__import__ = noting
loaded = {}
for script in map(pathlib.Path, SCRIPTS):
    nodes = ast.walk(ast.parse(script.read_text()))
    waiting, names = {node.module for node in nodes if isinstance(node, ast.ImportFrom)}, set()
    for name in waiting:
        importlib.import_module(name)
    while waiting:
        names.add(name := waiting.pop())
        waiting |= direct.get(name, set()) - names
    loaded[script.stem] = [name.partition(".")[2] for name in names if name.startswith("beirflow.") and name.count(".") == 2]
print(json.dumps(loaded))
"""
"""A module is imported once for all scripts; Python's own function for it notes which module asked for which."""


def test_what_python_loads_for_a_job_is_in_its_digest() -> None:
    paths = [str(WORKFLOW / "scripts" / f"{script}.py") for script in SCRIPTS]
    loaded = json.loads(run(f"SCRIPTS = {paths}\n{LOADED_BY_EACH_SCRIPT}"))
    for script, names in loaded.items():
        reached = reached_modules(WORKFLOW / "scripts" / f"{script}.py")
        assert set(names) - NO_INFLUENCE == reached, script


def test_only_modules_that_encode_or_search_import_torch() -> None:
    names = [f"beirflow.{name}" for name in MODULES if name not in NEED_TORCH]
    assert len(names) >= 15
    program = f"import importlib, sys\nfor name in {names}: importlib.import_module(name)\n"
    assert run(program + "print({'torch', 'transformers'} & set(sys.modules))") == "set()\n"


def test_modules_that_are_imported_by_name_have_a_digest_of_all_that_they_reach(copy: Path) -> None:
    names = ["beirflow.lexical.answers", "beirflow.fusion.answers"]
    before = code_of(names)
    assert code_of(reversed(names)) == before != code_of(names[:1])
    (copy / "beirflow/lexical/bm25.py").write_text("# edited")
    forget()
    assert code_of(names) != before
