"""The extension in the documentation, installed as a package of others."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

REPOSITORY = Path(__file__).parents[2]
PAGE = REPOSITORY / "extensions/README.md"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of packages with the one of the page, installed as pip would."""
    folder = tmp_path_factory.mktemp("packages")
    (block,) = re.findall(r"^```\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    for path, content in re.findall(r"^# ([\w./]+/[\w.]+)\n(.*?)(?=^# [\w./]+/[\w.]+\n|\Z)", block, re.MULTILINE | re.DOTALL):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content)
    group, name = re.findall(r'`\[project\.entry-points\."([\w.]+)"\]` with `(\w+ = ")\w+"`', PAGE.read_text())[0]
    about = folder / "beirflow_spread-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: beirflow-spread\nVersion: 1\n")
    (about / "entry_points.txt").write_text(f"[{group}]\n{name.replace(chr(34), '')}beirflow_spread\n")
    return folder


def run(installed: Path, folder: Path, *command: str) -> str:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(REPOSITORY / "src"), str(installed)])}
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_its_test_passes_and_snakemake_makes_its_table_again_where_its_code_or_its_key_changes(
    installed: Path, tmp_path: Path
) -> None:
    run(installed, tmp_path, "pytest", "-q", "-p", "no:cacheprovider", str(installed / "tests"))
    (tmp_path / "tests").symlink_to(REPOSITORY / "tests")
    snakefile, demo = str(REPOSITORY / "Snakefile"), str(REPOSITORY / "tests/data/demo.yaml")
    options = ["--cores", "2", "--snakefile", snakefile, "--configfile", demo]
    config = ["--config", "systems=bm25", "datasets=kitchen", "results=results"]

    def snakemake(*words: str) -> str:
        return run(installed, tmp_path, "snakemake", *options, *config, *words)

    def planned(*words: str) -> set[str]:
        shown = snakemake(*words, "--dry-run", *targets)
        return set(re.findall(r"^(?:local)?rule (\w+):", shown, re.MULTILINE))

    targets = ("--", "results/summary.csv", "results/spread.csv")
    snakemake(*targets)
    table = pd.read_csv(tmp_path / "results/spread.csv")
    scores = pd.read_parquet(tmp_path / "results/scores.parquet")
    of_measure = scores[scores["measure"] == "NDCG@10"]["value"]
    assert len(of_measure) == 18
    assert table.set_index("measure").loc["NDCG@10", ["p10", "p50", "p90"]].tolist() == pytest.approx(
        of_measure.quantile([0.1, 0.5, 0.9]).tolist()
    )
    assert planned("percentiles=[5,95]") == {"tabulate_spread"}
    module = installed / "beirflow_spread/table.py"
    module.write_text(f"# Other words.\n{module.read_text()}")
    assert planned() == set()
    module.write_text(f"{module.read_text()}\nedited = True\n")
    assert planned() == {"tabulate_spread"}
    assert "The audit of results passed" in snakemake("--", "audit")
    assert "tabulate_spread: 1 files" in (tmp_path / "results/audit.json").read_text()
