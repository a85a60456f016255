"""Make the same results with an earlier commit and with the working tree, and compare them: ``make golden``.

1. Write datasets, models and configurations (``inputs.py``).
2. Make all results with the commit that ``commit`` names, and again with the working tree, in folders that had the same path: by
   their rules in one process (``make.py``), those of samples by Snakemake. Audit both, and compare both with other results.
3. Compare them (``same.py``): records by their contents, arrays and runs by their bytes, tables by their values.
4. Make the pages, figures and tables for reading from the results of the commit, with both, and compare these.
5. Compare the messages of refused configurations (``refusals.py``).

``intended.txt`` lists the differences that are intended. The exit status is 1 if there are others.
"""

import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]
sys.path[0] = str(REPOSITORY / "tests")

from golden.inputs import OF_DATASETS, write_config, write_inputs  # noqa: E402  (after the path)
from golden.refusals import refusal_differences  # noqa: E402
from golden.same import differences, remove_pages  # noqa: E402


@dataclass(frozen=True)
class Experiment:
    """What is made of one configuration.

    Attributes:
        made: files that each commit makes from the inputs.
        audited: targets of Snakemake that read these, with each commit's own results.
        shown: derived files that each commit makes from the results of the earlier one.
        by_snakemake: targets that are made by Snakemake as users run it, in place of ``made``.
        options: configuration of these targets, as Snakemake's ``--config`` takes it.
    """

    made: Sequence[str] = ()
    audited: Sequence[str] = ()
    shown: Sequence[str] = ()
    by_snakemake: Sequence[str] = ()
    options: Sequence[str] = ()


EXPERIMENTS = {
    "systems": Experiment(
        made=[
            "summary.csv",
            "scores.parquet",
            "confusion.csv",
            "inspection/kitchen.json",
            "matches/colbert/kitchen.json",
            "matches/splade/kitchen.json",
            "near-duplicates/kitchen/debate.csv",
            "open-runs/dense/kitchen.trec.gz",
            "pool/kitchen.jsonl",
            "predictions/colbert/kitchen.top-5.json",
            "runs/bm25/kitchen.trec.gz",
        ],
        audited=["audit"],
        shown=["report.html", "ro-crate-metadata.json"],
        options=["command={{audit: {{sample: 3}}}}"],
    ),
    "datasets": Experiment(
        made=["summary.csv", "scores.parquet", "significance.csv", *(f"latency/{name}/kitchen.json" for name in OF_DATASETS)],
        audited=["audit"],
        shown=["beir_paper/index.html", "tables/leaderboard.tex"],
        options=["command={{audit: {{sample: 3}}}}"],
    ),
    "samples": Experiment(
        by_snakemake=["report", "results/choice.html"],
        audited=["audit", "compare", "gate"],
        options=["command={{compare: {{other: {others}}}}}", "gate={{baseline: {others}, tolerance: 0.01}}"],
        shown=["report.html", "choice.html"],
    ),
}

VERDICTS = {"audit": "audit.json", "compare": "comparison.json", "gate": "gate.json"}
"""The file below the results that each target with a verdict writes; Snakemake fails where the verdict says no."""


@dataclass
class Comparison:
    """A comparison of two commits in a folder of its own."""

    folder: Path
    earlier: Path
    later: Path
    started: float = field(default_factory=time.monotonic)

    def say(self, text: str) -> None:
        """Print progress."""
        sys.stderr.write(f"[{time.monotonic() - self.started:4.0f} s] {text}\n")

    def of(self, name: str) -> list[str]:
        """Make everything of one experiment, and return its differences."""
        parts, work = EXPERIMENTS[name], self.folder / name
        for code, side in ((self.earlier, "earlier"), (self.later, "later")):
            self.say(f"{name}: making results with the {side} code")
            if parts.by_snakemake:
                self.snakemake(code, work, *parts.by_snakemake)
            else:
                self.make(code, work, parts.made)
            shutil.copytree(work, self.folder / f"{side}-{name}")
            options = [option.format(others=self.folder / "others/results") for option in parts.options]
            for target in parts.audited:  # an audit lists what the others have written by then
                printed = self.snakemake(code, work, target, options=["--config", *options], verdict=True)
                if not (work / "results" / VERDICTS[target]).is_file():
                    raise SystemExit(f"{code} wrote no {VERDICTS[target]}:\n{printed}")
            work.rename(self.folder / f"audited-{side}-{name}")
        for code, side in ((self.earlier, "earlier"), (self.later, "later")):
            self.say(f"{name}: making derived files with the {side} code")
            shutil.copytree(self.folder / f"earlier-{name}", work)
            remove_pages(work / "results")
            self.make(code, work, parts.shown)
            work.rename(self.folder / f"shown-{side}-{name}")
        found = []
        for what, pages in (("audited", False), ("shown", True)):
            sides = (self.folder / f"{what}-{side}-{name}/results" for side in ("earlier", "later"))
            found += [f"{name}/{what}/{difference}" for difference in differences(*sides, pages=pages)]
        return found

    def make(self, code: Path, work: Path, targets: Sequence[str]) -> None:
        """Make results by the rules of a checkout, in a process of their own."""
        work.mkdir(exist_ok=True)
        self.run(code, work, str(HERE / "make.py"), str(self.config(work)), f"{work}/results", *targets)

    def snakemake(self, code: Path, work: Path, *targets: str, options: Sequence[str] = (), verdict: bool = False) -> str:
        """Make results by the Snakemake of a checkout, which fails if it has a verdict that says no."""
        work.mkdir(exist_ok=True)
        where = ["--snakefile", str(code / "Snakefile"), "--directory", str(work), "--cores", "2"]
        what = ["--configfile", str(self.config(work)), *options, "--quiet", "all", "--", *targets]
        return self.run(code, work, "-m", "snakemake", *where, *what, verdict=verdict)

    def config(self, work: Path) -> Path:
        """Return the configuration of the experiment of a working folder."""
        return self.folder / f"{work.name}.yaml"

    def run(self, code: Path, work: Path, *arguments: str, verdict: bool = False) -> str:
        """Run Python with the packages of a checkout; return what it printed, and stop at an error that is no verdict."""
        command = [sys.executable, "-P", *arguments]
        done = subprocess.run(command, cwd=work, env=self.environment(code), capture_output=True, text=True, check=False)
        if done.returncode and not verdict:
            raise SystemExit(f"{' '.join(command)}\n{done.stdout}\n{done.stderr}")
        return done.stdout + done.stderr if verdict else done.stdout

    def environment(self, code: Path) -> dict[str, str]:
        """Return an environment in which Python imports beirflow from a checkout alone, and compiles each module once."""
        path = [HERE / "only_from", code / "tests", self.folder / "inputs"]
        own = {"PYTHONPATH": os.pathsep.join(map(str, path)), "BEIRFLOW_CHECKOUT": str(code), "OMP_WAIT_POLICY": "passive"}
        return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"} | own


def main() -> int:
    """Make and compare; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=Path, help="a new folder for everything that is made, which stays")
    parser.add_argument("--commit", default=(HERE / "commit").read_text().split()[0], help="the earlier commit")
    parser.add_argument("--later", type=Path, default=REPOSITORY, help="the folder of the later code, by default this checkout")
    parser.add_argument("only", nargs="*", help=f"some of {', '.join((*EXPERIMENTS, 'refusals'))}")
    options = parser.parse_args()
    if options.keep:
        options.keep.mkdir(parents=True)
        return compare(options.keep.resolve(), options.commit, options.later.resolve(), options.only)
    with tempfile.TemporaryDirectory() as folder:
        return compare(Path(folder), options.commit, options.later.resolve(), options.only)


def compare(folder: Path, commit: str, later: Path, only: Sequence[str]) -> int:
    """Make everything twice below a folder; print every difference, and return 1 if one was not intended."""
    comparison = Comparison(folder, extract(commit, folder / "earlier-code"), copied(later, folder / "later-code"))
    comparison.say("writing datasets and models")
    for name, config in write_inputs(folder / "inputs").items():
        write_config(folder / f"{name}.yaml", config)
    comparisons = {name: partial(comparison.of, name) for name in EXPERIMENTS}
    comparisons["refusals"] = partial(refusal_differences, comparison)
    comparison.make(comparison.earlier, folder / "others", ["summary.csv"])
    chosen = [each for name, each in comparisons.items() if not only or name in only]
    with ThreadPoolExecutor(len(chosen)) as threads:
        found = [difference for result in threads.map(lambda each: each(), chosen) for difference in result]
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    comparison.say(f"{len(found)} differences; {used.ru_utime + used.ru_stime:.0f} s of processors")
    return report(found, all_compared=not only)


def extract(commit: str, folder: Path) -> Path:
    """Write the files of a commit to a folder."""
    folder.mkdir()
    archive = subprocess.run(["git", "archive", commit], cwd=REPOSITORY, check=True, stdout=subprocess.PIPE).stdout
    subprocess.run(["tar", "--extract", "--directory", str(folder)], input=archive, check=True)
    return folder


def copied(checkout: Path, folder: Path) -> Path:
    """Copy a checkout without its history, which the files of the commit lack too: a later edit then changes nothing."""
    made = {".git", ".venv", ".snakemake", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis", "audits", "results"}
    return shutil.copytree(
        checkout, folder, symlinks=True, ignore=lambda path, _: made if path == str(checkout) else {"__pycache__"}
    )


def report(found: Sequence[str], *, all_compared: bool) -> int:
    """Print the differences; return 1 if one matches no pattern of ``intended.txt``, or a pattern matches none."""
    lines = (HERE / "intended.txt").read_text().splitlines()
    intended = {line: re.compile(line.partition("  # ")[0]) for line in lines if line and not line.startswith("#")}
    unintended = [difference for difference in found if not any(pattern.match(difference) for pattern in intended.values())]
    unused = [line for line, pattern in intended.items() if all_compared and not any(map(pattern.match, found))]
    for difference in unintended:
        sys.stdout.write(f"{difference}\n")
    for line in unused:
        sys.stdout.write(f"intended.txt: no difference matches {line!r}; remove it\n")
    return 1 if unintended or unused else 0


if __name__ == "__main__":
    sys.exit(main())
