"""Results in the forms of other tools, RO-Crate, runs with their provenance, MTEB, and beside other folders of results."""

from pathlib import Path
from typing import Any

from beirflow.core.extensions import Command, Extension, Inventory
from beirflow.core.patterns import patterns_in
from beirflow.extensions.exchange import layout

COMMANDS = f"{__name__}.commands"


def _named(crate: Any) -> set[str]:
    return {str(entity.get("@id")) for entity in crate["@graph"]}


EXTENSION = Extension(
    folder=Path(__file__).parent,
    patterns=patterns_in(layout),
    files={
        layout.OPEN_RUN: "a run in TREC form with an ir_metadata header",
        layout.PREDICTIONS: "its first documents as MTEB writes predictions",
        layout.MTEB_RESULT: "a result as MTEB writes it",
        layout.CRATE: "the results as a Workflow Run RO-Crate",
    },
    commands={
        "compare": Command(
            f"{COMMANDS}.compare",
            "these results beside those in another folder",
            moved={"compare_with": ("other", "")},
            of_results=True,
        ),
        "leaderboard": Command(
            f"{COMMANDS}.leaderboard", "a leaderboard of many folders, each audited", moved={"folders": ("folders", "")}
        ),
    },
    inventories=(Inventory(layout.CRATE, _named, layout.CRATE_CODE),),
)
