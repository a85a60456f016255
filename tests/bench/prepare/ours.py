"""Our side: ``prepare_corpus``.

python -m bench.prepare.ours INPUT OUTPUT CHUNK_DOCUMENTS
"""

import sys
from pathlib import Path

from beirflow.datasets.prepare import prepare_corpus
from beirflow.files.records import Job
from by_name import call

if __name__ == "__main__":
    source, output, chunk_documents = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    (qrels,) = (source / "qrels").iterdir()
    call(
        prepare_corpus,
        source_path=str(source),
        forum=None,
        split=qrels.stem,
        chunks=-(-int(source.name) // chunk_documents),  # the folder is named after its number of documents
        expected={"documents": None, "queries": None, "files": {}},
        documents_path=str(output / "documents.parquet"),
        queries_path=str(output / "queries.parquet"),
        job=Job(output),
    )
