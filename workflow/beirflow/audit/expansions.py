"""Are the models and files that expansions came from still those that were recorded?"""

from collections.abc import Iterator
from pathlib import Path

from beirflow.audit.chain import Chain
from beirflow.audit.checks import FAILED, NOT_CHECKED, PASSED, UNREADABLE, Check, unique, unreadable
from beirflow.audit.reading import part
from beirflow.audit.sources import MODELS, REPAIR
from beirflow.expansions.models import expansion_digests
from beirflow.expansions.settings import Expansion
from beirflow.experiment.expansions import Adding
from beirflow.experiment.experiment import Experiment
from beirflow.experiment.systems import make_system
from beirflow.files.digests import file_digest
from beirflow.files.errors import BeirflowError
from beirflow.files.layout import EXPANSION_MODEL, EXPANSION_RECORD, SUMMARY

FILES = "expansions are those of their files"
SOURCE = "expansion_source_sha256"
TODO = "name it under custom.systems to have it compared"


def check_expansions(chain: Chain, experiment: Experiment) -> list[Check]:
    """Compare models and files with what was recorded of them.

    Args:
        chain: What records say.
        experiment: The configuration of the person who audits, which says where they are.

    Returns:
        A check for every model, and for every file.
    """
    here = _here(chain, experiment)
    models = {path: found["expansion"] for path in sorted(chain.claims) if (found := EXPANSION_MODEL.names_in(path))}
    return [*(_check_model(chain, path, name, here) for path, name in models.items()), *_check_files(chain, here, experiment)]


def added_by(chain: Chain, name: str) -> Expansion | None:
    """What the manifest says that a system adds to documents.

    Args:
        chain: What records say.
        name: The system.

    Returns:
        The expansion; None where nothing is added.
    """
    recorded = part(chain.manifest, "systems", name, kind=dict)
    said = {key: value for key, value in part(recorded, "settings", kind=dict).items() if key != "name"}
    settings = make_system(name, {"family": recorded["family"], **said}).settings
    return settings.added if isinstance(settings, Adding) else None


def _here(chain: Chain, experiment: Experiment) -> dict[str, Expansion]:
    """By the name that an expansion has in the results, what the configuration of the person who audits says of it."""
    found = {}
    for name, recorded in part(chain.manifest, "systems", kind=dict).items():
        known = experiment.systems.get(name)
        if known and recorded.get("family") == known.family and isinstance(known.settings, Adding):
            added = added_by(chain, name)
            if added and known.settings.added:
                found[added.name] = known.settings.added
    return found


def _check_model(chain: Chain, path: str, name: str, here: dict[str, Expansion]) -> Check:
    """The files of a model are those that were used."""
    results = unique(chain.results.get(path, ()))
    if name not in here:
        return Check(MODELS, NOT_CHECKED, f"it is not known here where the model of {name} is", "", (path,), results, TODO)
    try:
        recorded, found = part(chain.record(path), "files", kind=dict), expansion_digests(here[name])
    except BeirflowError as error:
        return Check(MODELS, NOT_CHECKED, f"the model of {name} is not here: {error}", "", (path,), results)
    except UNREADABLE as error:
        return unreadable(MODELS, path, error, results, chain.repair_command(path))
    wrong = [file for file in sorted({*found, *recorded}) if found.get(file) != recorded.get(file)]
    if wrong:
        differs = f"{', '.join(wrong)} of {here[name].model} is not what {path} names, so it cannot be made again with it"
        expected = ", ".join(f"{file} {recorded.get(file)}" for file in wrong)
        return Check(MODELS, FAILED, differs, expected, (path,), results, REPAIR.format(again=chain.again(SUMMARY)))
    return Check(MODELS, PASSED, f"{name}: {len(found)} files of {here[name].model}", files=(path,))


def _check_files(chain: Chain, here: dict[str, Expansion], experiment: Experiment) -> Iterator[Check]:
    """The files of expansions that were made elsewhere are those that were read."""
    digests: dict[Path, str] = {}
    for path in sorted(chain.claims):
        names, record = EXPANSION_RECORD.names_in(path), chain.records.get(path) or {}
        if not names or SOURCE not in record:
            continue
        results, added = unique(chain.results[path]), here.get(names["expansion"])
        corpus = experiment.datasets.get(names["dataset"])
        source = added.file(corpus.whole_name if corpus else names["dataset"]) if added else None
        if source is None or not source.is_file():
            found = f"the file of {names['expansion']} on {names['dataset']} is not here"
            yield Check(FILES, NOT_CHECKED, found, "", (path,), results, TODO)
            continue
        digests[source] = digests.get(source) or file_digest(source)
        said = f"{source} has the sha256 {digests[source]}"
        if digests[source] == record[SOURCE]:
            yield Check(FILES, PASSED, said, files=(path,))
        else:
            expected, repair = f"{path} says {record[SOURCE]}", REPAIR.format(again=chain.again(SUMMARY))
            yield Check(FILES, FAILED, said, expected, (path,), results, repair)
