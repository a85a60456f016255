"""``beirflow parity``: whether a server of embeddings computes what a model's files compute."""

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

HELP = "compare a server of embeddings with the weights that it serves"


def add_arguments(parser: ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument("url", metavar="URL", help="the address of the server")
    parser.add_argument("--model", required=True, metavar="M", help="a folder, owner/name@revision, or a dense system")
    parser.add_argument("--config", action="append", default=[], metavar="FILE", help="a configuration with that system")
    parser.add_argument("--served", metavar="NAME", help="the model's name on the server")
    parser.add_argument("--protocol", metavar="P", help="openai, vllm, infinity, tei or ollama")
    parser.add_argument("--prompts", choices=("client", "server"), default="client", help="who writes prompts")
    parser.add_argument("--dataset", metavar="FOLDER", help="real texts, in BEIR form")
    parser.add_argument("--key-variable", metavar="NAME", help="environment variable of the key")
    parser.add_argument("--timeout", type=float, default=120.0, metavar="S", help="seconds without a byte")
    parser.add_argument("-o", "--output", default="parity", metavar="FOLDER", help="for the page and the JSON")
    parser.epilog = "Example: beirflow parity http://localhost:8080 --model BAAI/bge-m3@5617a9f6 --served bge-m3"


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
