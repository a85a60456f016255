"""Our side: write queries.

python -m bench.generation.ours INPUT OUTPUT QUERIES LONGEST THREADS
"""

import json
import sys
from pathlib import Path

import torch
from beirflow.expansions.settings import WrittenQueries
from beirflow.expansions.writer import QueryWriter

from bench.child import timed_call


def main(source: Path, output: Path, queries: int, longest: int, threads: int) -> None:
    """Write; the model is loaded before the time begins."""
    torch.set_num_threads(threads)
    texts = json.loads((source / "texts.json").read_text())
    settings = WrittenQueries(str(source / "model"), queries=queries, query_length=longest)
    writer = QueryWriter(settings, source / "model", device="cpu", precision="float32", token_budget="auto")
    ids, found = [f"d{number}" for number in range(len(texts))], [[""]] * len(texts)
    with timed_call():
        for part in writer.parts(ids, texts):
            for row, value in zip(part.rows.tolist(), part.values, strict=True):
                found[row] = list(value)
    (output / "queries.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *map(int, sys.argv[3:]))
