"""``beirflow init``: write a commented configuration, from answers on a terminal or from options."""

import re
import shlex
import sys
from argparse import ArgumentParser, Namespace
from functools import partial
from pathlib import Path

from beirflow.cli.init.dataset import dataset_entry
from beirflow.cli.init.entry import DATASET, RESULTS, SYSTEM
from beirflow.cli.init.model import model_entry
from beirflow.cli.init.questions import Questions
from beirflow.cli.init.text import configuration

HELP = "write a commented my.yaml, from questions or from options"


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
    ask = Questions(asks=not options.yes and sys.stdin.isatty() and sys.stdout.isatty())
    question = "Your own dataset, a folder or .zip with corpus.jsonl, queries.jsonl and qrels (empty: none)"
    corpus = ask.answer(options.corpus, question, "", dataset_entry)
    question = "Datasets of BEIR, with commas (beirflow list datasets)"
    datasets = ask.answer(options.datasets, question, "" if corpus else DATASET, partial(_names, "datasets"))
    if not datasets and not corpus:
        raise ConfigError("no dataset: name some of the catalogue with --datasets, or one of your own with --corpus")
    question = "Your own model, a folder or an id of the hub (empty: none)"
    model = ask.answer(options.model, question, "", lambda text: model_entry(text, options.family, ask))
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
