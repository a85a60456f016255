"""``beirflow verify``: verify a result of others on a sample."""

import shutil
import subprocess
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from beirflow.cli.workflow_call import add_call_arguments, call_workflow, existing_file
from beirflow.core.errors import ConfigError, DataError
from beirflow.core.keys import settings_of_a_class

HELP = "verify a result of others on a sample, and name the cause of a difference"
PASSES_ON = True

NAMESPACE = "file"  # of the signature, as an audit checks it
PRECISIONS = ("float32", "bfloat16", "float16")


def add_arguments(parser: ArgumentParser) -> None:
    """Add what the command takes."""
    what = (
        "a run in TREC form, JSON or Parquet, MTEB's results or predictions, a model card, .eval_results, or a folder with"
        "\n      such files or with results of beirflow"
    )
    example = "Example: beirflow verify predictions/ --model all-minilm-l6-v2 --dataset nfcorpus --share 0.1"
    add_call_arguments(parser, "FOLDER | FILE …", what, example)
    parser.add_argument("--model", metavar="M", help="a system, a hub id or a folder")
    parser.add_argument("--revision", metavar="COMMIT", help="the commit of a hub id")
    parser.add_argument("--dataset", metavar="D", help="a dataset or a folder in BEIR form")
    parser.add_argument("--measure", default="NDCG@10", metavar="NAME@K", help="the claimed measure")
    parser.add_argument("--value", type=float, metavar="X", help="the claimed mean, if no file has it")
    parser.add_argument("--share", type=float, default=0.01, metavar="S", help="of the documents to encode (0.01)")
    parser.add_argument("--margin", type=float, default=0.005, metavar="E", help="error to find (0.005)")
    parser.add_argument("--seed", type=int, metavar="N", help="of the sample; drawn")
    parser.add_argument("--key", metavar="FILE", help="OpenSSH key that signs")
    parser.add_argument("-o", "--output", default="verification", metavar="FOLDER", help="folder of all files")


def main(options: Namespace) -> int:
    """Run the verification and sign its statement; return 0 only if the verdict is "consistent"."""
    from beirflow.extensions.verify import CLAIMED
    from beirflow.extensions.verify.claims import read_claim
    from beirflow.extensions.verify.layout import STATEMENT

    if not options.dataset:
        raise ConfigError("name the dataset of the result: --dataset nfcorpus")
    if options.key and not shutil.which("ssh-keygen"):
        raise ConfigError("--key: ssh-keygen is not installed; install OpenSSH, or leave --key out")
    existing_file(options.key, "--key")
    task, datasets = _task(options)
    claim = read_claim(options.words, task, options.model, options.value)
    name, systems = _system(options, claim.system, claim.entry)
    if claim.run:
        systems[CLAIMED] = {"run": claim.run}
    written = Path(options.output) / STATEMENT
    for path in (written, Path(f"{written}.sig")):
        path.unlink(missing_ok=True)
    of_claim = {key: value for key, value in vars(claim).items() if key != "entry" and value not in (None, {})}
    verify = {"system": name, "claim": of_claim, "share": options.share, "margin": options.margin, "seed": options.seed}
    given: dict[str, Any] = {
        "results": str(Path(options.output).absolute()),
        "systems": [*([CLAIMED] if claim.run else []), name, "bm25"],
        "datasets": [task.dataset],
        "main_measure": task.measure,
        "custom": {kind: own for kind, own in (("systems", systems), ("datasets", datasets)) if own},
        "command": {"verify": {key: value for key, value in verify.items() if value is not None}},
    }
    if claim.says.get("precision") in PRECISIONS:  # of a folder of results; others do not say it, or are not believed
        given["precision"] = claim.says["precision"]
    status = call_workflow(options, config_files=[], targets=["verify"], given=given)
    if options.key and written.is_file():
        _sign(written, options.key)
    return status


def _task(options: Namespace) -> tuple[Any, dict[str, Any]]:
    """Return what is verified, and the entry of a dataset that is a folder."""
    from beirflow.data.catalogue.catalogue import load_catalogue
    from beirflow.extensions.verify.claims import Task

    catalogue, path = load_catalogue(), Path(options.dataset).expanduser()
    known = {**catalogue.known_datasets, **catalogue.newer.collections}.get(options.dataset)
    is_path = known is None and path.exists() and "/" in options.dataset
    name = path.name.partition(".")[0] if is_path else options.dataset
    tasks = catalogue.mteb
    of_mteb = tasks[name].name if name in tasks else name
    split = known[0].split if isinstance(known, tuple) else "test"
    own = {name: {"path": str(path.absolute())}} if is_path else {}
    return Task(name, of_mteb, split, options.measure), own


def _system(options: Namespace, of_folder: str | None, entry: dict[str, Any] | None) -> tuple[str, dict[str, Any]]:
    """Return the name of the recomputed system, and its entry unless the catalogue or a configuration has one."""
    from beirflow.cli.configuration import load_files
    from beirflow.extensions.verify import RECOMPUTED
    from beirflow.extensions.verify.recompute import check_family

    experiment = load_files(options.configfile)
    if (name := of_folder or options.model) in experiment.systems:
        check_family(experiment, name)
        return name, {}
    if of_folder and entry:
        if code := settings_of_a_class(entry):
            problem = f"{of_folder} has {' and '.join(sorted(code))} in that folder, which run a class"
            raise DataError(f"{problem}; no code that others name runs here: define it in a --configfile of your own")
        return of_folder, {of_folder: entry}
    if not options.model:
        raise ConfigError("name the model of the result: --model all-minilm-l6-v2")
    place = Path(options.model).expanduser()
    model = {"model": str(place.absolute()) if place.is_dir() else options.model}
    return RECOMPUTED, {RECOMPUTED: model | ({"revision": options.revision} if options.revision else {})}


def _sign(file: Path, key: str) -> None:
    """Sign a file with OpenSSH, which asks for a passphrase where the key has one."""
    command = ["ssh-keygen", "-Y", "sign", "-q", "-f", key, "-n", NAMESPACE, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise DataError(f"{file} was not signed with {key}: {done.stderr.strip()[:200]}")
