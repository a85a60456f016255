"""``beirflow parity``: whether a server of embeddings computes what a model's files compute."""

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

HELP = "compare a server of embeddings with its weights"


def add_arguments(parser: ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument("url", metavar="URL", help="the address of the server")
    parser.add_argument("--model", required=True, metavar="M", help="a folder, owner/name@revision, or a system")
    parser.add_argument("--config", action="append", default=[], metavar="FILE", help="a configuration")
    parser.add_argument("--served", metavar="NAME", help="its name on the server")
    parser.add_argument("--protocol", metavar="P", help="openai, vllm, infinity, tei or ollama")
    parser.add_argument("--prompts", choices=("client", "server"), default="client", help="who writes prompts")
    parser.add_argument("--dataset", metavar="FOLDER", help="real texts")
    parser.add_argument("--key-variable", metavar="NAME", help="variable of the key")
    parser.add_argument("--timeout", type=float, default=120.0, metavar="S", help="seconds")
    parser.add_argument("-o", "--output", default="parity", metavar="FOLDER", help="of the page")
    parser.epilog = "Example: beirflow parity http://localhost:8080 --model all-minilm-l6-v2"


def main(options: Namespace) -> int:
    """Compare, write page and JSON, and print the verdict. Raises VerdictError if the server computes something else."""
    from beirflow.core.errors import VerdictError
    from beirflow.extensions.parity.page import write
    from beirflow.extensions.parity.parity import compare

    found = compare(options)
    page = write(found, Path(options.output))
    text = f"{found['sentence']}\n{page}"
    if found["verdict"] == "differs":
        raise VerdictError(text)
    sys.stdout.write(f"{text}\n")
    return 0
