"""Make a dataset of MS MARCO's shape from random words: ids, lengths, queries and judgements of its dev split.

    python -m bench.msmarco.inputs FOLDER DOCUMENTS

The figures are those of MTEB's descriptive statistics of MSMARCO, dev (mteb/descriptive_stats/Retrieval/MSMARCO.json, whose words
for documents and queries are exchanged), and of workflow/catalogue/datasets.yaml: 8,841,823 passages without titles, ids 0, 1, …,
2,969,059,106 characters, at most 1,669 a passage, all texts distinct; 6,980 queries of dev with 7,437 judgements, and 502,939 of
train beside them in the same file. How lengths spread is not stated there: log-normal with sigma 0.45 is an assumption. Passages
are pieces of one text of Zipf's words, so one in 1,400 has the text of another.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bench.prepare.inputs import stream

DOCUMENTS, CHARACTERS = 8_841_823, 2_969_059_106
MEAN, SIGMA, SHORTEST, LONGEST = CHARACTERS / DOCUMENTS, 0.45, 3, 1669
QUERIES, JUDGEMENTS, OTHER_QUERIES = 6980, 7437, 502_939
BLOCK = 100_000


def documents(rng: np.random.Generator, count: int) -> Iterator[str]:
    """Lines of corpus.jsonl."""
    text = stream(rng)
    for first in range(0, count, BLOCK):
        size = min(BLOCK, count - first)
        lengths = np.clip(rng.lognormal(np.log(MEAN) - SIGMA**2 / 2, SIGMA, size), SHORTEST, LONGEST).astype(int)
        starts = rng.integers(0, len(text) - LONGEST, size)
        for number, start, end in zip(range(first, first + size), starts.tolist(), (starts + lengths).tolist(), strict=True):
            yield f'{{"_id": "{number}", "title": "", "text": {json.dumps(text[start:end])}, "metadata": {{}}}}\n'


def write(folder: Path, count: int) -> None:
    """Write the dataset."""
    rng = np.random.default_rng(count)
    (folder / "qrels").mkdir(parents=True)
    with (folder / "corpus.jsonl").open("w") as stream_out:
        stream_out.writelines(documents(rng, count))
    others = OTHER_QUERIES * count // DOCUMENTS
    ids = rng.permutation(1_200_000)[: QUERIES + others].tolist()
    with (folder / "queries.jsonl").open("w") as stream_out:
        stream_out.writelines(json.dumps({"_id": str(name), "text": f"query {name}", "metadata": {}}) + "\n" for name in ids)
    judged = rng.choice(count, JUDGEMENTS, replace=count < JUDGEMENTS).tolist()
    rows = [f"{ids[number % QUERIES]}\t{document}\t1" for number, document in enumerate(judged)]
    (folder / "qrels/dev.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *rows]) + "\n")


if __name__ == "__main__":
    write(Path(sys.argv[1]), int(sys.argv[2]))
