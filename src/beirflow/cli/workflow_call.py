"""A call of the workflow: input is checked, then Snakemake runs in this process.

Snakemake itself gets a command line, which is printed: profiles, locks, interrupts and exit status are those of a call by hand.
"""

import contextlib
import hashlib
import importlib.util
import json
import os
import re
import runpy
import shlex
import shutil
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from beirflow import WORKFLOW
from beirflow.cli import FAILED
from beirflow.core.errors import ConfigError
from beirflow.core.extensions import with_extensions

FURTHER = "--configfile"

PROFILES = ("profile.yaml", "config.yaml", "config.v8+.yaml")  # names of the file of a profile
CLUSTER = ("profile", "workflow_profile", "executor", "jobs")  # options that decide themselves how many jobs run at a time
OWN_EXECUTORS = ("local", "dryrun", "touch")  # those of Snakemake itself

OPTIONS = "options"
"""Folder of the files of options, next to Snakemake's own notes: printed commands and commands of repairs name them."""


def snakefile() -> Path:
    """Return the Snakefile of the workflow: that of the checkout that this package lies in, else the packaged one."""
    checkout = Path(__file__).parents[3]
    if (checkout / "workflow").is_dir() and (checkout / "Snakefile").is_file():
        return checkout / "Snakefile"
    return WORKFLOW / "Snakefile"


def add_call_arguments(parser: ArgumentParser, words: str, help_: str, example: str) -> None:
    """Add what every call of the workflow takes: further configuration files and Snakemake's cores; describe its words."""
    parser.usage = f"%(prog)s {words} [options] [Snakemake's options]"
    parser.description = f"{parser.description}\n\n  {words}\n      {help_}"
    parser.add_argument(FURTHER, action="append", default=[], metavar="FILE", help="a further configuration; its keys win")
    parser.add_argument("--cores", "-c", metavar="N", help="processor cores to use; all by default")
    parser.epilog = f"Snakemake's options (--dry-run, --unlock, --config key=value …) come last and are passed on.\n\n{example}"


def configuration(words: Sequence[str]) -> str:
    """Return the one configuration file among the words of a command. Raise ConfigError if there is none, or another word."""
    if not words:
        raise ConfigError("name a configuration, such as my.yaml; `beirflow init` writes one")
    first, *others = words
    if not Path(first).is_file():
        what = "is a folder" if Path(first).is_dir() else "there is no such file"
        raise ConfigError(f"{first}: {what}; expected a configuration, such as my.yaml; `beirflow init` writes one")
    if others and is_configuration(others[0]):
        raise second_configuration(others[0])
    if others:
        raise ConfigError(f"{others[0]}: expected nothing behind the configuration; its files: beirflow run {first} {others[0]}")
    return first


def is_configuration(word: str) -> bool:
    """Test whether a word is the path of a YAML or JSON file."""
    return PurePath(word).suffix in (".yaml", ".yml", ".json") and Path(word).is_file()


def second_configuration(word: str) -> ConfigError:
    """Return the error of a second configuration."""
    return ConfigError(f"{word}: a second configuration, where one is expected; to add its keys to the first: {FURTHER} {word}")


def results_folder(word: str) -> str:
    """Return the absolute path of a folder of results. Raise ConfigError for anything else."""
    from beirflow.core.layout import MANIFEST

    folder = Path(os.path.abspath(Path(word).expanduser()))  # noqa: PTH100 (a link stays a link)
    if not folder.is_dir():
        what = "is a file" if folder.exists() else "there is no such folder"
        raise ConfigError(f"{word}: {what}; expected a folder of results, with {MANIFEST}")
    if not (folder / MANIFEST).is_file():
        inside = next((each for each in sorted(folder.glob("*/")) if (each / MANIFEST).is_file()), None)
        meant = f"; did you mean {str(Path(word, inside.name))!r}?" if inside else ""
        raise ConfigError(f"{word}: there is no {MANIFEST}, so no finished results{meant}")
    return str(folder)


def existing_file(word: str | None, option: str) -> str | None:
    """Return the absolute path of a file that an option names, None for None. Raise ConfigError if there is none."""
    if word is not None and not Path(word).is_file():
        raise ConfigError(f"{option}: {word}: there is no such file")
    return None if word is None else str(Path(word).absolute())


def options_file(command: Mapping[str, Any]) -> Path:
    """Write the options of a command as a configuration file that Snakemake reads last; return its path.

    Its name follows from its content. It stays, as the log of the run does: a command that was printed names it.
    """
    from beirflow.run.undocumented import NOTES

    content = json.dumps(command, indent=2, ensure_ascii=False)
    path = Path(NOTES, OPTIONS, f"{hashlib.sha256(content.encode()).hexdigest()[:12]}.json")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{Path.cwd()}: Snakemake writes here, and this is not possible ({error})") from error
    return path


def call_workflow(
    options: Namespace, *, config_files: Iterable[str], targets: Sequence[str], given: Mapping[str, Any] | None = None
) -> int:
    """Check configuration and targets, then run Snakemake; return its exit status.

    ``given`` are options of the command as a configuration, or None. Raise ConfigError for a configuration or a target that
    cannot be used; nothing has been written then.
    """
    files = [*config_files, *options.configfile]
    rest = [*(["--cores", options.cores] if options.cores is not None else []), *options.rest]
    snakemakes = _snakemakes(rest)
    targets = [*targets, *snakemakes.targets]
    if not snakemakes.snakefile:
        _check(files, given or {}, snakemakes, targets)
    arguments = ["--snakefile", str(snakefile())] if not snakemakes.snakefile and not _is_found(snakemakes) else []
    if snakemakes.cores is None and not any(getattr(snakemakes, name) for name in CLUSTER):
        arguments += ["--cores", "all"]
    files += [str(options_file(given))] if given else []
    arguments += ["--configfile", *files] if files else []
    # The words among them are targets already.
    arguments += [*_without(rest, snakemakes.targets), "--", *targets]
    return _run_snakemake(arguments, options.typed)


def _snakemakes(words: Sequence[str]) -> Namespace:
    """Parse options of Snakemake. Raise ConfigError for one that it does not have."""
    from beirflow.data.catalogue.schema import nearest
    from beirflow.run.undocumented import option_names, parse_options

    options, unknown = parse_options(words)
    if unknown:
        meant = nearest(unknown[0], option_names())
        raise ConfigError(f"{unknown[0]}: neither this command nor Snakemake has this option{meant}")
    for profile in filter(None, (*(options.profile or ()), options.workflow_profile)):
        _check_executor(Path(profile))
    return options


def _check_executor(profile: Path) -> None:
    """Raise ConfigError if the executor of a profile is not installed, of which Snakemake says that it is an invalid choice."""
    import yaml

    from beirflow.core.outside_yaml import parse_yaml

    for path in filter(Path.is_file, (profile, *(profile / name for name in PROFILES))):
        with contextlib.suppress(OSError, ValueError, yaml.YAMLError):  # which Snakemake explains
            executor = (parse_yaml(path.read_text(encoding="utf-8")) or {}).get("executor")
            module = f"snakemake_executor_plugin_{str(executor).replace('-', '_')}"
            if isinstance(executor, str) and executor not in OWN_EXECUTORS and importlib.util.find_spec(module) is None:
                package = "'beirflow[slurm]'" if executor == "beirflow-slurm" else f"snakemake-executor-plugin-{executor}"
                checkout = ", in a checkout ./plugins/slurm" if executor == "beirflow-slurm" else ""
                raise ConfigError(f"{path}: no executor {executor!r} is installed here; type: pip install {package}{checkout}")


def _without(words: Sequence[str], targets: Sequence[str]) -> list[str]:
    left = list(words)
    for target in targets:
        left.remove(target)
    return left


def _is_found(snakemakes: Namespace) -> bool:
    """Test whether Snakemake finds the Snakefile by itself in the working folder."""
    return not snakemakes.directory and snakefile() in (Path("Snakefile").absolute(), Path("workflow/Snakefile").absolute())


def _check(files: Sequence[str], given: Mapping[str, Any], snakemakes: Namespace, targets: Sequence[str]) -> None:
    """Raise ConfigError for a configuration, or a target, that cannot be used."""
    from beirflow.config.config_files import check_config_files, check_options
    from beirflow.config.load import load_experiment, search_for_classes
    from beirflow.run.undocumented import configuration_of

    check_config_files(files)
    check_options(snakemakes.cores, snakemakes.config or [])
    config, own_keys = configuration_of(files, dict(given), snakemakes.config)
    search_for_classes([*(Path(path).absolute().parent for path in files), snakefile().parent])
    if snakemakes.directory:  # in which paths of the configuration begin
        files = [str(Path(path).absolute()) for path in files]
    with contextlib.chdir(snakemakes.directory or "."):
        experiment = load_experiment(config, files, {"snakemake", *targets}, own_keys)
        # Snakemake's own key names the folder too.
        results = str((config.get("pathvars") or {}).get("results", experiment.config["results"]))
        _check_targets(targets, results, experiment)
        here = not snakemakes.default_storage_provider  # and not in a bucket
        if "audit" in targets and here and not given.get("command", {}).get("audit", {}).get("folder"):
            results_folder(results)


def _check_targets(targets: Sequence[str], results: str, experiment: Any) -> None:
    """Raise ConfigError for the first word that no rule has as its name, or file that no rule makes with this configuration."""
    from beirflow.report.overview import closest_target, is_made

    rules = rule_names()
    for target in targets:
        if target in rules or is_made(target, results, experiment):
            continue
        if is_configuration(target):
            raise second_configuration(target)
        others = "" if (near := closest_target(target, results, experiment, rules)) else "; docs/targets.md lists all files"
        raise ConfigError(f"{target}: unknown target{near or others}")


def rule_names() -> list[str]:
    """Return the names of rules in the Snakefile and the rule files; one that a loop makes has wildcards, and is no target."""
    files = (path for folder in with_extensions(WORKFLOW / "rules") for path in sorted(folder.glob("*.smk")))
    texts = (path.read_text(encoding="utf-8") for path in (WORKFLOW / "Snakefile", *files))
    return [name for text in texts for name in re.findall(r"^(?:use )?rule (?:\w+ as )?(\w+)", text, re.MULTILINE)]


def _run_snakemake(arguments: Sequence[str], typed: Sequence[str]) -> int:
    """Print a command of Snakemake and run it in this process; ``typed`` are the user's words, for messages."""
    from beirflow.run.provenance import TYPED, command_of

    sys.stderr.write(f"{_in_shell(command_of(['snakemake', *arguments]))}\n")
    sys.stderr.flush()
    os.environ[TYPED] = _in_shell(command_of(["beirflow", *typed]))
    sys.argv = ["snakemake", *arguments]
    try:
        runpy.run_module("snakemake", run_name="__main__")
    except SystemExit as end:
        if isinstance(end.code, str):
            sys.stderr.write(f"{end.code}\n")
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except KeyboardInterrupt:  # while it plans; otherwise it ends itself, with the same status
        return FAILED
    return 0


def _in_shell(command: str) -> str:
    """Return a command whose program is found by a shell here: by its path, where another environment is active."""
    name, _, words = command.partition(" ")
    here = Path(sys.executable).with_name(name)
    if shutil.which(name) == str(here):
        return command
    program = shlex.quote(str(here)) if here.is_file() else f"{shlex.quote(sys.executable)} -m {name}"
    return f"{program} {words}"
