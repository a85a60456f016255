"""The paths of all results: the only module that spells paths below ``results/``.

A path is a pattern with names in braces, which rules use as it is and Python fills in: ``RUN(system="bm25", dataset="scifact")``.
"""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*"
"""Form of the name of a system, a dataset or the like: it names one folder and never leaves it."""

RESULTS = "<results>"  # the folder of all results, as Snakemake fills it in

SAFE_PATH = re.compile(rf"{NAME}(?:/{NAME})*")


class Pattern(str):
    """A path below the results, with the names that it depends on in braces."""

    __slots__ = ()

    def __call__(self, **names: str | int | None) -> str:
        """Return the path below the results, given a value for every name in braces."""
        return str(self).format(**names)  # of no name in braces, a plain string too

    def names_in(self, path: str) -> dict[str, str] | None:
        """Return the values of the names in a path below the results; None if the path is not of this kind."""
        match = _expression(self).fullmatch(path)
        return match.groupdict() if match else None

    def pairs_in(self, paths: Iterable[str]) -> list[tuple[str, str]]:
        """Return the system and the dataset in each path that is of this kind."""
        return [(names["system"], names["dataset"]) for path in paths if (names := self.names_in(path))]

    def folder(self, **names: str) -> str:
        """Return the folder below the results, with a slash at its end, up to the first name that is not given."""
        filled = re.sub(r"\{(\w+)\}", lambda match: names.get(match[1], match[0]), self)
        return filled.partition("{")[0].rpartition("/")[0] + "/"

    def below(self, folder: str) -> str:
        """Return the pattern in a folder such as ``<results>``: a plain string, since Snakemake calls what can be called."""
        return f"{folder}/{self}"


@cache
def _expression(pattern: str) -> re.Pattern[str]:
    parts = re.split(r"\{(\w+)\}", pattern)
    literals, names = parts[::2], parts[1::2]
    # A chunk is a number, so that a name like chunk-a is never taken for one.
    named = [rf"(?P<{name}>\d+)" if name == "chunk" else rf"(?P<{name}>{NAME})" for name in names]
    return re.compile("".join(a + b for a, b in zip(map(re.escape, literals), [*named, ""], strict=True)))


ARCHIVE = Pattern("data/{archive}.zip")
HUB_DATASET = Pattern("data/{dataset}.json")  # record of a dataset that was fetched from a hub

MODEL = Pattern("models/{system}.json")
TRAINED_MODEL = Pattern("models/{system}/{dataset}")  # the folder of a model that was trained for one dataset

TRAINED_MODEL_RECORD = Pattern("models/{system}/{dataset}.json")
TRAINED_FILE = Pattern("models/{system}/{dataset}/{file}")
TRAINED_MODULE_FILE = Pattern("models/{system}/{dataset}/{module}/{file}")
TRAINING_CHECKPOINT = Pattern("models/{system}/{dataset}.pt")  # the checkpoint from which an interrupted training resumes

DOCUMENTS = Pattern("corpora/{dataset}/documents.parquet")
QUERIES = Pattern("corpora/{dataset}/queries.parquet")
QRELS = Pattern("corpora/{dataset}/qrels.parquet")
CORPUS = Pattern("corpora/{dataset}/corpus.json")
SHARED = Pattern("corpora/{dataset}/shared.parquet")

QUERY_VECTORS = Pattern("embeddings/{system}/{dataset}/queries.npy")
QUERY_VECTORS_RECORD = Pattern("embeddings/{system}/{dataset}/queries.json")
CHUNK_VECTORS = Pattern("embeddings/{system}/{dataset}/chunk-{chunk}.npy")
CHUNK_VECTORS_RECORD = Pattern("embeddings/{system}/{dataset}/chunk-{chunk}.json")

RANGES = Pattern("embeddings/{system}/{dataset}/ranges-{dimensions}.npy")
RANGES_RECORD = Pattern("embeddings/{system}/{dataset}/ranges-{dimensions}.json")
ALL_DIMENSIONS = "all"  # in place of their number

INDEX = Pattern("indexes/{system}/{dataset}/{index}.faiss")
INDEX_RECORD = Pattern("indexes/{system}/{dataset}/{index}.json")

EXPANSION = Pattern("expansions/{expansion}/{dataset}/chunk-{chunk}.parquet")
EXPANSION_RECORD = Pattern("expansions/{expansion}/{dataset}/chunk-{chunk}.json")
EXPANSION_LOG = Pattern("expansions/{expansion}/{dataset}/chunk-{chunk}.jsonl")
"""The progress of an interrupted job, at which the next one resumes."""

EXPANSION_MODEL = Pattern("expansions/{expansion}/model.json")

POSTINGS = Pattern("postings/{analyzer}/{dataset}/chunk-{chunk}.arrow")
POSTINGS_RECORD = Pattern("postings/{analyzer}/{dataset}/chunk-{chunk}.json")
STATISTICS = Pattern("postings/{analyzer}/{dataset}/statistics.parquet")
STATISTICS_RECORD = Pattern("postings/{analyzer}/{dataset}/statistics.json")

TERM_WEIGHTS = Pattern("postings/{system}/{dataset}/weights-{chunk}.arrow")
TERM_WEIGHTS_RECORD = Pattern("postings/{system}/{dataset}/weights-{chunk}.json")
QUERY_WEIGHTS = Pattern("postings/{system}/{dataset}/queries.arrow")
QUERY_WEIGHTS_RECORD = Pattern("postings/{system}/{dataset}/queries.json")

TOKEN_VECTORS = Pattern("tokens/{system}/{dataset}/chunk-{chunk}.arrow")
TOKEN_VECTORS_RECORD = Pattern("tokens/{system}/{dataset}/chunk-{chunk}.json")
QUERY_TOKEN_VECTORS = Pattern("tokens/{system}/{dataset}/queries.arrow")
QUERY_TOKEN_VECTORS_RECORD = Pattern("tokens/{system}/{dataset}/queries.json")

PAIRS = Pattern("pairs/{system}/{dataset}/block-{block}.parquet")
PAIRS_RECORD = Pattern("pairs/{system}/{dataset}/block-{block}.json")

CANDIDATES = Pattern("candidates/{system}/{dataset}/chunk-{chunk}.npz")
RUN = Pattern("runs/{system}/{dataset}.parquet")
RUN_RECORD = Pattern("runs/{system}/{dataset}.json")
TREC_RUN = Pattern("runs/{system}/{dataset}.trec.gz")
OPEN_RUN = Pattern("open-runs/{system}/{dataset}.trec.gz")  # the same with a header that says where the run comes from

LEADERBOARD = Pattern("leaderboard/index.html")
LEADERBOARD_TABLE = Pattern("leaderboard/leaderboard.csv")
EXPLANATION = Pattern("explanations/{system}/{dataset}.html")
PREDICTIONS = Pattern("predictions/{system}/{dataset}.top-{depth}.json")  # the first documents of a run in MTEB's form

METRICS = Pattern("metrics/{system}/{dataset}.json")
ROW_METRICS = Pattern("metrics/{system}/{row}.json")  # the same of a dataset of forums, which has no run of its own

PER_QUERY = Pattern("metrics/{system}/{dataset}.parquet")
SUMMARY = Pattern("summary.csv")
MANIFEST = Pattern("manifest.json")

SCORES = Pattern("scores.parquet")
SIGNIFICANCE = Pattern("significance.csv")
UNCERTAINTY = Pattern("uncertainty.csv")
NANOBEIR = Pattern("nanobeir.csv")
CONFUSION = Pattern("confusion.csv")
COST = Pattern("cost.csv")
SYSTEMS = Pattern("systems.csv")
REFERENCES = Pattern("references.csv")
INSPECTION = Pattern("inspection/{dataset}.json")
MATCHES = Pattern("matches/{system}/{dataset}.json")
POOL = Pattern("pool/{dataset}.jsonl")
POOL_RECORD = Pattern("pool/{dataset}.json")
JUDGED = Pattern("judge/{dataset}.jsonl")
JUDGED_RECORD = Pattern("judge/{dataset}.json")
JUDGED_SAMPLE = Pattern("judge/{dataset}-sample.jsonl")  # pairs that people judged, which the judge grades too
JUDGE_ANSWERS = Pattern("judge/{dataset}.answers")  # all answers of the judge, which no job asks for again

JUDGE_PAGE = Pattern("judge/{dataset}.html")
NEAR_DUPLICATES = Pattern("near-duplicates/{dataset}/{other}.csv")
NEAR_DUPLICATE_PAIRS = Pattern("near-duplicates/{dataset}/{other}-pairs.csv")
TABLE_TEX = Pattern("tables/{table}.tex")
TABLE_MD = Pattern("tables/{table}.md")
CITATIONS = Pattern("tables/datasets.bib")
MTEB_RESULT = Pattern("mteb/{system}/{task}.json")  # of a task of MTEB, in its form

MODEL_INDEX = Pattern("mteb/{system}/model-index.yaml")
EVAL_RESULT = Pattern("mteb/{system}/eval_results/{task}.yaml")
FIGURE_PDF = Pattern("figures/{figure}.pdf")
FIGURE_SVG = Pattern("figures/{figure}.svg")
FIGURE_DATA = Pattern("figures/{figure}.csv")
REPORT = Pattern("report.html")
REPORT_RECORD = Pattern("report.json")

CHOICE = Pattern("choice.html")
CHOICE_TABLE = Pattern("choice.csv")
CHOICE_RECORD = Pattern("choice.json")

LATENCY = Pattern("latency/{system}/{dataset}.json")

PAPER_TABLE = Pattern("paper/{table}.csv")
PAPER_FIGURE_PDF = Pattern("paper/{figure}.pdf")
PAPER_FIGURE_SVG = Pattern("paper/{figure}.svg")
PAPER_WORDS = Pattern("paper/words/{dataset}.parquet")
PAPER_STATISTICS = Pattern("paper/words/{dataset}.json")
PAPER = Pattern("paper/index.html")
PAPER_RECORD = Pattern("paper/index.json")

AUDIT = Pattern("audit.html")
AUDIT_RECORD = Pattern("audit.json")
COMPARISON = Pattern("comparison.html")
COMPARISON_RECORD = Pattern("comparison.json")
GATE = Pattern("gate.json")
GATE_JUNIT = Pattern("gate.xml")
GATE_COMMENT = Pattern("gate.md")
CRATE = Pattern("ro-crate-metadata.json")
CRATE_CODE = Pattern("code")
CRATE_CONFIGURATION = Pattern("code/configuration.yaml")
CRATE_README = Pattern("README.md")

LOG = Pattern("logs/{job}.log")
BENCHMARK = Pattern("benchmarks/{job}.tsv")
ENERGY = Pattern("energy/{job}.tsv")
TRACES = ("logs/", "benchmarks/", "energy/")  # folders of logs, times and energy; no result depends on them


ERROR = ".error.json"  # ending of the record of why a job failed, in place of that of its log


def job_error(log: str | Path) -> Path:
    """Return the path of the record of why a job failed, next to its log."""
    return Path(log).with_suffix(ERROR)


REPRESENTATIONS = ("embeddings/", "expansions/", "indexes/", "postings/", "tokens/")
"""Folders of representations. They may be deleted to save disk; their digests stay known."""

CHUNKS_OF_REPRESENTATIONS = (CHUNK_VECTORS, INDEX, POSTINGS, TERM_WEIGHTS, TOKEN_VECTORS)
"""Those that grow with the corpus, and that no later step needs once a chunk has been searched."""

FOR_READING = (
    *(SCORES, SIGNIFICANCE, UNCERTAINTY, NANOBEIR, COST, SYSTEMS, REFERENCES, INSPECTION, MATCHES),
    *(FIGURE_PDF, FIGURE_SVG, FIGURE_DATA, TABLE_TEX, TABLE_MD),
    *(CITATIONS, POOL, POOL_RECORD),
    *(REPORT, REPORT_RECORD, CHOICE, CHOICE_TABLE, CHOICE_RECORD, MTEB_RESULT, MODEL_INDEX, EVAL_RESULT, LATENCY),
    *(PAPER_TABLE, PAPER_FIGURE_PDF, PAPER_FIGURE_SVG, PAPER_WORDS, PAPER_STATISTICS, PAPER, PAPER_RECORD),
    *(AUDIT, AUDIT_RECORD, COMPARISON, COMPARISON_RECORD, GATE, GATE_JUNIT, GATE_COMMENT, CRATE, CRATE_README, OPEN_RUN),
    *(PREDICTIONS, EXPLANATION, LEADERBOARD, LEADERBOARD_TABLE, CONFUSION, JUDGED, JUDGED_RECORD, JUDGED_SAMPLE, JUDGE_PAGE),
    *(NEAR_DUPLICATES, NEAR_DUPLICATE_PAIRS),
)
"""Files that are made from the results for people and other programs; no result depends on them."""

PATTERNS = tuple(pattern for pattern in tuple(vars().values()) if isinstance(pattern, Pattern))


def is_for_reading(path: str) -> bool:
    """Test whether a path below the results is that of a file for reading."""
    kept = (*FOR_READING, JUDGE_ANSWERS)
    return path.startswith(f"{CRATE_CODE}/") or any(pattern.names_in(path) is not None for pattern in kept)


def is_trace(path: str) -> bool:
    """Test whether a path below the results is that of a log, an error, a benchmark, of counted energy or a lock."""
    return is_safe(path) and path.endswith((".log", ERROR, ".tsv", ".lock"))


def is_safe(path: str) -> bool:
    """Test whether a path stays below the results, whatever wrote it."""
    return SAFE_PATH.fullmatch(path) is not None


def record_of(path: str | Path) -> Path:
    """Return the path of the record next to a file: the same name with ``.json``."""
    return Path(path).with_suffix(".json")
