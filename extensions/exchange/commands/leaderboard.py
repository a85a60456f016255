"""``beirflow leaderboard``: one leaderboard of many folders of results, each audited."""

from argparse import ArgumentParser, Namespace
from typing import Any

from beirflow.cli.workflow_call import add_call_arguments, call_workflow, results_folder
from beirflow.core.errors import ConfigError

HELP = "audit folders of results and write one leaderboard of all"
PASSES_ON = True


def add_arguments(parser: ArgumentParser) -> None:
    """Add what the command takes."""
    what = "folders of results, which are only read; the page is written below results/ here"
    add_call_arguments(parser, "FOLDER …", what, "Example: beirflow leaderboard /results/of-a /results/of-b")
    parser.add_argument("--sample", type=int, metavar="N", help="also make N documents and queries of each corpus again")


def main(options: Namespace) -> int:
    """Run the workflow; return its exit status."""
    folders = [results_folder(word) for word in options.words]
    if not folders:
        raise ConfigError("name the folders of results, such as: beirflow leaderboard /results/of-a /results/of-b")
    command: dict[str, Any] = {"leaderboard": {"folders": folders}}
    if options.sample is not None:
        command["audit"] = {"sample": options.sample}
    return call_workflow(options, config_files=[], targets=["leaderboard"], given={"command": command})
