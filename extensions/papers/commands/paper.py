"""``beirflow paper``: compare the printed values of a paper with those of its systems here."""

import re
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from beirflow.cli.workflow_call import add_call_arguments, call_workflow, results_folder
from beirflow.core.errors import ConfigError

if TYPE_CHECKING:
    from beirflow.config.experiment import Experiment

HELP = "run what a paper prints, and compare each value"
PASSES_ON = True


def add_arguments(parser: ArgumentParser) -> None:
    """Add what the command takes."""
    what = "a paper by its name, or a file of one of your own; without a word, all are listed"
    add_call_arguments(parser, "[NAME | FILE]", what, "Example: beirflow paper contriever-2021 --datasets nfcorpus,scifact")
    names = re.compile(r"[^\s,]+").findall
    parser.add_argument("--datasets", metavar="NAMES", type=names, default=[], help="of its datasets, these")
    parser.add_argument("--systems", metavar="NAMES", type=names, default=[], help="of its systems, these")
    parser.add_argument("--from", dest="results", metavar="RESULTS", help="write a paper from finished results")
    parser.add_argument("--id", metavar="NAME", help="its name; the file is NAME.yaml")
    parser.add_argument("--title", metavar="TEXT", help="its title")


def main(options: Namespace) -> int:
    """List papers, write one, or run the workflow on one; return the exit status."""
    if options.results is not None:
        return _write(options)
    if len(options.words) > 1:
        raise ConfigError(f"found {' '.join(options.words)}; expected the name of one paper")
    if not options.words:
        return _list(options)
    from beirflow.config.estimate import estimate
    from beirflow.extensions.papers.configure import configuration_of_paper
    from beirflow.extensions.papers.files import paper_files
    from beirflow.extensions.papers.layout import PAGE
    from beirflow.extensions.papers.read import read_paper

    path = _file(options.words[0])
    paper = read_paper(path)
    given = configuration_of_paper(paper, options.datasets, options.systems)
    if path not in paper_files().values():
        given["papers"] = [str(path.absolute())]
    experiment = _experiment(options, given)
    results = Path(experiment.config["results"])
    lines = [line for line in estimate(experiment=experiment, results=results).splitlines() if not line.startswith("To ")]
    sys.stdout.write("\n".join([f"{paper.content['title']}, before anything runs:", *lines, ""]))
    sys.stdout.flush()
    return call_workflow(options, config_files=[], targets=[str(results / PAGE(paper=paper.name))], given=given)


def _file(word: str) -> Path:
    """Return the file of a paper. Raise ConfigError if there is none."""
    from beirflow.data.catalogue.schema import choices
    from beirflow.extensions.papers.files import paper_files

    path = paper_files().get(word, Path(word))
    if not path.is_file():
        raise ConfigError(f"{word}: there is no such paper or file; {choices(word, paper_files())}")
    return path


def _experiment(options: Namespace, given: dict[str, Any]) -> "Experiment":
    """Return the experiment of the configuration of a call."""
    from beirflow.config.load import load_experiment
    from beirflow.run.undocumented import configuration_of, parse_options

    config, own = configuration_of(options.configfile, given, parse_options(options.rest)[0].config or [])
    return load_experiment(config, options.configfile, own_keys=own)


def _list(options: Namespace) -> int:
    """Print the papers with the number of their values, and of those that are or can be computed here."""
    from beirflow.extensions.papers.configure import values_here
    from beirflow.extensions.papers.files import paper_files
    from beirflow.extensions.papers.read import read_paper

    papers = [read_paper(path) for path in paper_files().values()]
    experiment = _experiment(options, {"datasets": "all", "systems": ["bm25"]})
    rows = [(paper.name, *values_here(paper, experiment), paper.content["title"]) for paper in papers]
    for paper, values, computed, here, title in (("paper", "values", "computed", "at hand", "title"), *rows):
        sys.stdout.write(f"{paper:26} {values:>6} {computed:>8} {here:>7}  {title}\n")
    sys.stdout.write("At hand: dataset and model are on this machine. To run one: beirflow paper <paper> [--datasets …]\n")
    return 0


def _write(options: Namespace) -> int:
    """Write the file of a paper from results; return the exit status."""
    from beirflow.config.wrong_keys import errors_of
    from beirflow.core.keys import Name
    from beirflow.extensions.papers.write import paper_of_results

    if not options.id or errors_of(options.id, Name):
        raise ConfigError("--id: expected the name of the paper, such as ours-2027: letters, digits, dots and dashes")
    path = Path(f"{options.id}.yaml")
    if path.exists():
        raise ConfigError(f"{path} is there already and stays as it is; choose another --id")
    text = paper_of_results(Path(results_folder(options.results)), options.id, options.title or options.id)
    path.write_text(text, encoding="utf-8")
    sys.stdout.write(f"{path} has the values of {options.results}. To compare with them: beirflow paper {path}\n")
    return 0
