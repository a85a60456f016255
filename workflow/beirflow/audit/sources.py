"""Are the files outside the results, which they came from, still those that were recorded?

Where they lie is taken from the configuration of whoever audits, never from the results. What is not here is not checked.
"""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from beirflow.audit.chain import Chain, part
from beirflow.audit.checks import FAILED, NOT_CHECKED, PASSED, UNREADABLE, Check, RecordError, damaged, row
from beirflow.datasets.beir_files import Source
from beirflow.datasets.judged_queries import read_judged_queries
from beirflow.experiment.experiment import Experiment
from beirflow.files.digests import file_digest
from beirflow.files.errors import BeirflowError
from beirflow.models.model_files import model_digests, model_folder

REPAIR = "put the files back that were used; or, if these are right, run again: snakemake --cores 2 {results}/summary.csv"


def check_origins(chain: Chain, experiment: Experiment) -> list[Check]:
    """Compare archives, datasets and models with what was recorded of them.

    Args:
        chain: What records say.
        experiment: The configuration of whoever audits, which says where the files are.

    Returns:
        A check for every archive, dataset and model.
    """
    corpora = {dataset for _, dataset in chain.evaluated}
    return [
        *_check_archives(chain, experiment),
        *(_check_source(chain, experiment, name) for name in sorted(corpora)),
        *(_check_model(chain, experiment, name) for name in chain.manifest["systems"]),
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
        path = f"data/{archive}.zip"
        if archive is None or not (chain.folder / path).is_file():
            continue
        numbers = row((system, dataset) for system in chain.manifest["systems"])
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
                numbers,
                chain.again(path),
            )
        )
    return checks


def _check_source(chain: Chain, experiment: Experiment, name: str) -> Check:
    """The dataset that a corpus was made from is as it was, and gives the same queries and judgements."""
    what, path = "corpora are those of their source", f"corpora/{name}/corpus.json"
    numbers = row(chain.numbers.get(path, ()))
    place = _place(chain, experiment, name)
    if place is None:
        todo = "name it under data_dir or custom.datasets to have it compared"
        return Check(what, NOT_CHECKED, f"the source of {name} is not here", "", (path,), numbers, todo)
    repair = REPAIR.format(results=chain.shown)
    try:
        record = chain.records[path]
        expected = part(record, "source_sha256", kind=dict)
        source = Source(place, experiment.datasets[name].forum)
        tables = read_judged_queries(source, part(record, "split", kind=str))
        for _ in source.blocks("corpus.jsonl"):
            pass
        if source.digests != expected:
            wrong = ", ".join(key for key in sorted({*source.digests, *expected}) if source.digests.get(key) != expected.get(key))
            found = f"{source.path}: {wrong} of {name} is not what {path} was made from"
            return Check(what, FAILED, found, f"{expected}", (path,), numbers, repair)
        for table, file in zip(tables, ("queries.parquet", "qrels.parquet"), strict=True):
            if not table.equals(pq.read_table(chain.folder / f"corpora/{name}/{file}").cast(table.schema)):
                where = f"corpora/{name}/{file}"
                return Check(
                    what,
                    FAILED,
                    f"{where} is not what {source.path} holds",
                    "the same rows",
                    (where,),
                    numbers,
                    chain.again(where),
                )
        official = dict(experiment.datasets[name].files)
        if part(record, "official") is True and any(source.digests.get(key) != digest for key, digest in official.items()):
            return Check(what, FAILED, f"{path} says that these are the official data", f"{official}", (path,), numbers, repair)
    except pa.ArrowInvalid as error:
        damageable = [f"corpora/{name}/{file}" for file in ("queries.parquet", "qrels.parquet")]
        return damaged(what, f"corpora/{name}", error, numbers, chain.again(*damageable))
    except (BeirflowError, RecordError, *UNREADABLE) as error:
        return damaged(what, path, error, numbers, repair)
    return Check(
        what, PASSED, f"{name}: {', '.join(expected)} in {source.path}; queries and judgements are the same", files=(path,)
    )


def _place(chain: Chain, experiment: Experiment, name: str) -> str | None:
    """Where a dataset lies: what the configuration says, or the archive in the results; None if neither is here."""
    if name not in experiment.datasets:
        return None
    places = [experiment.folder(name), str(chain.folder / f"data/{experiment.datasets[name].archive}.zip")]
    return next((place for place in places if place and Path(place).exists()), None)


def _check_model(chain: Chain, experiment: Experiment, name: str) -> Check:
    """The files of a model are those that encoded."""
    what, path = "models are those that encoded", f"models/{name}.json"
    numbers = row(chain.numbers.get(path, ()))
    try:
        record = chain.records.get(path)
        recorded = part(record, "sha256", kind=dict)
        if name not in experiment.systems:
            todo = "name it under custom.systems to have it compared"
            return Check(what, NOT_CHECKED, f"where the model of {name} lies is not known here", "", (path,), numbers, todo)
        system = experiment.systems[name]
        found = model_digests(model_folder(system), system)
    except BeirflowError as error:
        return Check(what, NOT_CHECKED, f"the model of {name} is not here: {error}", "", (path,), numbers)
    except (RecordError, *UNREADABLE) as error:
        return damaged(what, path, error, numbers, chain.again(path))
    wrong = [file for file in sorted({*found, *recorded}) if found.get(file) != recorded.get(file)]
    if wrong:
        what_is = f"{', '.join(wrong)} of {system.model} is not what {path} names, so the numbers cannot be made again with it"
        return Check(
            what,
            FAILED,
            what_is,
            ", ".join(f"{file} {recorded.get(file)}" for file in wrong),
            (path,),
            numbers,
            REPAIR.format(results=chain.shown),
        )
    return Check(what, PASSED, f"{name}: {len(found)} files of {system.model}", files=(path,))
