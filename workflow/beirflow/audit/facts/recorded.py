"""Do the records of models, representations, runs and metrics agree?"""

import math
from collections import Counter
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from beirflow.audit.chain.chain import Chain
from beirflow.audit.chain.checks import Check, RecordError
from beirflow.audit.chain.facts import Comparison
from beirflow.audit.chain.reading import part
from beirflow.audit.facts.first_stages import check_first_stages, first_stages
from beirflow.audit.facts.representations import (
    check_model_of_expansion,
    check_representation,
    check_what_is_added,
    configured_precision,
)
from beirflow.datasets.corpus_files import CANDIDATE_PAIRS, CORPUS_COUNTS, EXCLUDED_PAIRS
from beirflow.files import layout
from beirflow.files.records import assumed_in, precisions_in, together

OF_THE_RUN = ("search", "merge")
"""Stages whose seconds no record but that of the run has."""

SELF_MATCHES = "self_matches_dropped"

NUMBERS = ("seconds", "bytes", "counts")


def check_recorded(chain: Chain) -> list[Check]:
    """Compare the records with each other, from models to metrics."""
    facts = Comparison(chain, "records say the same")
    records = [path for path, record in chain.records.items() if record is not None]
    facts.each(records, _check_numbers)
    facts.each(records, _check_job)
    facts.each([path for path in records if layout.MODEL.names_in(path)], _check_model)
    facts.each([path for path in records if layout.TRAINED_MODEL_RECORD.names_in(path)], _check_trained)
    facts.each([path for path in records if path.startswith(layout.REPRESENTATIONS)], check_representation)
    facts.each([path for path in records if layout.EXPANSION_RECORD.names_in(path)], check_what_is_added)
    facts.each([path for path in records if layout.EXPANSION_MODEL.names_in(path)], check_model_of_expansion)
    facts.each(
        [path for path in records if not layout.METRICS.names_in(path) and not layout.MODEL.names_in(path)], _check_settings
    )
    for system, dataset in chain.runs:  # those of systems that only others need too
        facts.each([layout.RUN_RECORD(system=system, dataset=dataset)], _check_run)
    for (system, dataset), row in chain.evaluated.items():
        facts.each([layout.METRICS(system=system, dataset=dataset)], _check_metrics, [(system, row)])
    facts.each([path for path, result in chain.means.items() if result not in chain.evaluated], _check_average)
    return facts.finished()


def _check_numbers(facts: Comparison, path: str) -> None:
    """Check that measurements and counts are numbers that such can be."""
    record = facts.chain.record(path)
    for kind in NUMBERS:
        for name, value in record.get(kind, {}).items():
            is_number = isinstance(value, int | float if kind == "seconds" else int) and not isinstance(value, bool)
            if not is_number or not math.isfinite(value) or value < 0:
                raise RecordError(f"has {value!r} as {kind} / {name}")
            facts.compared += 1


def _check_job(facts: Comparison, path: str) -> None:
    """A job that is named after what it made made this."""
    parts = {*PurePosixPath(path).with_suffix("").parts}
    # Weights of a learned sparse system are named by their chunk, and ranges by their dimensions.
    parts |= {part.replace("weights-", "chunk-") for part in parts} | {part.removeprefix("ranges-") for part in parts}
    _, *names = str(facts.chain.record(path).get("job", "")).split("/")
    facts.same(path, "job / names", [name for name in names if name not in parts], [], "where the record is")


def _check_model(facts: Comparison, path: str) -> None:
    """A model is the one that its system names."""
    record, name = facts.chain.record(path), (layout.MODEL.names_in(path) or {})["system"]
    settings = part(facts.chain.manifest, "systems", name, "settings", kind=dict)
    for key in ("model", "revision"):
        facts.same(path, key, part(record, key), settings.get(key) or None, layout.MANIFEST)
    for key in ("query_model", "query_revision"):
        facts.same(path, key, record.get(key), settings.get(key), layout.MANIFEST)
    weights = settings.get("weights_sha256")
    if weights is not None:
        said = part(record, "files", kind=dict).get(settings["weights"])
        facts.same(path, "files / weights", said, weights, layout.MANIFEST, f"files/{settings['weights']}")
    _check_settings(facts, path, name)


def _check_trained(facts: Comparison, path: str) -> None:
    """A model that was trained has the files, the settings and the pairs that its training says."""
    chain, record, names = facts.chain, facts.chain.record(path), layout.TRAINED_MODEL_RECORD.names_in(path) or {}
    outputs, folder = part(record, "outputs", kind=dict), f"{layout.TRAINED_MODEL(**names)}/"
    files = {name.removeprefix(folder): digest for name, digest in outputs.items()}
    facts.same(path, "files", part(record, "files", kind=dict), files, "its outputs")
    facts.same(path, "system", part(record, "system"), names["system"], "its path")
    settings = chain.manifest["systems"].get(names["system"], {}).get("settings", {})
    for key in ("model", "revision", "train") if settings else ():
        facts.same(path, key, part(record, key), settings.get(key), layout.MANIFEST)
    train, counts = part(record, "train", kind=dict), part(record, "counts", kind=dict)
    pairs = train["epochs"] * counts["training_pairs"]
    used = train["batch"] * counts["training_steps"] + counts["pairs_left_out"]
    facts.same(path, "counts / training_pairs", pairs, used, "its batches")
    written = [chain.records.get(name) for name in part(record, "inputs", kind=dict) if layout.EXPANSION_RECORD.names_in(name)]
    if written and all(written):
        seconds = sum(sum(each["seconds"].values()) for each in written if each)
        facts.same(path, "seconds / expand", part(record, "seconds", "expand"), seconds, "the queries that were written")


def _check_settings(facts: Comparison, path: str, name: str = "") -> None:
    """Settings of a system that a record repeats, in whatever part of it, are those of the system."""
    record = facts.chain.record(path)
    name = name or str(record.get("system"))
    settings = facts.chain.manifest["systems"].get(name, {}).get("settings")
    if settings is not None:
        for key, value in record.items():
            if isinstance(value, dict) and key not in (*NUMBERS, "inputs", "outputs", "files", "train", "arguments"):
                facts.known(path, value, settings, layout.MANIFEST, key)
        # How a text becomes a vector has the name of the setting that names a class: its own parts were compared above.
        others = {"name"} | {key for key in ("encoder",) if isinstance(record.get(key), dict)}
        facts.known(path, record, {key: value for key, value in settings.items() if key not in others}, layout.MANIFEST)


def _check_run(facts: Comparison, path: str) -> None:
    """A run says of its system, dataset, depth and precision what the manifest says, and sums up what it was made from."""
    chain, record = facts.chain, facts.chain.record(path)
    names = layout.RUN_RECORD.names_in(path) or {}
    configuration = chain.manifest["configuration"]
    facts.same(path, "system", part(record, "system"), names["system"], "its path")
    facts.same(path, "dataset", part(record, "dataset"), names["dataset"], "its path")
    facts.same(path, "top_k", part(record, "top_k"), configuration["top_k"], layout.MANIFEST)
    chain.note(layout.MANIFEST, "configuration/top_k", configuration["top_k"], path)
    precision, wanted = part(record, "made", kind=dict).get("precision"), configured_precision(chain, names["system"])
    if wanted and precision is not None:
        facts.same(path, "precision", precision, wanted, layout.MANIFEST, "made/precision")
        chain.note(layout.MANIFEST, "configuration/precision", wanted, path)
    if "ties" in record:
        settings = chain.manifest["systems"].get(names["system"], {}).get("settings", {})
        facts.same(path, "ties", record["ties"], settings.get("ties", "descending"), f"{layout.MANIFEST} and the ranking rule")
    if systems := first_stages(chain, names["system"]):
        check_first_stages(facts, path, systems)
    else:
        counts = part(chain.record(layout.CORPUS(dataset=names["dataset"])), "counts", kind=dict)
        if not chain.corpora[names["dataset"]]["drop_self_matches"] and not {EXCLUDED_PAIRS, CANDIDATE_PAIRS} & counts.keys():
            dropped, by = part(record, "counts", SELF_MATCHES), f"{layout.MANIFEST}, which keeps them"
            facts.same(path, SELF_MATCHES, dropped, 0, by, f"counts/{SELF_MATCHES}")
        _check_sums(facts, path, record)


def _check_sums(facts: Comparison, path: str, record: Mapping[str, Any]) -> None:
    """Seconds, bytes, counts and versions are those of the representations that were searched."""
    records = [name for name in part(record, "inputs", kind=dict) if name.endswith(".json")]
    stored = [
        name for name in records if name.startswith(layout.REPRESENTATIONS) and layout.EXPANSION_MODEL.names_in(name) is None
    ]
    sources = [*stored, *(name for name in records if layout.TRAINED_MODEL_RECORD.names_in(name))]
    read = [facts.chain.records.get(name) for name in sources]
    if not sources or any(each is None for each in read):
        why = "some are not here" if sources else "there are none"
        facts.not_compared(f"{path}: seconds, bytes and versions could not be compared with representations: {why}", path)
        return
    by = f"the {len(sources)} records that it was made from"
    settings = facts.chain.manifest["systems"].get(record.get("system"), {}).get("settings", {})
    variant = bool(settings.get("variant_of"))
    family = facts.chain.setup.families.get(str(facts.chain.manifest["systems"].get(record.get("system"), {}).get("family")))
    counts = family.counts if family else ()
    if variant:
        facts.not_compared(f"{path}: bytes are those of compressed vectors, which nothing stores", path)
    for kind in (kind for kind in NUMBERS if not (variant and kind == "bytes")):
        total: Counter[str] = Counter()
        for each in read:
            total.update((each or {}).get(kind, {}))
        said = dict(record.get(kind, {}))
        own = OF_THE_RUN if kind == "seconds" else (SELF_MATCHES, *(key for key in said if key.startswith(counts)))
        said = {key: value for key, value in said.items() if key in total or key not in own}
        facts.same(path, kind, said, dict(total), by)
        for name, each in zip(sources, read, strict=True):
            facts.chain.note(name, kind, (each or {}).get(kind, {}), path)
    made = together([each["made"] for each in read if each and "made" in each])
    facts.same(path, "made", {key: value for key, value in record["made"].items() if key in made}, made, by)
    for name, each in zip(sources, read, strict=True):
        summed = {key: value for key, value in (each or {}).get("made", {}).items() if key in made}
        facts.chain.note(name, "made", summed, path)
    jobs = {str(each["job"]) for each in read if each and each.get("job")}
    facts.same(path, "jobs, which lack", sorted(jobs - set(record.get("jobs", ()))), [], f"{by}: these are missing")


def _check_metrics(facts: Comparison, path: str) -> None:
    """Metrics repeat what the run and the corpus say."""
    chain, record = facts.chain, facts.chain.record(path)
    names = layout.METRICS.names_in(path) or {}
    run_path, corpus_path = layout.RUN_RECORD(**names), layout.CORPUS(dataset=names["dataset"])
    run, corpus = chain.record(run_path), chain.record(corpus_path)
    counts, seconds = part(record, "counts", kind=dict), dict(part(record, "seconds", kind=dict))
    for key in CORPUS_COUNTS:
        facts.same(path, f"counts / {key}", counts.get(key), part(corpus, "counts", key), corpus_path)
    for key, value in part(run, "counts", kind=dict).items():
        facts.same(path, f"counts / {key}", counts.get(key), value, run_path)
    if "evaluate" not in seconds:
        raise RecordError("has no seconds / evaluate")
    del seconds["evaluate"]
    facts.same(path, "seconds", seconds, part(run, "seconds", kind=dict), run_path)
    for kind in ("counts", "seconds"):
        chain.note(run_path, kind, run[kind], path)
    facts.same(path, "assumed", record.get("assumed", []), assumed_in(run), run_path)
    facts.same(path, "precisions", part(record, "precisions"), precisions_in(run), run_path)
    facts.same(path, "split", part(record, "split"), part(corpus, "split"), corpus_path)
    facts.same(corpus_path, "split", corpus["split"], chain.corpora[names["dataset"]]["split"], layout.MANIFEST)
    facts.same(path, "official_data", part(record, "official_data"), part(corpus, "official"), corpus_path)


def _check_average(facts: Comparison, path: str) -> None:
    """A dataset of forums has the sums of its forums, and all of them."""
    record, (_, row) = facts.chain.record(path), facts.chain.means[path]
    forums = [facts.chain.record(forum) for forum in part(record, "inputs", kind=dict)]
    by = "its forums"
    named = [corpus["name"] for corpus in part(facts.chain.manifest, "datasets", row, kind=list)]
    facts.same(path, "forums", part(record, "forums"), named, layout.MANIFEST)
    for kind in ("counts", "seconds"):
        total: Counter[str] = Counter()
        for forum in forums:
            total.update(part(forum, kind, kind=dict))
            facts.chain.note(str(forum["path"]), kind, forum[kind], path)
        facts.same(path, kind, part(record, kind, kind=dict), dict(total), by)
    for key in ("assumed", "precisions"):
        of_forums = sorted({value for forum in forums for value in forum.get(key, ())})
        facts.same(path, key, record.get(key, []), of_forums, by)
    official = [forum["official_data"] for forum in forums]
    facts.same(
        path,
        "official_data",
        part(record, "official_data"),
        False if False in official else (True if all(official) else None),
        by,
    )
    facts.same(path, "split", part(record, "split"), forums[0]["split"], by)
