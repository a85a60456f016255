"""Does a run in TREC form equal the stored run?"""

from itertools import zip_longest

from beirflow.audit.chain.chain import Chain
from beirflow.audit.chain.checks import FAILED, PASSED, UNREADABLE, Check, Result
from beirflow.audit.chain.reading import open_parquet, read_packed_lines
from beirflow.files.layout import RUN, TREC_RUN


def check_trec(chain: Chain, system: str, dataset: str, result: Result) -> Check:
    """Compare a run in TREC form, from which no number is computed, with the Parquet file that it was written from."""
    names = {"system": system, "dataset": dataset}
    name, path, source = "runs in TREC form say the same", TREC_RUN(**names), RUN(**names)
    again = chain.repair_command(path, goal=path)
    try:
        with open_parquet(chain.file(source), source) as run:
            columns = ["query_id", "doc_id", "rank", "score"]
            rows = (row for batch in run.iter_batches() for row in zip(*(batch[key].to_pylist() for key in columns), strict=True))
            expected = (f"{query} Q0 {doc_id} {rank} {score:.9g} {system}\n".encode() for query, doc_id, rank, score in rows)
            for place, (line, right) in enumerate(zip_longest(read_packed_lines(chain.file(path)), expected), 1):
                if line != right:
                    problem = f"{path}:{place}: {line and line[:200]!r}; no number is computed from this file"
                    return Check(name, FAILED, problem, f"{right!r}, by {source}", (path,), (), again)
    except UNREADABLE as error:
        return chain.unreadable(name, path, error, [result], repair=again)
    return Check(name, PASSED, f"{path} holds every line of {source}", files=(path,))
