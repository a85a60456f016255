"""The peer Lucene: Anserini's programs, which index JSON lines, and search and write a run; Java starts within the time.

python -m bench.bm25.peer_lucene index INPUT OUTPUT THREADS
python -m bench.bm25.peer_lucene search INPUT INDEX OUTPUT K THREADS
"""

import sys
from pathlib import Path

import anserini

from bench.child import timed_call

INDEX, RUN = "index", "run.txt"


def main(what: str, source: Path, arguments: list[str]) -> None:
    """Index or search."""
    *folders, output = map(Path, arguments[: 1 if what == "index" else 2])
    numbers = [int(number) for number in arguments[len(folders) + 1 :]]
    with timed_call():
        if what == "index":
            anserini.index(source / "lucene", output / INDEX, anserini.FLAT, *numbers)
        else:
            anserini.search(folders[0] / INDEX, source / "topics.tsv", output / RUN, anserini.FLAT, *numbers)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])
