"""The table of facts of records: what each follows from, from models to metrics; and the check that interprets it.

What records leave out is a matter of :mod:`beirflow.audit.facts.made_from`.
"""

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from beirflow.audit.chain.chain import Chain
from beirflow.audit.chain.checks import Check, RecordError
from beirflow.audit.chain.facts import Comparison, as_json
from beirflow.audit.chain.reading import part
from beirflow.audit.facts import derived
from beirflow.audit.facts.configured import OF_THE_MANIFEST
from beirflow.audit.facts.corpora import OF_A_CORPUS
from beirflow.audit.facts.relations import (
    AS_NONE,
    IF_THERE,
    SKIPPED,
    Place,
    Row,
    compare,
    computed,
    equal,
    in_path,
    merged,
    setting,
    total,
)
from beirflow.audit.facts.stated import ADDED
from beirflow.core import kinds, layout
from beirflow.core.extensions import extensions, forms
from beirflow.core.layout import MANIFEST
from beirflow.core.losses import KINDS, RELEVANT
from beirflow.core.patterns import Pattern
from beirflow.core.records import assumed_in, precisions_in, totals
from beirflow.data.corpus_files import CORPUS_COUNTS
from beirflow.ranking.run_settings import filled
from beirflow.ranking.searched import EXPANSION_SOURCE

NUMBERS = ("seconds", "bytes", "counts")
NO_SETTINGS = (*NUMBERS, "inputs", "outputs", "files", "parts", *forms(), "arguments", "card", "settings")
"""Parts of records that repeat no settings, or that the table compares: ``parts`` are by system, which may have the name of a
setting; what a model's files say, its card, may be what settings override.
"""

OF_THE_RUN = ("search", "merge")  # stages whose seconds no record but that of the run has

STORED = re.compile(
    r"[^/]+/(?P<owner>[^/]+)/(?P<dataset>[^/]+)/(?:(?:chunk|weights)-(?P<chunk>\d+)|(?P<queries>queries)|statistics)\.json"
)
"""Path of the record of a chunk or of the queries, in every family; the owner is a system, an analyzer or a model."""

STATED_ONCE = computed(lambda place: SKIPPED)  # what nothing else says
TABLE: Mapping[Pattern, Sequence[Row]] = {
    layout.MANIFEST: OF_THE_MANIFEST,
    layout.CORPUS: OF_A_CORPUS,
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
    layout.EXPANSION_MODEL: (
        Row("model", derived.of_added(lambda added: added.as_model().model), AS_NONE),
        Row("revision", derived.of_added(lambda added: added.as_model().revision), AS_NONE),
    ),
    layout.EXPANSION_RECORD: (
        Row("kind", derived.of_added(lambda added: added.kind), AS_NONE),
        Row("made_by", derived.of_added(lambda added: SKIPPED if added.path else as_json(added.made_by)), AS_NONE),
        Row(EXPANSION_SOURCE, derived.of_added(lambda added: added.path is not None, derived.is_stated), AS_NONE, "a file as"),
        Row(EXPANSION_SOURCE, derived.of_first_chunk, AS_NONE),
    ),
    layout.PAIRS_RECORD: (
        Row("system", in_path("system")),
        Row("block", computed(lambda place: int(place.names["block"]), "its path")),
        Row("blocks", computed(derived.number_of_blocks, "its run")),
        Row("max_length", derived.of_reranker("max_length"), AS_NONE),
        Row("purpose", derived.of_reranker("instruction"), AS_NONE),
        Row("depth", derived.of_reranker("depth"), AS_NONE),
        Row("precision", computed(derived.scored_in, "what made it")),
        Row("scoring", computed(derived.scoring), IF_THERE),
    ),
    layout.RUN_RECORD: (
        Row("system", in_path("system")),
        Row("dataset", in_path("dataset")),
        Row("top_k", equal(MANIFEST, "configuration/top_k")),
        Row(
            "settings", computed(derived.settings_of_run, said=lambda place, found: filled(found, derived.settings_of_run(place)))
        ),
        Row("source_sha256", computed(derived.is_read, said=derived.is_stated), AS_NONE, "a file as"),
        Row("made/precision", derived.configured_or_own, IF_THERE),
        Row("made/dimensions", computed(derived.searched_dimensions), IF_THERE),
        Row("ties", setting("ties", "descending"), IF_THERE),
    ),
    layout.METRICS: (
        *(Row(f"counts/{key}", equal(layout.CORPUS)) for key in CORPUS_COUNTS),
        *(Row(f"counts/{key}", derived.of_its_corpus(key), AS_NONE) for key in (RELEVANT, *KINDS)),
        Row("counts", total(derived.run_behind, lambda place, name: True)),
        Row("seconds", total(derived.run_behind, lambda place, name: name == "evaluate")),
        Row("seconds/evaluate", STATED_ONCE),
        Row("precisions", computed(lambda place: precisions_in(derived.run_behind(place)[0]), "its run")),
        Row(
            "assumed",
            computed(lambda place: assumed_in(derived.run_behind(place)[0]), "its run", lambda place, found: found or []),
            AS_NONE,
        ),
        Row("split", equal(layout.CORPUS)),
        Row("official_data", equal(layout.CORPUS, "official")),
    ),
    **{pattern: rows for extension in extensions() for pattern, rows in extension.recorded().items()},
}
"""Facts of the records of one kind, whatever made them."""

OF_STORED = (
    Row("bytes", computed(derived.sizes_of_files, "the sizes of its files"), IF_THERE),
    Row("made/precision", derived.configured_or_own, IF_THERE),
)
"""Of representations."""

OF_TEXTS = (
    *(Row(key, in_path("owner"), IF_THERE) for key in ("system", "analyzer", "expansion")),
    Row("statistics/documents", equal(layout.CORPUS, "counts/documents"), IF_THERE),
    Row("rows", computed(derived.rows_of_texts, "the corpus"), IF_THERE),
    Row("dim", derived.of_arrays, IF_THERE, "shape and type by"),
    Row("weighed/added", computed(derived.name_added), IF_THERE),
    Row(
        "inputs",
        computed(derived.files_added, said=lambda place, found: sorted(place.named(*ADDED))),
        what="expansions among its",
    ),
)
"""Of representations of chunks and queries."""

OF_SEARCHES = (
    Row(f"counts/{derived.SELF_MATCHES}", computed(derived.kept_self_matches, f"{MANIFEST}, which keeps them")),
    Row("seconds", total(derived.searched, lambda place, name: name in OF_THE_RUN)),
    Row("bytes", total(derived.searched)),
    Row("counts", total(derived.searched, derived.is_counted_by_the_run)),
    Row("made", merged(derived.searched)),
    Row("jobs", derived.with_jobs(derived.searched), AS_NONE, "lacking"),
)
"""Of runs of representations."""

OF_RUNS_OF_RUNS = (
    Row("first_stages", computed(lambda place: place.first_stages)),
    Row("parts", derived.parts_of_runs),
    Row("seconds", computed(lambda place: totals(place.record["parts"].values(), "seconds"), "its parts")),
    Row("bytes", computed(lambda place: totals(place.record["parts"].values(), "bytes"), "its parts")),
    Row("parts", derived.of_own_part, what="own seconds among"),
    Row("made", derived.made_of_runs, what="what such runs have as"),
    Row("jobs", derived.with_jobs(derived.behind), what="lacking"),
)
"""Of fused and reranked runs."""

OF_RERANKERS = (
    *(Row(key, derived.of_reranker(key), AS_NONE) for key in ("depth", "below")),
    Row("counts", total(derived.blocks_of_pairs)),
    Row(
        "inputs",
        computed(
            lambda place: [*range(len(derived.blocks_of_pairs(place)))],
            "their number",
            lambda place, found: sorted(part(each, "block", kind=int) for each in derived.blocks_of_pairs(place)),
        ),
        what="blocks of pairs among its",
    ),
)

OF_TUNED = (
    Row("tuned/on", computed(derived.tuned_on, said=derived.said_of_tuning)),
    Row(
        "tuned/on",
        computed(
            lambda place: False,
            "what tuning may be done on",
            lambda place, on: derived.dataset_and_split(place, on) == derived.dataset_and_split(place, place.dataset),
        ),
        what="the queries that are evaluated among",
    ),
    Row(
        "tuned/chosen",
        computed(
            lambda place: max(point["score"] for point in place.record["tuned"]["grid"]), "its grid", derived.score_of_weights
        ),
    ),
)
"""Of runs with weights that other queries decide over; the score of the weights that were chosen is the best."""

OF_AVERAGES = (
    Row(
        "forums",
        computed(lambda place: [each["name"] for each in part(place.chain.manifest, "datasets", place.dataset, kind=list)]),
    ),
    *(Row(key, total(derived.metrics_of_forums)) for key in ("counts", "seconds")),
    *(Row(key, derived.of_any_forum, AS_NONE) for key in ("assumed", "precisions")),
    Row("official_data", computed(derived.is_official, "its forums")),
    Row("split", computed(lambda place: derived.metrics_of_forums(place)[0]["split"], "its forums")),
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
    if path.startswith(kinds.REPRESENTATIONS):
        compare(place, (*OF_STORED, *(OF_TEXTS if stored else ())))
    if layout.RUN_RECORD in of_table:
        _check_run(place)


def _check_run(place: Place) -> None:
    """Compare the facts of a run by what it was made from."""
    if derived.how_tuned(place):
        compare(place, OF_TUNED)
    if place.first_stages:
        compare(place, OF_RERANKERS if derived.blocks_of_pairs(place) else ())
        compare(place, OF_RUNS_OF_RUNS)
        return
    names = derived.names_of_searched(place)
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
    """Check that a job that is named after what it made made this."""
    parts = {*PurePosixPath(place.path).with_suffix("").parts}
    # Weights of a learned sparse system are named by their chunk, and ranges by their dimensions.
    parts |= {part.replace("weights-", "chunk-") for part in parts} | {part.removeprefix("ranges-") for part in parts}
    _, *names = str(place.record.get("job", "")).split("/")
    place.facts.same(place.path, "job / names", [name for name in names if name not in parts], [], "where the record is")


def _check_settings(place: Place) -> None:
    """Check that settings of a system that a record repeats, in whatever part of it, are those of the system."""
    stated = place.owner.family.recorded(place.stated, place.path, place.record) if place.owner else place.stated
    # The setting is what an encoder keeps; a record may also say what a variant of it searches.
    searched = {key: value for key, value in stated.items() if key != "dimensions"}
    # Of a system that nothing here knows, a setting with settings of its own, such as those of an extension, is one of these.
    own = NO_SETTINGS if place.owner else (*NO_SETTINGS, *(key for key, value in stated.items() if isinstance(value, dict)))
    for key, value in place.record.items():
        if isinstance(value, dict) and key not in own:
            place.facts.known(place.path, value, stated if key == "encoder" else searched, MANIFEST, key)
    # How a text becomes a vector has the name of the setting that names a class: its own parts were compared above.
    others = {"name"} | {key for key in ("encoder",) if isinstance(place.record.get(key), dict)}
    settings = {key: value for key, value in searched.items() if key not in others}
    place.facts.known(place.path, place.record, settings, MANIFEST)
