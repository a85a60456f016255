"""Exports for other tools, made again for an audit: the crate with its instructions, runs with headers."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from beirflow.audit.digests.chain import Chain
from beirflow.audit.digests.checks import RecordError
from beirflow.audit.rebuild.made_again import other_packed, other_page
from beirflow.audit.rebuild.paper_again import Step
from beirflow.exchange.crate import configuration_of, readme_of
from beirflow.exchange.crate_metadata import crate_of
from beirflow.exchange.crate_pages import pages_named
from beirflow.exchange.open_run import write_open_run
from beirflow.files import layout


def exports_again(chain: Chain, target: Path) -> Callable[[str], Step | None]:
    """Return the functions that rebuild exported files.

    Args:
        chain: What records say.
        target: Where to write.

    Returns:
        By path below the results, how to make a file again and how to compare it; None for what is not exported.
    """
    texts: dict[str, Callable[[Chain], str]] = {
        layout.CRATE: lambda chain: crate_of(chain, pages_named(chain.file(layout.CRATE))),
        layout.CRATE_README: readme_of,
        layout.CRATE_CONFIGURATION: lambda chain: configuration_of(chain.manifest),
    }

    def step(path: str) -> Step | None:
        if path in texts:
            return partial(_write, chain, target / path, texts[path]), other_page
        names = layout.OPEN_RUN.names_in(path)
        return (partial(_write_run, chain, target / path, names), other_packed) if names else None

    return step


def _write(chain: Chain, path: Path, text: Callable[[Chain], str]) -> None:
    """A text, where nothing that it describes is reached through a link."""
    if odd := next((each for each in chain.listing.odd if each.startswith(layout.CRATE_CODE) or each in chain.claims), ""):
        raise RecordError("is not a plain file, so no crate can describe it", odd)
    if chain.problems:
        raise RecordError(chain.problems[0].found)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text(chain), encoding="utf-8")


def _write_run(chain: Chain, path: Path, names: dict[str, str]) -> None:
    """A run with its header."""
    run, record, dataset = layout.RUN(**names), layout.RUN_RECORD(**names), names["dataset"]
    path.parent.mkdir(parents=True, exist_ok=True)
    write_open_run(
        run_path=str(chain.file(run)),
        record_path=str(chain.file(record)),
        corpus_path=str(chain.file(layout.CORPUS(dataset=dataset))),
        queries_path=str(chain.file(layout.QUERIES(dataset=dataset))),
        manifest_path=str(chain.file(layout.MANIFEST)),
        output_path=str(path),
    )
