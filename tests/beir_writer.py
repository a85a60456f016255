"""Write small datasets in BEIR form, to folders and archives; and corpora as they are prepared."""

import csv
import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from beirflow.core.digests import file_digest
from beirflow.core.records import Job, write_record
from beirflow.data.corpus_files import FOOTER, footer_digest
from beirflow.data.corpus_reader import DOCUMENTS as SCHEMA
from beirflow.data.matching import match_texts

Documents = Mapping[str, str | Mapping[str, Any]]
Judgements = Mapping[str, Mapping[str, int]]
Chunks = Sequence[Sequence[str]]


def write_beir(folder: Path, documents: Documents, queries: Documents, judgements: Judgements, split: str = "test") -> Path:
    """Write corpus.jsonl, queries.jsonl and qrels/<split>.tsv; a document or query is its text, or its fields without the id."""
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    for name, texts in (("corpus", documents), ("queries", queries)):
        records = [{"_id": key, **({"text": value} if isinstance(value, str) else value)} for key, value in texts.items()]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    rows = [(query_id, doc_id, score) for query_id, graded in judgements.items() for doc_id, score in graded.items()]
    with (folder / f"qrels/{split}.tsv").open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, delimiter="\t").writerows([("query-id", "corpus-id", "score"), *rows])
    return folder


def zip_folder(folder: Path, archive: Path) -> Path:
    """Pack a folder the way the official archives are packed: one folder of the archive's name at the top."""
    archive.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as target:
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                target.write(file, Path(archive.stem, file.relative_to(folder)))
    return archive


def write_documents(path: Path, chunks: Chunks, prefix: str = "d") -> Path:
    """Chunks of texts without titles as ``documents.parquet``, with ids that are numbered through."""
    path.parent.mkdir(parents=True, exist_ok=True)
    number = 0
    with pq.ParquetWriter(path, SCHEMA) as writer:
        for texts in chunks:
            ids = [f"{prefix}{number + i}" for i in range(len(texts))]
            number += len(texts)
            writer.write_table(pa.table([ids, list(texts), [0] * len(texts)], schema=SCHEMA), row_group_size=max(1, len(texts)))
    return path


def write_corpus_record(folder: Path, results: Path | None = None, counts: Mapping[str, int] | None = None, **more: Any) -> Path:
    """``corpus.json`` of the Parquet files that are in a folder, which is that of all results unless another is named."""
    files = [folder / f"{name}.parquet" for name in ("documents", "queries", "qrels")]
    digests = {file: file_digest(file) for file in files if file.exists()}
    footer = {FOOTER: footer_digest(files[0])} if files[0].exists() else {}
    path = folder / "corpus.json"
    write_record(path, Job(results or folder), inputs={}, outputs=digests, counts=counts, **footer, **more)
    return path


def match_corpora(folder: Path, other: Path) -> Path:
    """Find the texts of a prepared corpus that another has, and write ``shared.parquet`` beside its documents."""
    documents, others, output = folder / "documents.parquet", other / "documents.parquet", folder / "shared.parquet"
    match_texts(documents_path=str(documents), other_path=str(others), output_path=str(output))
    return output
