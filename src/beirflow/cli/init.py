"""``beirflow init``: write a commented configuration, from answers on a terminal or from options."""

import re
import shlex
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, TypeVar

HELP = "write a commented my.yaml, from questions or from options"

HUB_PATIENCE = 5.0  # seconds in which the hub tells the revision of a model
COMMIT = re.compile(r"[0-9a-f]{40}")
ASSUMED: Mapping[str, str] = {"pooling": "mean", "similarity": "cosine", "query_prefix": "", "document_prefix": ""}
"""Settings that the files of a model may leave open, and what is written then, marked."""

DATASET, SYSTEM, RESULTS = "scifact", "bm25", "results"  # without an answer

Answer = TypeVar("Answer")


class Entry(NamedTuple):
    """An entry of ``custom``, or a name of the catalogue."""

    name: str
    entry: dict[str, Any]  # empty for a name of the catalogue
    assumed: tuple[str, ...] = ()  # sentences on what was assumed of it


def add_arguments(parser: ArgumentParser) -> None:
    """Add what the command takes."""
    add = parser.add_argument
    add("file", nargs="?", default="my.yaml", metavar="my.yaml", help="the file that is written; my.yaml by default")
    add("--systems", metavar="NAMES", help="systems of the catalogue, with commas between; bm25 by default")
    add("--datasets", metavar="NAMES", help="datasets of the catalogue, with commas between; scifact without a --corpus")
    add("--corpus", metavar="FOLDER", help="a dataset of your own, a folder or .zip in BEIR form")
    add("--model", metavar="FOLDER", help="a model of your own, a folder or an id of the hub, perhaps with @revision")
    add(
        "--family",
        metavar="FAMILY",
        help="the family of the model, if its files do not tell: dense, sparse, late-interaction, rerank",
    )
    add("--results", metavar="FOLDER", help="the folder of all results; results by default")
    add("--yes", "-y", action="store_true", help="ask nothing; take the defaults")
    add("--force", action="store_true", help="replace the file if it is there")
    parser.epilog = "Example: beirflow init my.yaml --corpus /data/my-corpus --model /models/my-encoder"


def main(options: Namespace) -> int:
    """Ask, or take the options, and write the file. Raises ConfigError, and writes nothing, if something cannot be used."""
    from beirflow.config.load import load_experiment
    from beirflow.core.errors import ConfigError
    from beirflow.core.outside_yaml import parse_yaml

    path = Path(options.file)
    _check_place(path, force=options.force)
    ask = _Questions(asks=not options.yes and sys.stdin.isatty() and sys.stdout.isatty())
    question = "Your own dataset, a folder or .zip with corpus.jsonl, queries.jsonl and qrels (empty: none)"
    corpus = ask.answer(options.corpus, question, "", _dataset)
    question = "Datasets of BEIR, with commas (beirflow list datasets)"
    datasets = ask.answer(options.datasets, question, "" if corpus else DATASET, partial(_names, "datasets"))
    if not datasets and not corpus:
        raise ConfigError("no dataset: name some of the catalogue with --datasets, or one of your own with --corpus")
    question = "Your own model, a folder or an id of the hub (empty: none)"
    model = ask.answer(options.model, question, "", lambda text: _model(text, options.family, ask))
    question = "Systems of the catalogue, with commas (beirflow list systems)"
    systems = ask.answer(options.systems, question, SYSTEM, partial(_names, "systems"))
    folder = RESULTS if path.stem == "my" else f"{RESULTS}/{path.stem}"
    results = ask.answer(options.results, "Folder of the results", folder, _folder)
    text = configuration(path, systems, datasets, model, corpus, results)
    load_experiment(parse_yaml(text))  # what cannot be used is not written
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{path} cannot be written ({error}); name another file: beirflow init other.yaml") from error
    for line in (*ask.taken, *(each for entry in (corpus, model) if entry for each in entry.assumed)):
        sys.stdout.write(f"Assumed: {line}\n")
    sys.stdout.write(f"Wrote {path}. Next: beirflow try {shlex.quote(str(path))}\n")
    return 0


class _Questions:
    """Questions on a terminal; without one, defaults, which ``taken`` has in words."""

    def __init__(self, *, asks: bool) -> None:
        self.asks = asks
        self.taken: list[str] = []

    def answer(self, given: str | None, question: str, default: str, read: Callable[[str], Answer]) -> Answer:
        """Return what an option, an answer, or the default means; ask again after an answer that cannot be used."""
        from beirflow.core.errors import BeirflowError, ConfigError

        if given is not None:
            return read(given.strip())
        if not self.asks:
            if default:
                self.taken.append(f"{question.partition(',')[0].partition(' (')[0]}: {default}")
            return read(default)
        while True:
            try:
                text = input(f"{question}{f' [{default}]' if default else ''}: ")
            except EOFError:
                raise ConfigError("the answers ended; nothing was written. Options answer without questions: --yes") from None
            try:
                return read(text.strip() or default)
            except BeirflowError as error:
                sys.stdout.write(f"  {error}\n")


def _check_place(path: Path, *, force: bool) -> None:
    """Raise ConfigError if a file cannot be written there, or is there already."""
    from beirflow.core.errors import ConfigError

    if path.suffix not in (".yaml", ".yml"):
        raise ConfigError(f"{path}: expected a name that ends in .yaml, such as my.yaml")
    if path.is_dir() or not path.parent.is_dir():
        what = "is a folder" if path.is_dir() else f"there is no folder {path.parent}"
        raise ConfigError(f"{path}: {what}; expected the name of a new file")
    if path.exists() and not force:
        raise ConfigError(f"{path} is there already and stays as it is; name another file, or replace it: --force")


def _names(kind: str, text: str) -> list[str]:
    """Read names of the catalogue, and check them."""
    from beirflow.config.load import load_experiment

    names = [name for name in re.split(r"[,\s]+", text.strip("[] ")) if name]
    if names:
        load_experiment({"systems": [SYSTEM], "datasets": [DATASET], kind: names if names != ["all"] else "all"})
    return names


def _folder(text: str) -> str:
    from beirflow.core.errors import ConfigError

    folder = Path(text).expanduser()
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{text} is a file; expected a folder, which need not be there")
    return str(folder)


def _dataset(text: str) -> Entry | None:
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
    name = _name(place.stem if is_archive(place) else place.resolve().name, load_catalogue().known_datasets)
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


def _name(text: str, known: Mapping[str, Any] | Sequence[str]) -> str:
    """Return a name for a folder: letters, digits and hyphens, and none that the catalogue has."""
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", text).strip("-_") or "mine"
    return f"my-{name}" if name in known else name


def _model(text: str, family: str | None, ask: "_Questions") -> Entry | None:
    """Return the entry of a model in a folder, a package or on the hub; None for an empty text."""
    from beirflow.config.systems import catalogue_systems
    from beirflow.core.errors import ConfigError
    from beirflow.models.model_places import HUB_ID, PACKAGE, absent, local_folder
    from beirflow.models.settings import ModelSettings

    if not text:
        return None
    model, _, revision = text.partition("@") if HUB_ID.fullmatch(text.partition("@")[0]) else (text, "", "")
    systems = catalogue_systems()
    if model in systems:
        return Entry(model, {})
    path = Path(model).expanduser()
    place = model if model.startswith(PACKAGE) or not path.exists() else str(path)
    # A reranker may name a system in place of a folder.
    place = f"./{place}" if path.exists() and "/" not in place and not model.startswith(PACKAGE) else place
    last = [part for part in model.rstrip("/").split("/") if part not in ("", "model", ".", "..")][-1:] or [path.resolve().name]
    name = _name(last[0].removeprefix(PACKAGE), systems)
    folder = local_folder(ModelSettings(name=name, model=place))
    if folder is not None and not folder.is_dir():
        raise ConfigError(f"{text}: {absent(place, example='intfloat/e5-base-v2')}")
    if folder is not None:
        return _of_folder(name, place, folder, family, ask)
    of_models = {each: system.settings for each, system in systems.items() if isinstance(system.settings, ModelSettings)}
    same = next((each for each, settings in of_models.items() if settings.source == model), None)
    if same and not revision:
        return Entry(same, {}, (f"{model} is {same} of the catalogue, with its revision and settings",))
    return _of_hub(name, model, revision, family)


def _of_folder(name: str, place: str, folder: Path, family: str | None, ask: "_Questions") -> Entry:
    """Return the entry of a model whose files are here: its family by them, and what they leave open."""
    from beirflow.config.families import DEFAULT
    from beirflow.core.outside_json import read_optional
    from beirflow.models.card_files import read_card
    from beirflow.models.card_modules import MODEL_CONFIG, family_of_class, transformer_config
    from beirflow.models.model_json import COLBERT, LIBRARY_CONFIG, MODULES, listed_modules

    classes = [str(read_optional(folder / LIBRARY_CONFIG).get("model_type") or "")]
    if (folder / MODULES).is_file():
        classes += [module.type for module in listed_modules(folder)]
    else:
        architectures = read_optional(folder / MODEL_CONFIG).get("architectures")
        classes += [*map(str, architectures or []), *(["ColBERT"] if (folder / COLBERT).is_file() else [])][::-1]
    found = next(filter(None, map(family_of_class, classes)), DEFAULT)
    entry = _of_family(family or found, place)
    if entry.get("family"):
        return Entry(name, entry, (f"{name} is a system of family {entry['family']}, by its files",) if not family else ())
    open_settings = read_card(folder).open
    assumed = list[str]()
    for key, why in open_settings.items():
        value: Any = ASSUMED.get(key)
        if key == "max_length":
            value = transformer_config(folder).get("max_seq_length")
        if ask.asks:
            value = ask.answer(None, f"{key} of this model, which its files do not say ({why})", str(value), str)
            value = int(value) if key == "max_length" and value.isdigit() else value
        else:
            assumed.append(f"{key} {value!r} of {name}: {why}; see its card or paper")
        entry[key] = value
    return Entry(name, entry, tuple(assumed))


def _of_family(family: str, place: str) -> dict[str, Any]:
    """Return the entry of a model of a family, which is left out where it is the usual one."""
    from beirflow.config.families import DEFAULT, FAMILIES
    from beirflow.core.errors import ConfigError
    from beirflow.data.catalogue.schema import choices
    from beirflow.families.rerank.kinds import CLASSIFIER
    from beirflow.models.card_modules import family_of_class
    from beirflow.models.settings import ModelSettings

    takes_model = [name for name, each in FAMILIES.items() if issubclass(each.settings, ModelSettings)]
    if family not in takes_model:
        raise ConfigError(f"family: found {family!r}; of a model, {choices(family, takes_model)}; docs/families.md has all")
    if family == DEFAULT:
        return {"model": place}
    reranks = family == family_of_class(CLASSIFIER)
    return {"family": family, **({"first": SYSTEM, "depth": 100} if reranks else {}), "model": place}


def _of_hub(name: str, model: str, revision: str, family: str | None) -> Entry:
    """Return the entry of a model on the hub, pinned to a revision, which the hub tells if it is not given."""
    from beirflow.config.families import DEFAULT
    from beirflow.core.errors import ConfigError
    from beirflow.models.card_modules import family_of_class
    from beirflow.models.model_places import unpinned

    assumed = list[str]()
    classes = list[str]()
    if not COMMIT.fullmatch(revision):
        from huggingface_hub import HfApi

        from beirflow.core.addresses import keep_secrets_of_hub

        keep_secrets_of_hub()
        try:
            info = HfApi().model_info(model, revision=revision or None, timeout=HUB_PATIENCE)
        except Exception as error:  # of the HTTP library, whichever it is
            todo = f"or write it behind the name: {model}@<40 digits>"
            problem = f"the hub did not return it ({type(error).__name__})"
            raise ConfigError(f"{model}: {unpinned(model)}; {problem}, {todo}") from error
        revision = str(info.sha)
        assumed.append(f"revision {revision} of {model}, the newest")
        classes = [*(info.tags or []), *map(str, (info.config or {}).get("architectures") or [])]
    of_tags = {"sparse-encoder": "SparseEncoder", "cross-encoder": "CrossEncoder", "ColBERT": "ColBERT"}
    if "sentence-transformers" in classes:
        classes = [of_tags[each] for each in classes if each in of_tags]
    found = next(filter(None, map(family_of_class, classes)), DEFAULT)
    entry = {**_of_family(family or found, model), "revision": revision}
    if not family:
        assumed.append(f"{name} is a system of family {found}; `beirflow try` says if its files are of another")
    return Entry(name, entry, tuple(assumed))


def configuration(
    path: Path, systems: Sequence[str], datasets: Sequence[str], model: Entry | None, corpus: Entry | None, results: str
) -> str:
    """Return the text of a configuration, with comments for somebody who has none yet."""
    from beirflow.core.layout import REPORT

    names = list(dict.fromkeys([*systems, *([model.name] if model else [])]))
    if model and model.entry.get("first") and model.entry["first"] not in names:
        names.insert(0, model.entry["first"])
    chosen = [name for name in ([corpus.name] if corpus else []) + [*datasets] if name != "all"] or "all"
    file, page = shlex.quote(str(path)), Path(results, REPORT)
    own = f"    {_flow(model.name)}: {_flow(model.entry)}\n" if model and model.entry else ""
    marks = "".join(f"    # assumed: {each}\n" for each in (model.assumed if model and model.entry else ()))
    first, second = [*names, "my-encoder"][:2]
    dataset = f"    {_flow(corpus.name)}: {_flow(corpus.entry)}\n" if corpus else ""
    return f"""# Written by beirflow. The next commands, from the folder in which it was written:
#   beirflow try {file}           every system on 24 documents, before hours of work
#   beirflow estimate {file}      time, downloads and disk space
#   beirflow run {file} report    everything; then open {page}
# Paths that do not begin with / start in the folder in which a command runs. All keys, with their defaults: docs/keys.md

# Systems to evaluate: names of `beirflow list systems`, and those below custom.systems.
systems: {_flow(names)}

# The system that the others are compared with in tables and figures; null: the first.
baseline: {_flow(names[0])}

# Datasets to evaluate on: names of `beirflow list datasets`, and those below custom.datasets; or all, the fifteen public ones of
# BEIR. <name>.<split> is another split, such as nfcorpus.dev.
datasets: {_flow(chosen)}

# Queries of each dataset for a quick look, such as 50; null: all. Such results have names of their own.
sample_queries: null

# Documents kept for each query, and the k of NDCG@k and the other measures (`beirflow list measures`), which cannot be greater.
top_k: 1000
cutoffs: [1, 3, 5, 10, 100, 1000]

# auto | cuda | mps | cpu. auto: a GPU if there is one.
device: auto

# auto | float32 | bfloat16 | float16. float32 gives published numbers to the last digit; auto is bfloat16 where a device has it.
precision: auto

# The folder of all results. Each experiment needs one of its own; a repeated run computes only what is new.
results: {_flow(results)}

# Systems and datasets of your own.
custom:
  systems:{"" if own else " {}"}
{marks}{own}    # A folder, or of a hub {{model: org/name, revision: <40 digits>}}; a fusion of two systems; a re-ranking of one.
    # my-encoder: {{model: /models/my-encoder, pooling: cls, similarity: cosine}}
    # fused: {{family: fusion, of: {_flow([first, second])}, method: rrf}}
    # reranked: {{family: rerank, first: {_flow(first)}, depth: 100, model: /models/cross-encoder}}
  datasets:{"" if dataset else " {}"}
{dataset}    # With corpus.jsonl, queries.jsonl and qrels/test.tsv; docs/datasets.md has other forms.
    # my-corpus: {{path: /data/my-corpus, split: test}}
"""


def _flow(value: Any) -> str:
    """Return a value as YAML in a line."""
    import yaml

    text = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, allow_unicode=True, width=10**6)
    return text.removesuffix("\n").removesuffix("\n...")
