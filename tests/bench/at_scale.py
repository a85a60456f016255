"""The stages of the size of the largest datasets, all simulated, without a peer; what their functions do is in ``stages``."""

from functools import partial
from pathlib import Path
from typing import NamedTuple

from bench.beside_peers import CHUNK_DOCUMENTS, FULL_ONLY, K, plan
from bench.stage import Maker, Settings, Stage, Target

LARGEST = 4e9
"""Bytes that a job may take."""

RULES = ("index_chunk", "sum_statistics", "search_index", "merge_chunks")
"""In their order."""


class Merged(NamedTuple):
    """Size of a merge; ``chunks`` divides ``documents`` and is a multiple of ten."""

    queries: int = 7000
    documents: int = 9_000_000
    chunks: int = 180
    k: int = K


class Indexed(NamedTuple):
    """Size of a corpus and its queries."""

    documents: int = 8_841_823
    chunks: int = 18
    queries: int = 6980
    words: int = 3_000_000


def prepare_msmarco(
    settings: Settings, folder: Path, documents: int | None = None, chunk_documents: int = CHUNK_DOCUMENTS
) -> Stage:
    """As many documents as MS MARCO has, where no number is given."""
    documents = documents or (600_000 if settings.quick else Indexed().documents)
    source, chunks = folder / "input" / str(documents), -(-documents // chunk_documents)
    return Stage(
        name="prepare-msmarco",
        input=f"{documents:,} passages of MS MARCO's shape in JSON lines, chunks of {chunk_documents:,}",
        clock="process",
        rounds=settings.rounds(full=1, quick=1),
        inputs=settings.own("prepare.msmarco_inputs", source, documents),
        sides=[settings.own_side("ours", "prepare.ours", folder / "ours", source, chunk_documents)],
        check=settings.own("prepare.msmarco_check", source, folder / "ours", chunks),
        targets=[Target("memory", "ours", LARGEST)],
    )


def merge(settings: Settings, folder: Path, size: Merged | None = None) -> Stage:
    size = size or (Merged(700, 400_000, 40) if settings.quick else Merged())
    source, few, many = folder / "input", size.chunks // 10, size.chunks
    sides = [
        settings.own_side(f"ours, {chunks} chunks", "merge.ours", folder / f"chunks-{chunks}", source / str(chunks), size.k)
        for chunks in (few, many)
    ]
    targets = [Target("memory", side.name, LARGEST) for side in sides]
    growth = Target("memory", sides[1].name, 1.1, over=sides[0].name, row="merge-memory")
    whole = size == Merged()
    return Stage(
        name="merge",
        input=f"candidates of {size.queries:,} queries in {size.documents:,} documents, k = {size.k}, {few} and {many} chunks",
        clock="process",
        rounds=settings.rounds(full=1, quick=1),
        inputs=settings.own("merge.inputs", source, *size),
        sides=sides,
        check=settings.own("merge.check", source / str(many), size.k, *(side.output for side in sides)),
        targets=[*targets, growth] if whole else targets,
        left_out=[] if whole else [("merge-memory", FULL_ONLY)],
    )


def bm25_msmarco(settings: Settings, folder: Path, size: Indexed | None = None) -> Stage:
    """Each side reads what those before it wrote in the same round."""
    size = size or (Indexed(600_000, 2, 500, 1_000_000) if settings.quick else Indexed())
    rest = (folder, size.chunks, K, settings.cores)
    return Stage(
        name="bm25-msmarco",
        input=f"{size.documents:,} passages of 56 words in {size.chunks} chunks, {size.queries:,} queries of 3 to 8, k = {K}, all"
        f" simulated; the jobs of a rule one after the other, with {settings.cores} threads",
        clock="process",
        rounds=settings.rounds(full=1, quick=1),
        inputs=settings.own("bm25_msmarco.inputs", folder / "input", *size),
        sides=[settings.own_side(f"ours, {rule}", "bm25_msmarco.ours", folder / rule, *rest) for rule in RULES],
        check=settings.own("bm25_msmarco.check", folder, K, *size),
        targets=[Target("memory", f"ours, {rule}", LARGEST) for rule in RULES],
    )


def weights_msmarco(settings: Settings, folder: Path) -> Stage:
    """One of the chunks, which are alike."""
    documents, chunks, queries = (40_000, 2, 100) if settings.quick else (491_213, 18, 6980)
    source, rest = folder / "input", (K, settings.cores)
    return Stage(
        name="weights-msmarco",
        input=f"{queries:,} queries of 40 terms, one of {chunks} chunks of {documents:,} documents of 150 weights,"
        f" simulated, k = {K}; from a file, with {settings.cores} threads",
        clock="call",
        rounds=settings.rounds(full=1, quick=1),
        inputs=settings.own("search_weights.inputs", source, documents, queries),
        sides=[settings.own_side("ours", "search_weights.ours", folder / "ours", source, *rest, "file")],
        check=settings.own("search_weights.msmarco_check", source, folder / "ours", K, chunks, settings.cores),
        targets=[Target("memory", "ours", LARGEST)],
    )


SCALE: dict[str, Maker] = {
    "prepare-msmarco": prepare_msmarco,
    "plan-50k": partial(plan, name="plan-50k", chunk_documents=50_000, seconds=60),
    "merge": merge,
    "bm25-msmarco": bm25_msmarco,
    "weights-msmarco": weights_msmarco,
}
