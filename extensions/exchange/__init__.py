"""Exports to RO-Crate, MTEB and runs with provenance; comparison with other results folders, and the gate."""

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from beirflow.core.extensions import Command, Extension, Inventory
from beirflow.core.keys import LEFT_OUT, As, OrNull, Text
from beirflow.core.patterns import patterns_in
from beirflow.extensions.exchange import layout
from beirflow.extensions.exchange.gate_settings import GateSettings
from beirflow.extensions.exchange.own_tasks import OwnTask, check_tasks

COMMANDS = f"{__name__}.commands"


def _check(experiment: Any, problems: Any) -> None:
    from beirflow.extensions.exchange.gate_checks import check_gate_settings

    check_gate_settings(experiment, problems)
    check_tasks(experiment, problems)


def _check_planned(experiment: Any, rules: Set[str]) -> None:
    from beirflow.extensions.exchange.gate_checks import check_planned_gate

    check_planned_gate(experiment, rules)


def _named(crate: Any) -> set[str]:
    return {str(entity.get("@id")) for entity in crate["@graph"]}


@dataclass(frozen=True)
class CompareOptions:
    """Options of the comparison of two folders of results."""

    other: OrNull[Text] = None
    """The results folder that these results are compared with."""


@dataclass(frozen=True)
class Listed:
    """A folder of results, audited before its rows are shown."""

    path: Text
    """The folder."""
    name: Text = LEFT_OUT
    """Its name on the leaderboard; that of the folder unless stated."""
    manifest_sha256: Text = LEFT_OUT
    """The published sha256 of its manifest.json."""
    manifest_signature: Text = LEFT_OUT
    """A detached OpenSSH signature of that file."""
    allowed_signers: Text = LEFT_OUT
    """The file of accepted signers, in the format of ssh-keygen."""


@dataclass(frozen=True)
class LeaderboardOptions:
    """Options of the leaderboard of many folders."""

    folders: list[Text | Listed] = LEFT_OUT
    """Folders of results, each audited before its rows are shown."""


@dataclass(frozen=True)
class Keys:
    """Keys of the configuration."""

    gate: Annotated[Mapping[str, Any], As(GateSettings)] = field(default_factory=dict)
    """The baseline that the rule gate compares the configured systems with, and the loss that it allows."""
    own_tasks: dict[Text, OwnTask] = field(default_factory=dict)
    """By dataset of your own, its description as a task in MTEB's words, for exports."""


EXTENSION = Extension(
    keys=Keys,
    folder=Path(__file__).parent,
    patterns=patterns_in(layout),
    commands={
        "gate": Command(f"{COMMANDS}.gate", "failure if a system became worse", makes_results=True),
        "compare": Command(
            f"{COMMANDS}.compare",
            "comparison with another results folder",
            options=CompareOptions,
        ),
        "leaderboard": Command(
            f"{COMMANDS}.leaderboard",
            "leaderboard of several folders, each audited",
            options=LeaderboardOptions,
        ),
    },
    check=_check,
    planned=_check_planned,
    without_influence=("gate", "own_tasks"),
    inventories=(Inventory(layout.CRATE, _named, layout.CRATE_CODE),),
)
