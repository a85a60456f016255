"""Break the code in one place after another, and print which test notices: python tests/mutations.py [TOPIC …].

A break is a text that occurs once in ``src/``, ``workflow/``, ``plugins/`` or ``extensions/`` and its replacement, so that code
may move. A text that no longer occurs, or occurs twice, is an error, as is a break that no test notices. The tests of a break run
until one fails, in a copy of the tree; that one must pass without the break.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).parents[1]
SECONDS = 900


class Break(NamedTuple):
    """An edit that makes a result or a check wrong, and the tests that should fail because of it, below ``tests/``."""

    topic: str
    old: str
    new: str
    tests: str


BREAKS = [
    Break("ranking", "np.uint64(32)) | ~ascending", "np.uint64(32)) | ascending", "unit/ranking"),
    Break(
        "ties",
        'if ties == "descending" else -np.arange',
        'if ties == "ascending" else -np.arange',
        "unit/ranking unit/evaluation",
    ),
    Break("merge", "(places + sum(map(len, ids)))", "(places + sum(map(len, ids[1:])))", "unit/ranking"),
    Break("exclusion", "(self.row[start:stop] - first)", "(self.row[start:stop] - first - 1)", "unit/families/dense"),
    Break(
        "exclusion in lists",
        "excluded = np.atleast_1d(cut.excluded[query]) - first",
        "excluded = np.atleast_1d(cut.excluded[query]) - first - 1",
        "unit/families/lexical unit/families/sparse",
    ),
    Break("BM25", "(documents - df + 0.5)", "(documents - df + 0.4)", "unit/families/lexical"),
    Break(
        "document lengths",
        'np.searchsorted(LENGTHS, lengths, side="right") - 1',
        "np.searchsorted(LENGTHS, lengths)",
        "unit/families/lexical",
    ),
    Break(
        "tokens", "return list({token for token in added if token not in known})", "return list(added)", "unit/families/sparse"
    ),
    Break(
        "padding",
        "np.arange(lengths.max()) < lengths[:, None]",
        "np.arange(lengths.max()) <= lengths[:, None]",
        "unit/models/computing unit/models/encoders",
    ),
    Break(
        "pooling",
        "masked.sum(dim=1) / (count.sqrt()",
        "masked.sum(dim=1) / (count + 1 if mode == 'mean' else count.sqrt()",
        "unit/models/computing unit/models/encoders",
    ),
    Break("normalisation", "return nn.functional.normalize(vectors, dim=1)", "return vectors", "unit/models/encoders"),
    Break("late interaction", "similar.numpy().max(axis=1)", "similar.numpy().mean(axis=1)", "unit/families/late_interaction"),
    Break(
        "fusion",
        "(DEFAULT_K if settings.k is None else settings.k)",
        "(DEFAULT_K + 1 if settings.k is None else settings.k)",
        "unit/families/fusion",
    ),
    Break("measures", "np.minimum(ranking.relevant, k)", "np.minimum(ranking.relevant, k + 1)", "unit/ranking unit/evaluation"),
    Break("resume", "if self._digest(place, size) == digest else None", "if self._digest(place, size) else None", "unit/core"),
    Break("digest", 'raise damaged(path, f"sha256', 'damaged(path, f"sha256', "unit/core"),
    Break("download", "== self.md5:", "!= '':", "unit/data/sources"),
    Break("texts", "return joined if separator == TITLE_END else joined.strip()", "return joined", "unit/data"),
    Break("prepare", "if len(pc.unique(scan.ids)) < len(scan.ids):", "if False:", "unit/data"),
    Break("chunks", "turn[first_place[text]] % chunks", "turn[places] % chunks", "unit/data"),
    Break("labels", "elif first[doc_id][1] != content:", "elif False:", "unit/data/sources"),
    Break("code", "names & _modules() - NO_INFLUENCE)", "frozenset())", "unit/run/test_code_version.py"),
    Break("forks", "        torch.set_num_threads(number)", "        pass", "unit/run/test_worker.py"),
    Break("estimate", "index = 0.0 if stored else", "index = 0.0 if not stored else", "unit/evaluation unit/config"),
    Break("SLURM", '"CANCELLED", "DEADLINE"', '"DEADLINE"', "../plugins/slurm/tests"),
    Break("pages", "autoescape=True", "autoescape=False", "unit/report unit/audit"),
    Break("exports", r'return re.sub(r"([\\`*_{}\[\]<>|~])"', r'return re.sub(r"([\\`*_{}\[\]<>~])"', "unit/report"),
    Break("configuration", 'if config["baseline"] not in (None, *chosen):', "if False:", "unit/config"),
    Break("claims", "if not isinstance(sha256, str) or not SHA256.fullmatch(sha256):", "if False:", "unit/audit"),
    Break(
        "chain",
        'for key in ("outputs", "inputs"):\n                for name, digest',
        'for key in ("outputs",):\n                for name, digest',
        "unit/audit audit",
    ),
    Break(
        "replay",
        "        if not found.problem:\n            return Check(",
        "        if True:\n            return Check(",
        "unit/audit audit",
    ),
    Break("gate", "> gate.tolerance + ROUNDING and p < LEVEL", "> gate.tolerance + ROUNDING", "unit/audit/test_gate.py"),
    Break("near-duplicates", 'near = shared[shared["share"] >= SHARE]', "near = shared", "../extensions/near_duplicates"),
    Break(
        "approximate", "top = exact_pairs[exact_ranks <= k]", "top = exact_pairs[exact_ranks < k]", "unit/families/approximate"
    ),
    Break("topic measures", "moves.append(after / before - 1 if", "moves.append(before / after - 1 if", "unit/evaluation"),
    Break(
        "recomputed tables",
        "one != other and (column in NAMES or not _is_near(one, other))",
        "one != other and column in NAMES",
        "unit/audit audit",
    ),
]


def main(topics: list[str]) -> int:
    """Apply the breaks of some topics, or all; return 1 if one was not noticed or could not be applied."""
    chosen = [each for each in BREAKS if each.topic in topics or not topics]
    failures = 0
    with tempfile.TemporaryDirectory(prefix="mutations-") as folder:
        copy = Path(folder, "tree")
        left_out = shutil.ignore_patterns(".git", ".venv", ".snakemake", "results", "__pycache__", ".*_cache")
        shutil.copytree(REPOSITORY, copy, symlinks=True, ignore=left_out)
        for each in chosen:
            places = [
                path
                for path in sorted(
                    each for name in ("src", "workflow", "plugins", "extensions") for each in (copy / name).rglob("*.*")
                )
                if path.suffix in (".py", ".smk") and each.old in path.read_text()
            ]
            if len(places) != 1 or places[0].read_text().count(each.old) != 1:
                outcome = f"TEXT IN {len(places)} FILES, expected once in one: {each.old!r}"
            else:
                outcome = f"{places[0].relative_to(copy)}: {noticed(each, places[0], copy) or 'NOT NOTICED'}"
            failures += outcome.endswith("NOT NOTICED") or outcome.startswith("TEXT IN")
            print(f"{each.topic:20} {outcome}", flush=True)  # noqa: T201
    print(f"{len(chosen) - failures} of {len(chosen)} noticed")  # noqa: T201
    return int(failures > 0)


def noticed(each: Break, path: Path, copy: Path) -> str | None:
    """Return the first test that fails while a break is applied; None if all pass, or if that one fails without it too."""
    whole = path.read_text()
    path.write_text(whole.replace(each.old, each.new))
    try:
        done = run_tests(copy, *(f"tests/{name}" for name in each.tests.split()))
    finally:
        path.write_text(whole)
    failed = re.search(r"^(?:FAILED|ERROR) (.*?)(?: - |$)", done.stdout, re.MULTILINE)
    if done.returncode not in (0, 1) and not failed:
        return f"pytest ended with {done.returncode}: {done.stdout[-300:]}"
    return failed[1] if failed and run_tests(copy, failed[1]).returncode != 1 else None


def run_tests(copy: Path, *names: str) -> "subprocess.CompletedProcess[str]":
    """Run tests until one fails."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *names]
    return subprocess.run(command, cwd=copy, capture_output=True, text=True, timeout=SECONDS, check=False)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
