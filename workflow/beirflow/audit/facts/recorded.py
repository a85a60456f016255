"""The table of facts of records: what each follows from, from models to metrics; and the check that interprets it.

What records leave out is a matter of :mod:`beirflow.audit.facts.made_from`, what those of corpora say of
:mod:`beirflow.audit.facts.corpora`.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import PurePosixPath
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from beirflow.audit.chain.chain import Chain
from beirflow.audit.chain.checks import Check, RecordError
from beirflow.audit.chain.facts import Comparison, as_json
from beirflow.audit.chain.reading import part
from beirflow.audit.facts.relations import (
    AS_NONE,
    IF_THERE,
    SKIPPED,
    Expected,
    Place,
    Relation,
    Row,
    compare,
    computed,
    equal,
    in_path,
    merged,
    setting,
    sums,
    total,
)
from beirflow.audit.facts.stated import added_by, configured_precision, first_stages, settings_on
from beirflow.datasets.corpus_files import CANDIDATE_PAIRS, CORPUS_COUNTS, EXCLUDED_PAIRS
from beirflow.expansions.settings import Expansion
from beirflow.files import layout
from beirflow.files.layout import MANIFEST, Pattern
from beirflow.files.records import assumed_in, precisions_in
from beirflow.runs.family import TunedOn

NUMBERS = ("seconds", "bytes", "counts")
OF_THE_RUN = ("search", "merge")  # stages whose seconds no record but that of the run has
SELF_MATCHES = "self_matches_dropped"
MERGE = "merge"  # the stage of a reranker that its pairs do not know
OF_A_PART = ("seconds", "bytes")
ADDED = (layout.EXPANSION, layout.EXPANSION_RECORD)

STORED = re.compile(
    r"[^/]+/(?P<owner>[^/]+)/(?P<dataset>[^/]+)/(?:(?:chunk|weights)-(?P<chunk>\d+)|(?P<queries>queries)|statistics)\.json"
)
"""Path of the record of a chunk or of the queries, in every family; the owner is a system, an analyzer or a model."""

Found = Mapping[str, Any]


# Records that a record is compared with.


def _searched(place: Place) -> list[Found]:
    """Return the records of the representations that were searched, and of the model that was trained for them."""
    return [place.chain.record(name) for name in _names_of_searched(place)]


def _names_of_searched(place: Place) -> list[str]:
    names = [name for name in part(place.record, "inputs", kind=dict) if name.endswith(".json")]
    stored = [name for name in names if name.startswith(layout.REPRESENTATIONS) and not layout.EXPANSION_MODEL.names_in(name)]
    return [*stored, *place.named(layout.TRAINED_MODEL_RECORD)]


def _firsts(place: Place) -> list[Found]:
    """Return the records of the runs that a run was made from."""
    systems = first_stages(place.chain, place.system)
    return [place.chain.record(layout.RUN_RECORD(system=system, dataset=place.dataset)) for system in systems]


def _pairs(place: Place) -> list[Found]:
    """Return the records of the blocks of pairs that a reranker scored; none of another system."""
    return place.of(layout.PAIRS_RECORD)


def _behind(place: Place) -> list[Found]:
    return [*_firsts(place), *_pairs(place)]


def _run(place: Place) -> list[Found]:
    return [place.beside(layout.RUN_RECORD)]


def _forums(place: Place) -> list[Found]:
    return [place.chain.record(name) for name in part(place.record, "inputs", kind=dict)]


# What facts of one kind should be.


def _precision(place: Place, key: str, found: Any) -> Iterator[Expected]:
    """The precision is the configured one, unless the machine or the model decides it."""
    wanted = configured_precision(place.chain, place.system)
    if wanted and found is not None:
        yield Expected(found, wanted, MANIFEST, [(MANIFEST, "configuration/precision", wanted)])


def _is_counted_by_the_run(place: Place, name: str) -> bool:
    return name == SELF_MATCHES or name.startswith(place.family.counts if place.family else ())


def _kept_self_matches(place: Place) -> Any:
    """Return 0 where self matches are kept, and queries neither exclude documents nor name candidates."""
    counts = part(place.beside(layout.CORPUS), "counts", kind=dict)
    others = {EXCLUDED_PAIRS, CANDIDATE_PAIRS} & counts.keys()
    return SKIPPED if others or place.chain.corpora[place.dataset]["drop_self_matches"] else 0


def _without_own(place: Place, found: Found) -> Found:
    """Return the parts of the runs that a run was made from."""
    if place.system not in found:
        raise RecordError(f"has no part of {place.system} itself")
    return {name: each for name, each in found.items() if name != place.system}


def _parts(place: Place, key: str, found: Found) -> Iterator[Expected]:
    """The parts of a run are those of the runs that it was made from, and its own."""
    firsts, value = _firsts(place), dict[str, Any]()
    for each in firsts:
        value |= each.get("parts", {each["system"]: {kind: each.get(kind, {}) for kind in OF_A_PART}})
    others = [(str(each["path"]), kind, each.get(kind, {})) for each in firsts for kind in ("parts", *OF_A_PART)]
    yield Expected(_without_own(place, found), value, ", ".join(str(each["path"]) for each in firsts), others)


def _of_own_part(place: Place, key: str, found: Found) -> Iterator[Expected]:
    """A reranker itself took the seconds of its blocks of pairs, but for its merge."""
    if pairs := _pairs(place):
        seconds = {name: each for name, each in part(found, place.system, "seconds", kind=dict).items() if name != MERGE}
        others = [(str(each["path"]), "seconds", each["seconds"]) for each in pairs]
        place.chain.note(place.path, f"parts/{place.system}/seconds", seconds, "its blocks of pairs")
        yield Expected(seconds, sums(pairs, "seconds"), f"{len(pairs)} blocks of pairs", others)


def _made_of_runs(place: Place, key: str, found: Found) -> Iterator[Expected]:
    """What made a run is what made those behind it; a job that fuses says its own versions too."""
    for expected in merged(_behind)(place, key, found):
        if not _pairs(place):
            agree = {name: each for name, each in expected.value.items() if found.get(name) == each}
            place.chain.note(place.path, key, agree, expected.by)
            lacks = {name: sorted({*_listed(each)} - {*_listed(found.get(name))}) for name, each in expected.value.items()}
            yield expected._replace(found={name: each for name, each in lacks.items() if each}, value={})
        else:
            place.chain.note(place.path, key, expected.found, expected.by)
            yield expected


def _listed(found: Any) -> list[Any]:
    return found if isinstance(found, list) else [found]


def _with_jobs(of: Callable[[Place], list[Found]]) -> Relation:
    """With all jobs of some records."""

    def missing(place: Place, found: Sequence[str]) -> list[str]:
        jobs = {str(job) for each in of(place) for job in (each.get("job"), *each.get("jobs", ())) if job}
        return sorted(jobs - set(found or ()))

    return computed(lambda place: [], "the records that it was made from: these are missing", missing)


def _tuned(place: Place) -> TunedOn | None:
    return place.family.tuned_on(place.family.settings(**place.stated)) if place.family else None


def _dataset_and_split(place: Place, corpus: str) -> list[Any]:
    return [*place.chain.whole(corpus), part(place.chain.corpora, corpus, "split")]


def _tuned_on(place: Place) -> Any:
    """Return the other dataset on which a system is tuned, or dataset and split."""
    how = _tuned(place)
    if how is None:
        return SKIPPED
    return how.dataset if how.split is None else [*place.chain.whole(place.dataset), how.split]


def _said_of_tuning(place: Place, found: str) -> Any:
    part(place.chain.corpora, found)
    how = _tuned(place)
    return found if how is None or how.split is None else _dataset_and_split(place, found)


def _score(place: Place, found: Sequence[float]) -> float | None:
    points = part(place.record, "tuned", "grid", kind=list)
    return {tuple(part(point, "weights", kind=list)): part(point, "score", kind=float) for point in points}.get(tuple(found))


def _seconds_of_writing(place: Place) -> Any:
    written = [place.chain.records.get(name) for name in place.named(layout.EXPANSION_RECORD)]
    return sum(sum(each["seconds"].values()) for each in written if each) if written and all(written) else SKIPPED


def _files_of_training(place: Place) -> dict[str, Any]:
    folder = f"{layout.TRAINED_MODEL(**place.names)}/"
    return {name.removeprefix(folder): digest for name, digest in part(place.record, "outputs", kind=dict).items()}


def _steps(place: Place, pairs: int) -> int:
    """Return the pairs of all epochs, of which batches have all but those that are left out."""
    return int(part(place.record, "train", "epochs", kind=int) * pairs)


def _pairs_of_batches(place: Place) -> int:
    counts = part(place.record, "counts", kind=dict)
    return int(part(place.record, "train", "batch", kind=int) * counts["training_steps"] + counts["pairs_left_out"])


def _of_added(value: Callable[[Expansion], Any]) -> Relation:
    """Equal to what the settings of the systems with an expansion say of it."""

    def follows(place: Place, key: str, found: Any) -> Iterator[Expected]:
        for system in place.chain.manifest["systems"]:
            added = added_by(place.chain, system)
            if added and added.name == place.names["expansion"]:
                yield from computed(lambda place, added=added: value(added))(place, key, found)  # type: ignore[misc]

    return follows


def _sizes(place: Place) -> Any:
    files, outputs = place.chain.listing.files, part(place.record, "outputs", kind=dict)
    return sum(files[name] for name in outputs) if files.keys() >= outputs.keys() else SKIPPED


def _rows(place: Place) -> Any:
    """Return the number of documents of a chunk, or of queries."""
    if place.names["queries"]:
        return part(place.beside(layout.CORPUS), "counts", "queries")
    path = layout.DOCUMENTS(dataset=place.dataset)
    metadata, chunk = pq.read_metadata(place.chain.file(path)), int(place.names["chunk"])
    if chunk >= metadata.num_row_groups:
        raise RecordError(f"is of chunk {chunk}, but {path} has {metadata.num_row_groups}")
    return metadata.row_group(chunk).num_rows


def _of_arrays(place: Place, key: str, found: Any) -> Iterator[Expected]:
    """Arrays have the rows and dimensions that their record says; only their headers are read."""
    for name in place.named(layout.CHUNK_VECTORS, layout.QUERY_VECTORS, key="outputs"):
        if name in place.chain.listing.files:
            try:
                array = np.load(place.chain.file(name), mmap_mode="r", allow_pickle=False)
            except (ValueError, OSError, EOFError) as error:
                raise RecordError(f"is no array ({str(error)[:100]})", name) from error
            place.chain.note(place.path, key, found, name)
            yield Expected([place.record.get("rows"), found, "float32"], [*array.shape, str(array.dtype)], name)


def _added(place: Place) -> Any:
    """Return the expansion that a system adds to the documents of a chunk that is weighed; None for none."""
    is_weighed = "weighed" in place.record and place.names["chunk"] and place.system in place.chain.manifest["systems"]
    return added_by(place.chain, place.system) if is_weighed else SKIPPED


def _name_added(place: Place) -> Any:
    added = _added(place)
    return added if added is SKIPPED else added and added.name


def _files_added(place: Place) -> Any:
    added, names = _added(place), {"dataset": place.dataset, "chunk": place.names["chunk"]}
    return added if added is SKIPPED else sorted(each(expansion=added.name, **names) for each in ADDED if added)


def _of_reranker(name: str) -> Relation:
    """Equal to a setting of a reranker, as it is for a corpus."""
    return computed(lambda place: getattr(settings_on(place.chain, place.system, place.dataset), name))


def _blocks(place: Place) -> int:
    return sum(layout.PAIRS_RECORD.names_in(name) is not None for name in _run(place)[0]["inputs"])


def _numbers(place: Place, found: Any) -> list[int]:
    return sorted(part(each, "block", kind=int) for each in _pairs(place))


def _scored_in(place: Place) -> Any:
    own = settings_on(place.chain, place.system, place.dataset).has_own_precision  # that of a graph, or nobody knows it
    return SKIPPED if own else part(place.record, "made", "precision")


def _scoring(place: Place) -> Any:
    encoder = settings_on(place.chain, place.system, place.dataset).encoder_settings
    stated = asdict(encoder) if encoder else {}
    return as_json({key: stated.get(key) for key in place.record.get("scoring") or ()})


def _union(place: Place, key: str, found: Any) -> Iterator[Expected]:
    """All values of the forums."""
    yield Expected(found or [], sorted({value for forum in _forums(place) for value in forum.get(key, ())}), "its forums")


def _official(place: Place) -> bool | None:
    official = [forum["official_data"] for forum in _forums(place)]
    return False if False in official else (True if all(official) else None)


STATED_ONCE = computed(lambda place: SKIPPED)
"""What nothing else says."""

TABLE: Mapping[Pattern, Sequence[Row]] = {
    layout.CORPUS: (Row("split", computed(lambda place: place.chain.corpora[place.dataset]["split"])),),
    layout.MODEL: (
        *(Row(key, setting(key)) for key in ("model", "revision")),
        *(Row(key, setting(key), AS_NONE) for key in ("query_model", "query_revision")),
        Row(
            "files",
            computed(
                lambda place: place.stated.get("weights_sha256") or SKIPPED,
                said=lambda place, found: found.get(place.stated["weights"]),
            ),
            what="weights among",
        ),
    ),
    layout.TRAINED_MODEL_RECORD: (
        Row("system", in_path("system")),
        *(Row(key, setting(key)) for key in ("model", "revision", "train")),
        Row("files", computed(_files_of_training, "its outputs")),
        Row("counts/training_pairs", computed(_pairs_of_batches, "its batches", _steps)),
        Row("seconds/expand", computed(_seconds_of_writing, "the queries that were written")),
    ),
    layout.EXPANSION_MODEL: (
        Row("model", _of_added(lambda added: added.as_model().model), AS_NONE),
        Row("revision", _of_added(lambda added: added.as_model().revision), AS_NONE),
    ),
    layout.EXPANSION_RECORD: (
        Row("kind", _of_added(lambda added: added.kind), AS_NONE),
        Row("made_by", _of_added(lambda added: SKIPPED if added.path else as_json(added.made_by)), AS_NONE),
    ),
    layout.PAIRS_RECORD: (
        Row("system", in_path("system")),
        Row("block", computed(lambda place: int(place.names["block"]), "its path")),
        Row("blocks", computed(_blocks, "its run")),
        Row("max_length", _of_reranker("max_length"), AS_NONE),
        Row("purpose", _of_reranker("instruction"), AS_NONE),
        Row("depth", _of_reranker("depth"), AS_NONE),
        Row("precision", computed(_scored_in, "what made it")),
        Row("scoring", computed(_scoring), IF_THERE),
    ),
    layout.RUN_RECORD: (
        Row("system", in_path("system")),
        Row("dataset", in_path("dataset")),
        Row("top_k", equal(MANIFEST, "configuration/top_k")),
        Row("made/precision", _precision, IF_THERE),
        Row("ties", setting("ties", "descending"), IF_THERE),
    ),
    layout.METRICS: (
        *(Row(f"counts/{key}", equal(layout.CORPUS)) for key in CORPUS_COUNTS),
        Row("counts", total(_run, lambda place, name: True)),
        Row("seconds", total(_run, lambda place, name: name == "evaluate")),
        Row("seconds/evaluate", STATED_ONCE),
        Row("precisions", computed(lambda place: precisions_in(_run(place)[0]), "its run")),
        Row("assumed", computed(lambda place: assumed_in(_run(place)[0]), "its run", lambda place, found: found or []), AS_NONE),
        Row("split", equal(layout.CORPUS)),
        Row("official_data", equal(layout.CORPUS, "official")),
    ),
}
"""Facts of the records of one kind, whatever made them."""

OF_STORED = (
    Row("bytes", computed(_sizes, "the sizes of its files", lambda place, found: sum(found.values())), IF_THERE),
    Row("made/precision", _precision, IF_THERE),
)
"""Of representations."""

OF_TEXTS = (
    *(Row(key, in_path("owner"), IF_THERE) for key in ("system", "analyzer", "expansion")),
    Row("statistics/documents", equal(layout.CORPUS, "counts/documents"), IF_THERE),
    Row("rows", computed(_rows, "the corpus"), IF_THERE),
    Row("dim", _of_arrays, IF_THERE, "shape and type by"),
    Row("weighed/added", computed(_name_added), IF_THERE),
    Row("inputs", computed(_files_added, said=lambda place, found: sorted(place.named(*ADDED))), what="expansions among its"),
)
"""Of representations of chunks and queries."""

OF_SEARCHES = (
    Row(f"counts/{SELF_MATCHES}", computed(_kept_self_matches, f"{MANIFEST}, which keeps them")),
    Row("seconds", total(_searched, lambda place, name: name in OF_THE_RUN)),
    Row("bytes", total(_searched)),
    Row("counts", total(_searched, _is_counted_by_the_run)),
    Row("made", merged(_searched)),
    Row("jobs", _with_jobs(_searched), AS_NONE, "lacking"),
)
"""Of runs of representations."""

OF_RUNS_OF_RUNS = (
    Row("first_stages", computed(lambda place: first_stages(place.chain, place.system))),
    Row("parts", _parts),
    Row("seconds", computed(lambda place: sums(place.record["parts"].values(), "seconds"), "its parts")),
    Row("bytes", computed(lambda place: sums(place.record["parts"].values(), "bytes"), "its parts")),
    Row("parts", _of_own_part, what="own seconds among"),
    Row("made", _made_of_runs, what="what such runs have as"),
    Row("jobs", _with_jobs(_behind), what="lacking"),
)
"""Of fused and reranked runs."""

OF_RERANKERS = (
    *(Row(key, _of_reranker(key), AS_NONE) for key in ("depth", "below")),
    Row("counts", total(_pairs)),
    Row(
        "inputs", computed(lambda place: [*range(len(_pairs(place)))], "their number", _numbers), what="blocks of pairs among its"
    ),
)

OF_TUNED = (
    Row("tuned/on", computed(_tuned_on, said=_said_of_tuning)),
    Row(
        "tuned/on",
        computed(
            lambda place: False,
            "what tuning may be done on",
            lambda place, on: _dataset_and_split(place, on) == _dataset_and_split(place, place.dataset),
        ),
        what="the queries that are evaluated among",
    ),
    Row(
        "tuned/chosen", computed(lambda place: max(point["score"] for point in place.record["tuned"]["grid"]), "its grid", _score)
    ),
)
"""Of runs with weights that other queries decide over; the score of the weights that were chosen is the best."""

OF_AVERAGES = (
    Row(
        "forums",
        computed(lambda place: [each["name"] for each in part(place.chain.manifest, "datasets", place.dataset, kind=list)]),
    ),
    *(Row(key, total(_forums)) for key in ("counts", "seconds")),
    *(Row(key, _union, AS_NONE) for key in ("assumed", "precisions")),
    Row("official_data", computed(_official, "its forums")),
    Row("split", computed(lambda place: _forums(place)[0]["split"], "its forums")),
)
"""Of the metrics of a dataset of forums."""


def check_recorded(chain: Chain) -> list[Check]:
    """Compare the facts of all records by the table."""
    facts = Comparison(chain, "records say the same")
    facts.each([path for path, record in chain.records.items() if record is not None], check_record)
    return facts.finished()


def check_record(facts: Comparison, path: str) -> None:
    """Compare the facts of a record by the table."""
    stored, of_table = STORED.fullmatch(path), {kind: names for kind in TABLE if (names := kind.names_in(path)) is not None}
    names = {**(stored.groupdict() if stored else {}), **next(iter(of_table.values()), {})}
    place = Place(facts, path, names, facts.chain.record(path))
    _check_numbers(place)
    _check_job(place)
    if layout.METRICS not in of_table:
        _check_settings(place)
    elif (place.system, place.dataset) not in place.chain.evaluated:
        compare(place, OF_AVERAGES)
        return
    for kind in of_table:
        compare(place, TABLE[kind])
    if path.startswith(layout.REPRESENTATIONS):
        compare(place, (*OF_STORED, *(OF_TEXTS if stored else ())))
    if layout.RUN_RECORD in of_table:
        _check_run(place)


def _check_run(place: Place) -> None:
    """Compare the facts of a run by what it was made from."""
    if _tuned(place):
        compare(place, OF_TUNED)
    if first_stages(place.chain, place.system):
        compare(place, OF_RERANKERS if _pairs(place) else ())
        compare(place, OF_RUNS_OF_RUNS)
        return
    names = _names_of_searched(place)
    rows: Sequence[Row] = OF_SEARCHES
    if not names or any(place.chain.records.get(name) is None for name in names):
        why = "some are not here" if names else "there are none"
        what = f"seconds, bytes and versions could not be compared with representations: {why}"
        place.facts.not_compared(f"{place.path}: {what}", place.path)
        rows = OF_SEARCHES[:1]
    elif place.stated.get("variant_of"):
        rows = [row for row in OF_SEARCHES if row.key != "bytes"]
        place.facts.not_compared(f"{place.path}: bytes are those of compressed vectors, which nothing stores", place.path)
    compare(place, rows)


def _check_numbers(place: Place) -> None:
    """Check that measurements and counts are numbers that such can be."""
    for kind in NUMBERS:
        for name, value in place.record.get(kind, {}).items():
            is_number = isinstance(value, int | float if kind == "seconds" else int) and not isinstance(value, bool)
            if not is_number or not math.isfinite(value) or value < 0:
                raise RecordError(f"has {value!r} as {kind} / {name}")
            place.facts.compared += 1


def _check_job(place: Place) -> None:
    """A job that is named after what it made made this."""
    parts = {*PurePosixPath(place.path).with_suffix("").parts}
    # Weights of a learned sparse system are named by their chunk, and ranges by their dimensions.
    parts |= {part.replace("weights-", "chunk-") for part in parts} | {part.removeprefix("ranges-") for part in parts}
    _, *names = str(place.record.get("job", "")).split("/")
    place.facts.same(place.path, "job / names", [name for name in names if name not in parts], [], "where the record is")


def _check_settings(place: Place) -> None:
    """Settings of a system that a record repeats, in whatever part of it, are those of the system."""
    for key, value in place.record.items():
        if isinstance(value, dict) and key not in (*NUMBERS, "inputs", "outputs", "files", "train", "arguments"):
            place.facts.known(place.path, value, place.stated, MANIFEST, key)
    # How a text becomes a vector has the name of the setting that names a class: its own parts were compared above.
    others = {"name"} | {key for key in ("encoder",) if isinstance(place.record.get(key), dict)}
    settings = {key: value for key, value in place.stated.items() if key not in others}
    place.facts.known(place.path, place.record, settings, MANIFEST)
