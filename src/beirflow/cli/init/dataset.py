"""The entry of a dataset of the user's own."""

from pathlib import Path, PurePosixPath

from beirflow.cli.init.entry import Entry, safe_name


def dataset_entry(text: str) -> Entry | None:
    """Return the entry of a dataset in a folder or an archive; None for an empty text."""
    from beirflow.core.errors import ConfigError
    from beirflow.data.catalogue.catalogue import load_catalogue
    from beirflow.data.sources.archives import is_archive
    from beirflow.data.sources.beir_files import required_files
    from beirflow.data.sources.source import CORPUS

    if not text:
        return None
    place = Path(text).expanduser()
    if not place.exists():
        raise ConfigError(
            f"{text}: there is no such folder; expected one in BEIR form: corpus.jsonl, queries.jsonl, qrels/test.tsv"
        )
    name = safe_name(place.stem if is_archive(place) else place.resolve().name, load_catalogue().known_datasets)
    has_forums = not is_archive(place) and not (place / CORPUS).is_file()
    forums = sorted(each.parent.name for each in place.glob(f"*/{CORPUS}")) if has_forums else []
    splits = set.intersection(*(_splits_in(place / forum) for forum in forums or [""]))
    # test is the default
    split = next((each for each in ("test", "dev", *sorted(splits)) if each in splits), "test")
    if not is_archive(place):
        try:
            for forum in forums or (None,):
                required_files(place, forum, split)
        except ConfigError as error:
            todo = "; other forms, such as labelled documents or a hub, are in docs/datasets.md"
            raise ConfigError(f"{error}{todo}") from error
    entry = {"path": str(place), **({"forums": forums} if forums else {}), **({"split": split} if split != "test" else {})}
    assumed = [f"{name} is one dataset with the forums {', '.join(forums)}, whose scores are averaged"] if forums else []
    assumed += [f"the split {split} of {name}, which has no qrels/test.tsv"] if split != "test" else []
    return Entry(name, entry, tuple(assumed))


def _splits_in(place: Path) -> set[str]:
    """Return the splits of the dataset in a folder or an archive."""
    from beirflow.data.sources.archives import is_archive, open_archive
    from beirflow.data.sources.source import qrels_of

    if not is_archive(place):
        return {path.stem for path in place.glob(qrels_of("*"))}
    with open_archive(place) as archive:
        return {path.stem for path in map(PurePosixPath, archive.namelist()) if path.match(qrels_of("*"))}
