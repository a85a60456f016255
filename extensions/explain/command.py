"""``beirflow explain``: why a result differs from a published score."""

from argparse import ArgumentParser, Namespace
from typing import Any

from beirflow.cli.workflow_call import add_call_arguments, call_workflow, configuration, is_configuration
from beirflow.core.errors import ConfigError

HELP = "say why a result differs from a published score"
PASSES_ON = True


def add_arguments(parser: ArgumentParser) -> None:
    """Add what the command takes."""
    what = "a configuration, whose results with a published score are explained; or one result, of it or of the catalogue"
    add_call_arguments(parser, "[my.yaml] [system/dataset]", what, "Example: beirflow explain bm25/nfcorpus")


def main(options: Namespace) -> int:
    """Run the workflow; return its exit status."""
    words = options.words
    config_files = [configuration([word]) for word in words[:1] if is_configuration(word) or word.count("/") != 1]
    results = words[len(config_files) :]
    if results and is_configuration(results[0]):
        configuration([*config_files, results[0]])
    if not words or len(results) > 1 or any(word.count("/") != 1 for word in results):
        found = " ".join(words) or "nothing"
        raise ConfigError(f"found {found}; expected a configuration, a result as system/dataset, or both in this order")
    given: dict[str, Any] = {}
    for result in results:
        given["command"] = {"explain": {"result": result}}
        if not config_files and not options.configfile:
            system, dataset = result.split("/")
            given |= {"systems": [system], "datasets": [dataset]}
    return call_workflow(options, config_files=config_files, targets=["explain"], given=given)
