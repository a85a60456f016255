"""Are the files outside the results, which they came from, still those that were recorded?

Where they are is taken from the configuration of the person who audits, never from the results. What is not here is not checked.
"""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from beirflow.audit.chain import Chain, part
from beirflow.audit.checks import FAILED, NOT_CHECKED, PASSED, UNREADABLE, Check, unique, unreadable
from beirflow.datasets.beir_files import Source
from beirflow.datasets.judged_queries import read_judged_queries
from beirflow.experiment.experiment import Experiment
from beirflow.files.digests import file_digest
from beirflow.files.errors import BeirflowError
from beirflow.files.layout import ARCHIVE, CORPUS, MODEL, QRELS, QUERIES, SUMMARY
from beirflow.models.model_files import model_digests

REPAIR = f"put the files back that were used; or, if these are right, run again: snakemake --cores 2 {{results}}/{SUMMARY}"


def check_sources(chain: Chain, experiment: Experiment) -> list[Check]:
    """Compare archives, datasets and models with what was recorded of them.

    Args:
        chain: What records say.
        experiment: The configuration of the person who audits, which says where the files are.

    Returns:
        A check for every archive, dataset and model.
    """
    corpora = {dataset for _, dataset in chain.evaluated}
    models = {path: names["system"] for path in sorted(chain.claims) if (names := MODEL.names_in(path))}
    return [
        *_check_archives(chain, experiment),
        *(_check_source(chain, experiment, name) for name in sorted(corpora)),
        *(_check_model(chain, experiment, path, name) for path, name in models.items()),
    ]


def _check_archives(chain: Chain, experiment: Experiment) -> list[Check]:
    """The archives have the md5 of the catalogue."""
    recorded = {
        corpus["archive"]: (row_name, corpus["md5"])
        for row_name, corpora in chain.manifest["datasets"].items()
        for corpus in corpora
    }
    checks = []
    for archive, (dataset, md5) in recorded.items():
        path = ARCHIVE(archive=archive)
        if archive is None or not (chain.folder / path).is_file():
            continue
        results = unique((system, dataset) for system in chain.manifest["systems"])
        known = {corpus.md5 for corpus in experiment.datasets.values() if corpus.archive == archive} or {md5}
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


def _check_source(chain: Chain, experiment: Experiment, name: str) -> Check:
    """The dataset that a corpus was made from is as it was, and gives the same queries and judgements."""
    what, path = "corpora are those of their source", CORPUS(dataset=name)
    results = unique(chain.results.get(path, ()))
    place = _place(chain, experiment, name)
    if place is None:
        todo = "name it under data_dir or custom.datasets to have it compared"
        return Check(what, NOT_CHECKED, f"the source of {name} is not here", "", (path,), results, todo)
    repair = REPAIR.format(results=chain.shown)
    try:
        record = chain.record(path)
        expected = part(record, "source_sha256", kind=dict)
        source = Source(place, experiment.datasets[name].forum)
        tables = read_judged_queries(source, part(record, "split", kind=str))
        for _ in source.blocks("corpus.jsonl"):
            pass
        if source.digests != expected:
            wrong = ", ".join(key for key in sorted({*source.digests, *expected}) if source.digests.get(key) != expected.get(key))
            found = f"{source.path}: {wrong} of {name} is not what {path} was made from"
            return Check(what, FAILED, found, f"{expected}", (path,), results, repair)
        for table, where in zip(tables, (QUERIES(dataset=name), QRELS(dataset=name)), strict=True):
            if not table.equals(pq.read_table(chain.folder / where).cast(table.schema)):
                return Check(
                    what,
                    FAILED,
                    f"{where} is not what {source.path} holds",
                    "the same rows",
                    (where,),
                    results,
                    chain.repair_command(where),
                )
        official = dict(experiment.datasets[name].files)
        if part(record, "official") is True and any(source.digests.get(key) != digest for key, digest in official.items()):
            return Check(what, FAILED, f"{path} says that these are the official data", f"{official}", (path,), results, repair)
    except pa.ArrowInvalid as error:
        files = QUERIES(dataset=name), QRELS(dataset=name)
        return unreadable(what, files[0].rpartition("/")[0], error, results, chain.repair_command(*files))
    except (BeirflowError, *UNREADABLE) as error:
        return unreadable(what, path, error, results, repair)
    return Check(
        what, PASSED, f"{name}: {', '.join(expected)} in {source.path}; queries and judgements are the same", files=(path,)
    )


def _place(chain: Chain, experiment: Experiment, name: str) -> str | None:
    """Where a dataset is: what the configuration says, or the archive in the results; None if neither is here."""
    if name not in experiment.datasets:
        return None
    places = [experiment.folder(name), str(chain.folder / ARCHIVE(archive=experiment.datasets[name].archive or ""))]
    return next((place for place in places if place and Path(place).exists()), None)


def _check_model(chain: Chain, experiment: Experiment, path: str, name: str) -> Check:
    """The files of a model are those that were used."""
    what, results = "models are those that were used", unique(chain.results.get(path, ()))
    try:
        recorded = part(chain.record(path), "files", kind=dict)
        if name not in experiment.systems_with_models:
            todo = "name it under custom.systems to have it compared"
            return Check(what, NOT_CHECKED, f"it is not known here where the model of {name} is", "", (path,), results, todo)
        settings = experiment.systems[name].settings
        found = model_digests(settings)
    except BeirflowError as error:
        return Check(what, NOT_CHECKED, f"the model of {name} is not here: {error}", "", (path,), results)
    except UNREADABLE as error:
        return unreadable(what, path, error, results, chain.repair_command(path))
    wrong = [file for file in sorted({*found, *recorded}) if found.get(file) != recorded.get(file)]
    if wrong:
        differs = f"{', '.join(wrong)} of {settings.source} is not what {path} names, so the numbers cannot be made again with it"
        expected = ", ".join(f"{file} {recorded.get(file)}" for file in wrong)
        return Check(what, FAILED, differs, expected, (path,), results, REPAIR.format(results=chain.shown))
    return Check(what, PASSED, f"{name}: {len(found)} files of {settings.source}", files=(path,))
