"""Our side: ``prepare_corpus`` with chunks of 500,000 documents, which is the workflow's default.

python -m bench.prepare.ours INPUT OUTPUT
"""

import sys
from pathlib import Path

from beirflow.corpus import prepare_corpus

if __name__ == "__main__":
    source, output = Path(sys.argv[1]), Path(sys.argv[2])
    prepare_corpus(
        source_path=str(source),
        forum=None,
        split="test",
        chunks=-(-int(source.name) // 500_000),  # the folder is named after its number of documents
        expected={"documents": None, "queries": None, "files": {}},
        documents_path=str(output / "documents.parquet"),
        queries_path=str(output / "queries.parquet"),
        qrels_path=str(output / "qrels.parquet"),
        summary_path=str(output / "corpus.json"),
    )
