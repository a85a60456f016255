"""The command ``beirflow evaluate``: measures of a run file by a file of judgements, without results or a configuration."""

import argparse
import json
import os
import sys

HELP = "evaluate a run file by a file of judgements"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("run", metavar="RUN", help="TREC run, JSON {query: {document: score}}, or Parquet; text may be gzipped")
    parser.add_argument("qrels", metavar="QRELS", help="TREC qrels, BEIR's TSV, or Parquet of results; text may be gzipped")
    parser.add_argument("--measures", nargs="+", metavar="NAME@K", help="e.g. NDCG@10 Recall@100; default: those of the summary")
    parser.add_argument("--relevant-from", type=int, metavar="GRADE", help="least grade of a relevant document (default: 1)")
    parser.add_argument("--per-query", action="store_true", help="also print the values of every query")
    parser.add_argument("--json", action="store_true", help="print JSON, with all digits")
    parser.add_argument("-o", "--output", metavar="FILE", help="write to a file instead of the terminal")
    parser.epilog = "Example: beirflow evaluate run.trec.gz qrels.tsv --measures NDCG@10 Recall@100"


def main(options: argparse.Namespace) -> int:
    """Evaluate, print or write the values, and return 0; notes go to the terminal.

    Raises BeirflowError if a file is no run or no judgements, or a measure is unknown.
    """
    # Here, since the help of the command needs no pandas.
    from beirflow.core.errors import ConfigError
    from beirflow.core.writing import atomic_path
    from beirflow.evaluation.outside_runs import evaluate

    if options.output and os.path.realpath(options.output) in map(os.path.realpath, (options.run, options.qrels)):
        raise ConfigError(f"-o {options.output}: this is a file that is evaluated; name another")
    found = evaluate(options.run, options.qrels, options.measures, relevant_from=options.relevant_from)
    if options.json:
        content = {"queries": len(found.per_query), "mean": found.mean.to_dict(), "notes": list(found.notes)}
        # A measure of topics has no value at most queries.
        per_query = {query: values.dropna().to_dict() for query, values in found.per_query.iterrows()}
        text = json.dumps(content | ({"per_query": per_query} if options.per_query else {}), indent=2, ensure_ascii=False)
    else:
        rows = [("all", found.mean), *(found.per_query.iterrows() if options.per_query else ())]
        width = max(map(len, found.mean.index))
        text = "\n".join(f"{name:{width}}\t{query}\t{value:.4f}" for query, values in rows for name, value in values.items())
    if options.output:
        with atomic_path(options.output) as partial:
            partial.write_text(f"{text}\n", encoding="utf-8", newline="\n")
    else:
        sys.stdout.write(f"{text}\n")
    for note in found.notes:
        sys.stderr.write(f"{note}\n")
    return 0
