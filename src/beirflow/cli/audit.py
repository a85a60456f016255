"""``beirflow audit``: check a folder of results, or those of a configuration."""

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from beirflow.cli.workflow_call import add_call_arguments, call_workflow, configuration, existing_file, results_folder
from beirflow.core.errors import ConfigError

HELP = "check every number of a folder of results, by you or by others"
PASSES_ON = True


def add_arguments(parser: ArgumentParser) -> None:
    """Add what the command takes."""
    what = (
        "a folder of results, which is only read (audits/ here gets the page), or a configuration, whose results are checked;"
        "\n      without both, results/ here"
    )
    add_call_arguments(parser, "[FOLDER | my.yaml]", what, "Example: beirflow audit /copy/results --sample 100")
    parser.add_argument("-o", "--output", metavar="FOLDER", help="the folder of the page and the log")
    parser.add_argument("--sample", type=int, metavar="N", help="also make N documents and queries of each corpus again")
    parser.add_argument("--manifest-sha256", metavar="SHA256", help="the published digest of the manifest")
    parser.add_argument("--signature", metavar="FILE", help="a detached OpenSSH signature of the manifest")
    parser.add_argument("--allowed-signers", metavar="FILE", help="the accepted signers, in the format of ssh-keygen")


def main(options: Namespace) -> int:
    """Run the audit; return 1 if it failed."""
    words = options.words
    if len(words) > 1:
        raise ConfigError(f"{words[1]}: expected nothing behind {words[0]}")
    if options.signature and not options.allowed_signers:
        raise ConfigError("--signature: name the keys that you accept, too: --allowed-signers FILE; any key can sign")
    wanted: dict[str, Any] = {
        "output": None if options.output is None else str(Path(options.output).absolute()),
        "sample": options.sample,
        "manifest_sha256": options.manifest_sha256,
        "manifest_signature": existing_file(options.signature, "--signature"),
        "allowed_signers": existing_file(options.allowed_signers, "--allowed-signers"),
    }
    config_files = [configuration([word]) for word in words if Path(word).is_file()]
    if words and not config_files:
        wanted["folder"] = results_folder(words[0])
    given = {key: value for key, value in wanted.items() if value is not None}
    return call_workflow(
        options, config_files=config_files, targets=["audit"], given={"command": {"audit": given}} if given else None
    )
