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
from beirflow import code_version as module
from beirflow.code_version import NO_INFLUENCE, code_version

WORKFLOW = Path(module.__file__).parent.parent
MODULES = sorted(path.stem for path in (WORKFLOW / "beirflow").glob("*.py") if path.stem != "__init__")
SCRIPTS = sorted(path.stem for path in (WORKFLOW / "scripts").glob("*.py"))
NEED_TORCH = {
    *(
        "devices",
        "encode",
        "encoder",
        "gpu_job",
        "lean_imports",
        "packed_attention",
        "pooling",
        "resampling",
        "search",
        "shortlist",
    )
}

REACHED = {
    "collect_costs": {"cost", "files"},
    "collect_scores": {"scores", "files"},
    "compare_systems": {"significance", "paired_tests", "scores", "files"},
    "draw_figures": {"figures", "figure_data", "figure_style", "figure_scores", "figure_lengths", "figure_cost", "scores"},
    "encode_chunk": {"encode", "encoder", "batching", "packed_attention", "pooling", "take_over", "vectors", "files"},
    "encode_queries": {"encode", "encoder", "batching", "packed_attention", "pooling", "files"},
    "evaluate_run": {"evaluate", "measures", "ranking", "files"},
    "inspect_dataset": {"inspection", "sample", "first_hits", "document_scan", "lengths", "scores", "files"},
    "match_texts": {"shared_texts", "files"},
    "merge_chunks": {"merge", "ranking", "runs", "files"},
    "prepare_corpus": {"corpus", "beir_files", "queries", "files"},
    "search_chunk": {"search", "ranking", "files"},
    "summarize": {"summary", "catalogue", "files"},
}
NOT_REACHED = {
    "compare_systems": {"figures", "inspection", "cost", "measures"},
    "draw_figures": {"paired_tests", "inspection", "summary", "cost"},
    "encode_chunk": {"summary", "evaluate", "measures", "corpus", "beir_files", "search", "merge", "download", "shared_texts"},
    "evaluate_run": {"encode", "encoder", "search", "corpus", "catalogue"},
    "inspect_dataset": {"significance", "figures", "cost", "measures", "search"},
    "match_texts": {"encode", "encoder", "take_over", "corpus", "experiment"},
    "merge_chunks": {"encode", "encoder", "search", "evaluate", "measures"},
    "prepare_corpus": {"encoder", "search", "measures", "summary", "catalogue", "experiment"},
    "search_chunk": {"measures", "evaluate", "merge", "summary", "corpus"},
    "summarize": {"encode", "encoder", "search", "corpus"},
}


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the package and the adapters, which the digests are made of."""
    for folder in ("beirflow", "scripts"):
        shutil.copytree(WORKFLOW / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(module, "PACKAGE", tmp_path / "beirflow")
    monkeypatch.setattr(module, "SCRIPTS", tmp_path / "scripts")
    yield tmp_path
    code_version.cache_clear()


def fresh_version(script: str) -> str:
    code_version.cache_clear()
    return code_version(script)


def edit(path: Path) -> None:
    path.write_text(path.read_text(encoding="utf-8") + "\n# edited\n", encoding="utf-8")


def changes(copy: Path, script: str, edited: str) -> bool:
    before = fresh_version(script)
    edit(copy / "beirflow" / f"{edited}.py")
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
    assert [script for script in SCRIPTS if changes(copy, script, edited)] == []


def test_an_edit_to_an_adapter_changes_its_digest_alone(copy: Path) -> None:
    before = {script: fresh_version(script) for script in SCRIPTS}
    edit(copy / "scripts/encode_chunk.py")
    assert [script for script in SCRIPTS if fresh_version(script) != before[script]] == ["encode_chunk"]


def test_a_digest_is_the_same_in_every_place_and_differs_between_rules(copy: Path) -> None:
    copied = [fresh_version(script) for script in SCRIPTS]
    assert len(set(copied)) == len(SCRIPTS)
    assert all(len(digest) == 16 and int(digest, 16) >= 0 for digest in copied)
    program = f"from beirflow.code_version import code_version; print(*map(code_version, {SCRIPTS}))"
    assert run(program).split() == copied


@pytest.mark.parametrize(
    "statement",
    [
        "from beirflow.a import x",
        "from beirflow import a",
        "import beirflow.a",
        "import os, beirflow.a as z",
        "def f():\n    from beirflow.a import x",
    ],
)
def test_every_way_to_import_a_module_is_seen_at_any_depth_and_in_a_circle(copy: Path, statement: str) -> None:
    (copy / "scripts/one.py").write_text(f'"""A script."""\n{statement}\n')
    (copy / "beirflow/a.py").write_text("from beirflow.b import x\n")
    (copy / "beirflow/b.py").write_text("from beirflow.a import y\nx = 1\n")
    assert changes(copy, "one", "a")
    assert changes(copy, "one", "b")
    assert not changes(copy, "one", "files")


def test_a_module_that_is_renamed_changes_the_digest(copy: Path) -> None:
    (copy / "scripts/one.py").write_text("import beirflow.a, beirflow.b\n")
    (copy / "beirflow/a.py").write_text("x = 1\n")
    (copy / "beirflow/b.py").write_text("x = 2\n")
    before = fresh_version("one")
    (copy / "beirflow/a.py").write_text("x = 2\n")
    (copy / "beirflow/b.py").write_text("x = 1\n")
    assert fresh_version("one") != before


def test_no_module_uses_relative_imports_which_the_digest_does_not_see() -> None:
    files = [*(WORKFLOW / "beirflow").glob("*.py"), *(WORKFLOW / "scripts").glob("*.py")]
    nodes = [(path.name, node) for path in files for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
    assert [name for name, node in nodes if isinstance(node, ast.ImportFrom) and node.level] == []


def run(program: str) -> str:
    environment = os.environ | {"PYTHONPATH": str(WORKFLOW)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


LOADED_BY_EACH_SCRIPT = """
import ast, importlib, json, pathlib, sys
loaded = {}
for script in map(pathlib.Path, SCRIPTS):
    for name in [name for name in sys.modules if name.split(".")[0] == "beirflow"]:
        del sys.modules[name]
    for node in ast.walk(ast.parse(script.read_text())):
        if isinstance(node, ast.ImportFrom):
            importlib.import_module(node.module)
    loaded[script.stem] = sorted(name.split(".")[1] for name in sys.modules if name.startswith("beirflow."))
print(json.dumps(loaded))
"""


def test_what_python_loads_for_a_job_is_in_its_digest() -> None:
    paths = [str(WORKFLOW / "scripts" / f"{script}.py") for script in SCRIPTS]
    loaded = json.loads(run(f"SCRIPTS = {paths}\n{LOADED_BY_EACH_SCRIPT}"))
    for script, names in loaded.items():
        collected: set[Path] = set()
        module._collect(WORKFLOW / "scripts" / f"{script}.py", collected)
        reached = {path.stem for path in collected}
        # The audit loads what encodes only where a sample is asked for.
        assert set(names) - NO_INFLUENCE <= reached if script == "audit" else set(names) - NO_INFLUENCE == reached, script


def test_only_modules_that_encode_or_search_import_torch() -> None:
    names = [f"beirflow.{name}" for name in MODULES if name not in NEED_TORCH]
    assert len(names) >= 15
    program = f"import importlib, sys\nfor name in {names}: importlib.import_module(name)\n"
    assert run(program + "print({'torch', 'transformers'} & set(sys.modules))") == "set()\n"
