"""The paths of all results: the only module that spells paths below ``results/``.

It holds paths and nothing else: an edit here alone reruns nothing, since Snakemake itself sees that files of a job are others.
"""

from pathlib import Path

from beirflow.core.patterns import Derived, Pattern, Trace

RESULTS = "<results>"  # the folder of all results, as Snakemake fills it in

ARCHIVE = Pattern("data/{archive}.zip")
HUB_DATASET = Pattern("data/{dataset}.json")  # record of a dataset that was fetched from a hub

MODEL = Pattern("models/{system}.json")
MODEL_OF_DATASET = Pattern("models/{system}/{dataset}")  # the folder of a model that was made for one dataset
MODEL_OF_DATASET_RECORD = Pattern("models/{system}/{dataset}.json")

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

CANDIDATES = Pattern("candidates/{system}/{dataset}/chunk-{chunk}.arrow")
CANDIDATES_RECORD = Pattern("candidates/{system}/{dataset}/chunk-{chunk}.json")
RUN = Pattern("runs/{system}/{dataset}.parquet")
RUN_RECORD = Pattern("runs/{system}/{dataset}.json")
TREC_RUN = Pattern("runs/{system}/{dataset}.trec.gz", "a run in TREC form")
ANSERINI_RUN = Pattern("runs/{system}/{dataset}.anserini.trec.gz", "the same as Pyserini writes it")


METRICS = Pattern("metrics/{system}/{dataset}.json", "means of one system on one dataset; .parquet has every query")
ROW_METRICS = Pattern("metrics/{system}/{row}.json")  # the same of a dataset of forums, which has no run of its own

PER_QUERY = Pattern("metrics/{system}/{dataset}.parquet")
SUMMARY = Pattern("summary.csv", "every system on every dataset, and the averages")
MANIFEST = Pattern("manifest.json")

SCORES = Derived("scores.parquet", "every measure of every query of all systems")
SIGNIFICANCE = Derived("significance.csv", "every two systems compared on every dataset and mean")
UNCERTAINTY = Derived("uncertainty.csv", "every mean and rank with its interval")
COST = Derived("cost.csv", "time, memory and disk")
SYSTEMS = Derived("systems.csv", "every setting of every system, and its origin")
REFERENCES = Derived("references.csv")
INSPECTION = Derived("inspection/{dataset}.json", "sampled queries with their documents and hits")
MATCHES = Derived("matches/{system}/{dataset}.json", "the terms or tokens that these hits match")
TABLE_TEX = Derived("tables/{table}.tex", "a table, also .md")
TABLE_MD = Derived("tables/{table}.md")
CITATIONS = Derived("tables/datasets.bib", "BibTeX of the datasets")
FIGURE_PDF = Derived("figures/{figure}.pdf", "a figure, also .svg")
FIGURE_SVG = Derived("figures/{figure}.svg")
FIGURE_DATA = Derived("figures/{figure}.csv")
REPORT = Derived("report.html", "the report")
REPORT_RECORD = Derived("report.json")

LATENCY = Derived("latency/{system}/{dataset}.json", "milliseconds per query")

AUDIT = Derived("audit.html")
AUDIT_RECORD = Derived("audit.json")

LOG = Trace("logs/{job}.log")
BENCHMARK = Trace("benchmarks/{job}.tsv")
ERROR = ".error.json"  # ending of the record of why a job failed, in place of that of its log


def job_error(log: str | Path) -> Path:
    """Return the path of the record of why a job failed, next to its log."""
    return Path(log).with_suffix(ERROR)


def record_of(path: str | Path) -> Path:
    """Return the path of the record next to a file: the same name with ``.json``."""
    return Path(path).with_suffix(".json")
