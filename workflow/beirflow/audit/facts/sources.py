"""Do the source files outside the results still match their records?

Where they are is taken from the configuration of the person who audits, never from the results. What is not here is not checked.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from beirflow.audit.chain.chain import Chain
from beirflow.audit.chain.checks import FAILED, NOT_CHECKED, PASSED, UNREADABLE, Check, unique
from beirflow.audit.chain.reading import part, read_columns
from beirflow.audit.chain.setup import Setup
from beirflow.audit.facts.corpora import Corpora, Prepared, digests_of
from beirflow.datasets.corpus_reader import read_batches
from beirflow.datasets.judged_queries import read_judged_queries
from beirflow.datasets.sampling import drawn, judged_among, sampled_queries
from beirflow.files import layout
from beirflow.files.digests import file_digest
from beirflow.files.errors import BeirflowError
from beirflow.sources.forms import HubForm
from beirflow.sources.hub_source import is_here
from beirflow.sources.opening import open_source
from beirflow.sources.source import DatasetSource

REPAIR = "put the files back that were used; or, if these are right, run again: {again}"

TODO = "name it under custom.systems to have it compared"

SOURCES, MODELS = "corpora are those of their source", "models are those that were used"
"""Names of the checks of sources and of models."""


def check_sources(chain: Chain, setup: Setup, corpora: Corpora) -> list[Check]:
    """Compare archives, datasets, models and runs from elsewhere, where they are here, with what was recorded of them."""
    models = {path: names["system"] for path in sorted(chain.claims) if (names := layout.MODEL.names_in(path))}
    return [
        *_check_archives(chain, setup),
        *(_check_source(chain, setup, corpora, name) for name in chain.prepared),
        *(_check_model_of_system(chain, setup, path, name) for path, name in models.items()),
        *_check_training(chain),
        *_check_runs(chain, setup),
    ]


def _check_archives(chain: Chain, setup: Setup) -> list[Check]:
    """The archives have the md5 of the catalogue."""
    recorded = {
        corpus["archive"]: (row_name, corpus["md5"])
        for row_name, corpora in chain.manifest["datasets"].items()
        for corpus in corpora
    }
    checks = []
    for archive, (dataset, md5) in recorded.items():
        path = layout.ARCHIVE(archive=archive)
        if archive is None or path not in chain.listing.files:
            continue
        results = unique((system, dataset) for system, _ in chain.means.values())
        known = {corpus.md5 for corpus in setup.datasets.values() if corpus.archive == archive} or {md5}
        found = file_digest(chain.folder / path, "md5")
        status = PASSED if {found} == known == {md5} else FAILED
        expected = f"{' or '.join(sorted(map(str, known)))} in the catalogue, {md5} in the manifest"
        checks.append(
            Check(
                "archives are the official ones",
                status,
                f"{path} has the md5 {found}",
                expected,
                (path,),
                results,
                chain.repair_command(path),
            )
        )
    return checks


def _check_source(chain: Chain, setup: Setup, corpora: Corpora, name: str) -> Check:
    """The dataset that a corpus was made from is as it was, and gives the same documents, queries and judgements."""
    what, path = SOURCES, layout.CORPUS(dataset=name)
    results = chain.affected(path)
    place = _place(chain, setup, name)
    if place is None:
        todo = "name it under data_dir or custom.datasets to have it compared"
        return Check(what, NOT_CHECKED, f"the source of {name} is not here", "", (path,), results, todo)
    repair = REPAIR.format(again=chain.again(layout.SUMMARY))
    try:
        record = chain.record(path)
        expected = part(record, "source_sha256", kind=dict)
        source = open_source(place, setup.datasets[name].forum, setup.datasets[name].form)
        tables, here = _of_source(source, part(record, "split", kind=str), chain.corpora[name])
        different = _other_documents(here, corpora[name])
        for key in ("source_sha256", "assumed", "split"):
            chain.note(path, key, record.get(key), str(source.path))
        if source.digests != expected:
            found = ", ".join(f"{file} {digest}" for file, digest in source.digests.items() if expected.get(file) != digest)
            return Check(what, FAILED, f"{name}: {source.path} has {found}", f"{expected}", (path,), results, repair)
        if source.assumed != record.get("assumed", {}):
            found = f"of {name}, {source.assumed} has to be assumed"
            return Check(what, FAILED, found, f"{path} says {record.get('assumed')}", (path,), results, repair)
        if different:
            where = layout.DOCUMENTS(dataset=name)
            return chain.failed(what, where, f"{where}: {different}", f"the documents of {source.path}", results)
        for table, where in zip(tables, (layout.QUERIES(dataset=name), layout.QRELS(dataset=name)), strict=True):
            if not table.equals(read_columns(chain.file(where), where).cast(table.schema)):
                return chain.failed(what, where, f"{where} is not what {source.path} holds", "the same rows", results)
    except pa.ArrowInvalid as error:
        files = layout.QUERIES(dataset=name), layout.QRELS(dataset=name)
        return chain.unreadable(what, files[0].rpartition("/")[0], error, results, chain.repair_command(*files))
    except (BeirflowError, *UNREADABLE) as error:
        return chain.unreadable(what, path, error, results, None if getattr(error, "path", None) else repair)
    same = f"{len(corpora[name].ids):,} documents, the queries and the judgements are the same"
    return Check(what, PASSED, f"{name}: {', '.join(expected)} in {source.path}; {same}", files=(path,))


def _of_source(source: DatasetSource, split: str, corpus: Mapping[str, Any]) -> tuple[tuple[pa.Table, pa.Table], np.ndarray]:
    """Return the queries, judgements and document digests that a corpus must share with its source."""
    tables = read_judged_queries(source, split)
    digests, ids = [np.empty((0, 2), np.uint64)], [pa.array([], pa.string())]
    for batch in read_batches(source, threads=1):
        columns = [batch.documents[key].to_pylist() for key in ("doc_id", "text", "title_bytes")]
        digests.append(digests_of(*columns))
        ids.append(batch.documents["doc_id"])
    here = np.concatenate(digests)
    if corpus.get("sample_documents"):
        doc_ids = pa.chunked_array(ids).combine_chunks()
        rows = drawn(doc_ids.to_pylist(), wanted=corpus["sample_documents"], seed=part(corpus, "documents_seed", kind=int))
        tables, here = judged_among(*tables, doc_ids.take(pa.array(rows))), here[rows]
    if corpus.get("sample_queries"):
        tables = sampled_queries(*tables, wanted=corpus["sample_queries"], seed=part(corpus, "sample_seed", kind=int))
    return tables, here


def _other_documents(here: np.ndarray, prepared: Prepared) -> str:
    """Return the difference between a source's documents, given by their digests, and the prepared ones; empty without one."""
    if len(here) != len(prepared.ids):
        return f"{len(prepared.ids):,} documents, the source has {len(here):,}"
    strange = np.flatnonzero(~_among(prepared.digests, here))
    if len(strange):
        return f"{len(strange):,} documents are not those of the source, the first is {prepared.ids[int(strange[0])].as_py()!r}"
    return ""


def _among(rows: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Test whether each row, two numbers, is among others; bool of shape (rows,)."""
    pair = np.dtype([("first", np.uint64), ("second", np.uint64)])
    return np.isin(np.ascontiguousarray(rows).view(pair).ravel(), np.ascontiguousarray(others).view(pair).ravel())


def _place(chain: Chain, setup: Setup, name: str) -> str | None:
    """Return the place of a dataset: the configured one, or the archive in the results; None if neither is here."""
    if name not in setup.datasets:
        return None
    form = setup.datasets[name].form
    if isinstance(form, HubForm):
        record = chain.folder / layout.HUB_DATASET(dataset=name)
        return str(record) if is_here(record, form) else None
    places = [setup.folder(name), str(chain.folder / layout.ARCHIVE(archive=setup.datasets[name].archive or ""))]
    return next((place for place in places if place and Path(place).exists()), None)


def _check_model_of_system(chain: Chain, setup: Setup, path: str, name: str) -> Check:
    known = setup.systems.get(name)
    if known is None or setup.families[known.family].model_record(known.settings) is None:
        return check_model(chain, path, name, None, dict)
    settings = known.settings
    return check_model(chain, path, name, settings.source, lambda: setup.families[known.family].model_digests(settings))


def check_model(chain: Chain, path: str, name: str, source: str | None, digests: Callable[[], Mapping[str, str]]) -> Check:
    """Compare the files of the model at ``source``, None where that is not known, with those that its record names."""
    results = chain.affected(path)
    try:
        recorded = part(chain.record(path), "files", kind=dict)
        if source is None:
            return Check(MODELS, NOT_CHECKED, f"it is not known here where the model of {name} is", "", (path,), results, TODO)
        found = digests()
    except BeirflowError as error:
        return Check(MODELS, NOT_CHECKED, f"the model of {name} is not here: {error}", "", (path,), results)
    except UNREADABLE as error:
        return chain.unreadable(MODELS, path, error, results, chain.repair_command(path))
    chain.note(path, "files", recorded, source)
    wrong = [file for file in sorted({*found, *recorded}) if found.get(file) != recorded.get(file)]
    if wrong:
        differs = f"{', '.join(wrong)} of {source} is not what {path} names, so the numbers cannot be made again with it"
        expected = ", ".join(f"{file} {recorded.get(file)}" for file in wrong)
        return Check(MODELS, FAILED, differs, expected, (path,), results, REPAIR.format(again=chain.again(layout.SUMMARY)))
    return Check(MODELS, PASSED, f"{name}: {len(found)} files of {source}", files=(path,))


def _check_training(chain: Chain) -> Iterator[Check]:
    """Note that the weights of a trained model are not checked against its training, which would take as long again."""
    for path in sorted(chain.claims):
        if names := layout.TRAINED_MODEL_RECORD.names_in(path):
            problem = f"the training of {names['system']} on {names['dataset']} was not made again"
            yield Check("trained models are what their training gives", NOT_CHECKED, problem, "", (path,), chain.affected(path))


def _check_runs(chain: Chain, setup: Setup) -> Iterator[Check]:
    """The files of runs that were made elsewhere are those that were read."""
    what = "runs of elsewhere are those that were read"
    for name, dataset in chain.runs:
        path, entry = layout.RUN_RECORD(system=name, dataset=dataset), part(chain.manifest, "systems", name, kind=dict)
        recorded = (chain.records.get(path) or {}).get("source_sha256")
        family = setup.families.get(str(entry.get("family")))
        from_file = family is not None and family.source(setup.system_as_stated(name, entry).settings, dataset) is not None
        if recorded is None and not (from_file and chain.records.get(path)):
            continue
        if recorded is None:
            yield chain.failed(what, path, f"{path} does not say which file was read", "its sha256")
            continue
        known = name in setup.systems and dataset in setup.datasets
        source = setup.run_file(name, dataset) if known else None
        if source is None or not Path(source).is_file():
            yield Check(what, NOT_CHECKED, f"the file of {name} on {dataset} is not here", "", (path,), (), TODO)
            continue
        chain.note(path, "source_sha256", recorded, source)
        found = file_digest(source)
        if found == recorded:
            yield Check(what, PASSED, f"{source} has the sha256 {found}", files=(path,))
        else:
            repair = REPAIR.format(again=chain.again(layout.SUMMARY))
            says = f"{path} says {recorded}"
            yield Check(what, FAILED, f"{source} has the sha256 {found}", says, (path,), chain.affected(path), repair)
