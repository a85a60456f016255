"""Thirteen datasets of the sizes of NanoBEIR with BM25 and one encoder, Snakemake included, beside encoding their texts alone."""

import json
import random
import sys
import zipfile
from collections.abc import Iterable
from pathlib import Path

from bench.child import report

SYSTEM = "all-minilm-l6-v2"
SIZES = {  # of NanoBEIR: documents, queries, mean words of a document
    "arguana": (3635, 50, 167),
    "climate-fever": (3408, 50, 85),
    "dbpedia": (6045, 50, 50),
    "fever": (4996, 50, 85),
    "fiqa": (4598, 50, 132),
    "hotpotqa": (5090, 50, 46),
    "msmarco": (5043, 50, 56),
    "nfcorpus": (2953, 50, 232),
    "nq": (5035, 50, 79),
    "quora": (5046, 50, 11),
    "scidocs": (2210, 50, 176),
    "scifact": (2919, 50, 214),
    "touche": (5745, 49, 292),
}
JUDGED = 3  # documents of a query


def inputs(archive: Path, folder: Path, share: float) -> None:
    """Write datasets of words of NFCorpus, with a share of the documents of each, and a configuration."""
    import yaml

    with zipfile.ZipFile(archive) as packed:
        texts, asked = (
            [json.loads(line)["text"] for line in packed.open(f"nfcorpus/{name}.jsonl")] for name in ("corpus", "queries")
        )
    words, chance = " ".join(texts).split(), random.Random(0)
    for name, (documents, queries, mean) in SIZES.items():
        target, documents = folder / "data" / f"small-{name}", int(share * documents)
        (target / "qrels").mkdir(parents=True)
        lengths = [max(1, round(chance.gammavariate(4, mean / 4))) for _ in range(documents)]
        starts = [chance.randrange(len(words)) for _ in lengths]
        rows = [
            {"_id": f"d{row}", "title": "", "text": " ".join([f"{row}", *words[start : start + length]])}
            for row, (start, length) in enumerate(zip(starts, lengths, strict=True))
        ]
        judged = [(row, document) for row in range(queries) for document in chance.sample(range(documents), JUDGED)]
        lines = ["query-id\tcorpus-id\tscore", *(f"q{row}\td{document}\t1" for row, document in judged)]
        _write(target / "corpus.jsonl", map(json.dumps, rows))
        _write(target / "queries.jsonl", (json.dumps({"_id": f"q{row}", "text": chance.choice(asked)}) for row in range(queries)))
        _write(target / "qrels/test.tsv", lines)
    names = [f"small-{name}" for name in SIZES]
    config = {"systems": ["bm25", SYSTEM], "datasets": names, "data_dir": str(folder / "data"), "precision": "float32"}
    (folder / "config.yaml").write_text(yaml.safe_dump(config | {"device": "cpu"}))


def encode(output: Path, folder: Path, threads: int) -> None:
    """Encode all texts with our encoder, which is loaded once for documents and once for queries."""
    import numpy as np
    import torch

    from beirflow.config.systems import catalogue_systems
    from beirflow.data.document_text import Kind
    from beirflow.models.encoders.load import load_encoder

    torch.set_num_threads(threads)
    settings = catalogue_systems()[SYSTEM].settings
    files: dict[Kind, str] = {"documents": "corpus", "queries": "queries"}
    for kind, name in files.items():
        encoder = load_encoder(settings, kind, device="cpu", precision="float32", token_budget="auto")
        for path in sorted(folder.glob(f"data/*/{name}.jsonl")):
            texts = dict.fromkeys(json.loads(line)["text"] for line in path.read_text().splitlines())
            np.save(output / f"{path.parent.name}-{kind}.npy", np.concatenate(list(encoder.windows([*texts], kind))))


def check(ours: Path, alone: Path) -> None:
    """Compare the vectors of documents, none of which is twice in a dataset, and count evaluations."""
    import numpy as np
    import pyarrow.parquet as pq

    for theirs in sorted(alone.glob("*-documents.npy")):
        dataset = theirs.name.removesuffix("-documents.npy")
        mine = ours / f"results/embeddings/{SYSTEM}/{dataset}/chunk-0.npy"
        ids = pq.read_table(ours / f"results/corpora/{dataset}/documents.parquet", columns=["doc_id"])["doc_id"].to_pylist()
        order = [int(name.removeprefix("d")) for name in ids]  # by length
        if not np.allclose(np.load(mine), np.load(theirs)[order], rtol=0, atol=1e-5):
            sys.exit(f"{mine} has other vectors than {theirs}")
    if (evaluated := len([*ours.glob("results/metrics/*/*.json")])) != 2 * len(SIZES):
        sys.exit(f"expected {2 * len(SIZES)} evaluations, found {evaluated}")
    report(agree=f"{evaluated} evaluations; the vectors of all documents are those of the encoder alone")


def _write(path: Path, lines: Iterable[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines))
