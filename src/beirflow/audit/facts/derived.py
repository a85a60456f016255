"""Values that facts of records should have, derived from other records, and the records that these stand in.

:mod:`beirflow.audit.facts.recorded` has the table that calls them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from beirflow.audit.chain.checks import RecordError
from beirflow.audit.chain.facts import as_json
from beirflow.audit.chain.reading import part
from beirflow.audit.facts.relations import SKIPPED, Expected, Place, Relation, computed, merged
from beirflow.audit.facts.stated import ADDED, configured_precision, stated_system
from beirflow.config.main_measure import main_measure
from beirflow.config.manifest import TUNED_ON
from beirflow.core import kinds, layout
from beirflow.core.layout import MANIFEST
from beirflow.core.records import totals
from beirflow.data.corpus_files import CANDIDATE_PAIRS, EXCLUDED_PAIRS
from beirflow.families.expansions.settings import Expansion
from beirflow.families.family import TunedOn
from beirflow.ranking.run_settings import filled

SELF_MATCHES = "self_matches_dropped"
MERGE = "merge"  # the stage of a reranker that its pairs do not know
OF_A_PART = ("seconds", "bytes")


Found = Mapping[str, Any]


# Records that a record is compared with.


def searched(place: Place) -> list[Found]:
    """Return the records of the representations that were searched, and of the model that was made for them."""
    return [place.chain.record(name) for name in names_of_searched(place)]


def names_of_searched(place: Place) -> list[str]:
    """Return the paths of these records."""
    names = [name for name in part(place.record, "inputs", kind=dict) if name.endswith(".json")]
    stored = [name for name in names if name.startswith(kinds.REPRESENTATIONS) and not layout.EXPANSION_MODEL.names_in(name)]
    return [*stored, *place.named(layout.MODEL_OF_DATASET_RECORD)]


def _firsts(place: Place) -> list[Found]:
    """Return the records of the runs that a run was made from."""
    return [place.chain.record(layout.RUN_RECORD(system=system, dataset=place.dataset)) for system in place.first_stages]


def blocks_of_pairs(place: Place) -> list[Found]:
    """Return the records of the blocks of pairs that a reranker scored; none of another system."""
    return place.of(layout.PAIRS_RECORD)


def behind(place: Place) -> list[Found]:
    """Return the records of the runs and of the blocks of pairs that a run was made from."""
    return [*_firsts(place), *blocks_of_pairs(place)]


def run_behind(place: Place) -> list[Found]:
    """Return the record of the run that was measured, or whose pairs were scored."""
    return [place.beside(layout.RUN_RECORD)]


def metrics_of_forums(place: Place) -> list[Found]:
    """Return the metrics of the forums of a dataset."""
    return [place.chain.record(name) for name in part(place.record, "inputs", kind=dict)]


# What facts of one kind should be.


def configured_or_own(place: Place, key: str, found: Any) -> Iterator[Expected]:
    """Expect the configured precision, unless the machine or the model decides it."""
    wanted = configured_precision(place.chain, place.system)
    if wanted and found is not None:
        yield Expected(found, wanted, MANIFEST, [(MANIFEST, "configuration/precision", wanted)])


def searched_dimensions(place: Place) -> Any:
    """Return the number of dimensions that a variant searches, as its runs write it, where a setting states it."""
    stored = place.stated.get("stored_dimensions")
    return str(stored) if stored else SKIPPED


def is_counted_by_the_run(place: Place, name: str) -> bool:
    """Test whether no record but that of the run has a count."""
    return name == SELF_MATCHES or name.startswith(place.owner.family.counts if place.owner else ())


def kept_self_matches(place: Place) -> Any:
    """Return 0 where self matches are kept, and queries neither exclude documents nor name candidates."""
    counts = part(place.beside(layout.CORPUS), "counts", kind=dict)
    others = {EXCLUDED_PAIRS, CANDIDATE_PAIRS} & counts.keys()
    return SKIPPED if others or place.chain.corpora[place.dataset]["drop_self_matches"] else 0


def of_its_corpus(count: str) -> Relation:
    """Expect a count of its corpus, which need not have it."""
    return computed(lambda place: part(place.beside(layout.CORPUS), "counts", kind=dict).get(count), "its corpus")


def parts_of_runs(place: Place, key: str, found: Found) -> Iterator[Expected]:
    """Expect the parts of the runs that a run was made from, besides its own."""
    part(found, place.system)
    firsts, value = _firsts(place), dict[str, Any]()
    for each in firsts:
        value |= each.get("parts", {each["system"]: {kind: each.get(kind, {}) for kind in OF_A_PART}})
    others = [(str(each["path"]), kind, each.get(kind, {})) for each in firsts for kind in ("parts", *OF_A_PART)]
    of_others = {name: each for name, each in found.items() if name != place.system}
    yield Expected(of_others, value, ", ".join(str(each["path"]) for each in firsts), others)


def of_own_part(place: Place, key: str, found: Found) -> Iterator[Expected]:
    """Expect that a reranker itself took the seconds of its blocks of pairs, but for its merge."""
    if pairs := blocks_of_pairs(place):
        seconds = {name: each for name, each in part(found, place.system, "seconds", kind=dict).items() if name != MERGE}
        others = [(str(each["path"]), "seconds", each["seconds"]) for each in pairs]
        place.chain.note(place.path, f"parts/{place.system}/seconds", seconds, "its blocks of pairs")
        yield Expected(seconds, totals(pairs, "seconds"), f"{len(pairs)} blocks of pairs", others)


def made_of_runs(place: Place, key: str, found: Found) -> Iterator[Expected]:
    """Expect that a run was made by what made those behind it; a job that fuses says its own versions too."""
    for expected in merged(behind)(place, key, found):
        if not blocks_of_pairs(place):
            agree = {name: each for name, each in expected.value.items() if found.get(name) == each}
            if agree:  # else all of it would count as compared
                place.chain.note(place.path, key, agree, expected.by)
            lacks = {name: sorted({*_listed(each)} - {*_listed(found.get(name))}) for name, each in expected.value.items()}
            yield expected._replace(found={name: each for name, each in lacks.items() if each}, value={})
        else:
            place.chain.note(place.path, key, expected.found, expected.by)
            yield expected


def _listed(found: Any) -> list[Any]:
    return found if isinstance(found, list) else [found]


def with_jobs(of: Callable[[Place], list[Found]]) -> Relation:
    """Expect all jobs of some records."""

    def missing(place: Place, found: Sequence[str]) -> list[str]:
        jobs = {str(job) for each in of(place) for job in (each.get("job"), *each.get("jobs", ())) if job}
        return sorted(jobs - set(found or ()))

    return computed(lambda place: [], "the records that it was made from: these are missing", missing)


def how_tuned(place: Place) -> TunedOn | None:
    """Return the other queries that decide over the weights of a system; None for weights that are stated."""
    return place.owner.family.tuned_on(place.owner.settings) if place.owner else None


def dataset_and_split(place: Place, corpus: str) -> list[Any]:
    """Return the dataset and split of a corpus, whatever part of them it is."""
    return [*place.chain.whole(corpus), part(place.chain.corpora, corpus, "split")]


def tuned_on(place: Place) -> Any:
    """Return the other dataset on which a system is tuned, or dataset and split."""
    how = how_tuned(place)
    if how is None:
        return SKIPPED
    return how.dataset if how.split is None else [*place.chain.whole(place.dataset), how.split]


def said_of_tuning(place: Place, found: str) -> Any:
    """Return the dataset, or dataset and split, of the corpus that a record names."""
    part(place.chain.corpora, found)
    how = how_tuned(place)
    return found if how is None or how.split is None else dataset_and_split(place, found)


def score_of_weights(place: Place, found: Sequence[float]) -> float | None:
    """Return the score that the grid has for weights; None if they are not in it."""
    points = part(place.record, "tuned", "grid", kind=list)
    return {tuple(part(point, "weights", kind=list)): part(point, "score", kind=float) for point in points}.get(tuple(found))


def of_added(value: Callable[[Expansion], Any], said: Callable[[Place, Any], Any] = lambda place, found: found) -> Relation:
    """Expect what the settings of the systems with an expansion say of it; ``said`` is what of the fact is compared."""

    def follows(place: Place, key: str, found: Any) -> Iterator[Expected]:
        for system in place.chain.manifest["systems"]:
            known = stated_system(place.chain, system)
            added = known.added if known else None
            if added and added.name == place.names["expansion"]:
                yield from computed(lambda place, added=added: value(added), said=said)(place, key, found)  # type: ignore[misc]

    return follows


def of_first_chunk(place: Place, key: str, found: Any) -> Iterator[Expected]:
    """Expect what the record of the first chunk says."""
    path = layout.EXPANSION_RECORD(**{**place.names, "chunk": 0})
    value = place.chain.record(path).get(key)
    yield Expected(found, value, path, [(path, key, value)])


def is_stated(place: Place, found: Any) -> bool:
    """Return whether a fact is there."""
    return found is not None


def is_read(place: Place) -> bool:
    """Return whether a run is read from a file outside the results."""
    return bool(place.owner and place.owner.family.source(place.owner.settings, place.dataset))


def sizes_of_files(place: Place) -> Any:
    """Return the bytes of the files that a record names, by the stage that wrote them."""
    files, outputs = place.chain.listing.files, part(place.record, "outputs", kind=dict)
    is_expansion = layout.EXPANSION_RECORD.names_in(place.path) is not None
    stage = "expand" if is_expansion else "queries" if place.names.get("queries") else "index"
    return {stage: sum(files[name] for name in outputs)} if files.keys() >= outputs.keys() else SKIPPED


def rows_of_texts(place: Place) -> Any:
    """Return the number of documents of a chunk, or of queries."""
    if place.names["queries"]:
        return part(place.beside(layout.CORPUS), "counts", "queries")
    path = layout.DOCUMENTS(dataset=place.dataset)
    metadata, chunk = pq.read_metadata(place.chain.file(path)), int(place.names["chunk"])
    if chunk >= metadata.num_row_groups:
        raise RecordError(f"is of chunk {chunk}, but {path} has {metadata.num_row_groups}")
    return metadata.row_group(chunk).num_rows


def of_arrays(place: Place, key: str, found: Any) -> Iterator[Expected]:
    """Expect arrays with the rows and dimensions that their record says; only their headers are read."""
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
    return (place.owner.added if place.owner else None) if is_weighed else SKIPPED


def name_added(place: Place) -> Any:
    """Return the name of the expansion that is added; None for none."""
    added = _added(place)
    return added if added is SKIPPED else added and added.name


def files_added(place: Place) -> Any:
    """Return the paths of the files of the expansion that is added."""
    added, names = _added(place), {"dataset": place.dataset, "chunk": place.names["chunk"]}
    return added if added is SKIPPED else sorted(each(expansion=added.name, **names) for each in ADDED if added)


def settings_of_run(place: Place) -> Any:
    """Return the settings that decide over a run, with those of its record that have no value: an extension may have them."""
    manifest = place.chain.manifest
    rows = [*manifest["datasets"].values(), *manifest.get(TUNED_ON, {}).values()]
    corpus = next((corpus for row in rows for corpus in row if corpus["name"] == place.dataset), None)
    if place.owner is None or corpus is None:
        return SKIPPED
    config = part(manifest, "configuration", kind=dict)
    settings = place.owner.family.run_settings(place.settings, corpus, config, main_measure(config))
    return filled(settings, part(place.record, "settings", kind=dict))


def of_reranker(name: str) -> Relation:
    """Expect a setting of a reranker, as it is for a corpus."""
    return computed(lambda place: getattr(place.settings, name))


def number_of_blocks(place: Place) -> int:
    """Return the number of blocks of pairs that the run was made from."""
    return sum(layout.PAIRS_RECORD.names_in(name) is not None for name in run_behind(place)[0]["inputs"])


def scored_in(place: Place) -> Any:
    """Return the precision in which pairs were scored."""
    own = place.settings.has_own_precision  # that of a graph, or unknown
    return SKIPPED if own else part(place.record, "made", "precision")


def scoring(place: Place) -> Any:
    """Return the settings of the encoder that scores, those that the record has."""
    encoder = place.settings.encoder_settings
    stated = asdict(encoder) if encoder else {}
    return as_json({key: stated.get(key) for key in place.record.get("scoring") or ()})


def of_any_forum(place: Place, key: str, found: Any) -> Iterator[Expected]:
    """Expect all values of the forums."""
    values = {value for forum in metrics_of_forums(place) for value in forum.get(key, ())}
    yield Expected(found or [], sorted(values), "its forums")


def is_official(place: Place) -> bool | None:
    """Return whether the data of all forums are the official ones; None where some are not known."""
    official = [forum["official_data"] for forum in metrics_of_forums(place)]
    return False if False in official else (True if all(official) else None)
