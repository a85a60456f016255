"""Delete representations that results no longer need."""

from pathlib import Path

from beirflow.core.kinds import CHUNKS_OF_REPRESENTATIONS
from beirflow.core.layout import RUN_RECORD
from beirflow.core.records import read_json


def clean_representations(results: Path) -> str:
    """Delete the vectors, postings and term weights of chunks that a run has been made from, and say so in words.

    Those that no run names have perhaps not been searched yet, and stay; so do all records.
    """
    searched = {name for path in sorted(results.glob(RUN_RECORD(system="*", dataset="*"))) for name in read_json(path)["inputs"]}
    stored = [
        path
        for pattern in CHUNKS_OF_REPRESENTATIONS
        for path in sorted(results.glob(pattern(system="*", analyzer="*", dataset="*", chunk="*", index="*")))
        if path.is_file() and not path.is_symlink()
    ]
    done = [path for path in stored if path.relative_to(results).as_posix() in searched]
    size = sum(path.stat().st_size for path in done)
    for path in done:
        path.unlink()
    kept = len(stored) - len(done)
    left = f"; {kept} that no run used are kept" if kept else ""
    files = "1 file" if len(done) == 1 else f"{len(done):,} files"
    return f"{results}: deleted {files} of representations, {size / 1e9:,.2f} GB{left}"
