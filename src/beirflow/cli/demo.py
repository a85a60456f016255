"""``beirflow demo``: BM25 on 24 documents that come with the package, in a new folder; no model and no network."""

import os
import shutil
from argparse import ArgumentParser, Namespace
from pathlib import Path

from beirflow import WORKFLOW
from beirflow.cli.init.entry import Entry
from beirflow.cli.init.text import configuration
from beirflow.cli.workflow_call import add_call_arguments, call_workflow
from beirflow.core.errors import ConfigError

HELP = "evaluate BM25 on 24 documents in a new folder: no model, no network, less than a minute"
PASSES_ON = True

FOLDER, CONFIG, DATASET = "beirflow-demo", "my.yaml", "dataset"


def add_arguments(parser: ArgumentParser) -> None:
    """Add what the command takes."""
    add_call_arguments(parser, "[FOLDER]", f"a new folder; {FOLDER} by default", "Example: beirflow demo")


def main(options: Namespace) -> int:
    """Write dataset and configuration, then run the workflow; return its exit status."""
    if len(options.words) > 1:
        raise ConfigError(f"found {' '.join(options.words)}; expected one folder at most")
    folder = Path(*options.words or [FOLDER])
    is_demo = (folder / CONFIG).is_file() and (folder / DATASET / "corpus.jsonl").is_file()
    if not is_demo and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"{folder}: this is there already, and is no folder of the demo; name another: beirflow demo my-demo")
    try:
        if not is_demo:
            shutil.copytree(WORKFLOW / "trial", folder / DATASET, dirs_exist_ok=True)
            text = configuration(Path(CONFIG), ["bm25"], [], None, Entry("demo", {"path": DATASET}), "results")
            (folder / CONFIG).write_text(text, encoding="utf-8")
        os.chdir(folder)
        os.environ["PWD"] = str(Path.cwd())  # as a shell does
    except OSError as error:
        raise ConfigError(
            f"{folder}: the demo cannot be written ({error.strerror}); name another folder: beirflow demo my-demo"
        ) from error
    return call_workflow(options, config_files=[CONFIG], targets=["summary"])
