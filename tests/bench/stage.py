"""A stage: an input, the sides that compute the same from it, a check that they agree, and targets; read from ``stages.yaml``."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml

import anserini
from bench.machine import REPOSITORY, Settings, computes_in_bfloat16
from slurm_cluster import missing_programs

Quantity = Literal["seconds", "memory", "growth"]
"""Time, peak memory of the process, or peak memory above that of its imports."""

Clock = Literal["process", "call"]
"""Times of the whole process, or of the call as the process itself reports it."""

TABLE: Mapping[str, Mapping[str, Any]] = yaml.safe_load(Path(__file__).with_name("stages.yaml").read_text(encoding="utf-8"))
"""The stages by name, beside peers and at scale."""


class CannotRunError(Exception):
    """A stage lacks something that it needs; the message says what."""


@dataclass(frozen=True)
class Side:
    """One way to do the work, as a command that is run in a fresh process."""

    name: str  # in the table; it begins with ``ours`` where it is ours
    command: Sequence[str]
    output: Path  # folder for what it writes; emptied before every run
    runs: int | None = None  # most runs, where fewer than the rounds of the stage are enough


@dataclass(frozen=True)
class Target:
    """A quantity of one side, or its ratio to that of another side, that should be at most a number."""

    quantity: Quantity
    side: str
    at_most: float  # a ratio, or seconds or bytes where there is no other side
    over: str | None = None  # name of the side that is divided by; None for a plain quantity
    row: str | None = None  # name in the table, where it is not that of the stage
    clock: Clock | None = None
    when: str | None = None  # what it needs, beyond its sides


@dataclass(frozen=True)
class Stage:
    """One comparison."""

    name: str
    input: str  # what all sides are given, in a sentence
    clock: Clock
    rounds: int  # how often every side is run; in a round each side has its turn
    inputs: Sequence[str]  # command that makes the input; not timed
    sides: Sequence[Side]  # what is run, ours first
    check: Sequence[str]  # command that compares what the sides wrote, prints what it compared, and fails where they disagree
    targets: Sequence[Target]
    left_out: Sequence[tuple[str, str]] = ()  # rows that are not run here, with the reason
    documents: int | None = None  # their number, where it is one of several


def sizes_of(name: str, settings: Settings) -> list[dict[str, int]]:
    """The sizes that a stage is run with, beyond those of the table: its numbers of documents, where there are several."""
    documents = _told(name)["quick" if settings.quick else "full"].get("documents")
    return [{"documents": number} for number in documents] if isinstance(documents, list) else [{}]


def read_stage(name: str, settings: Settings, folder: Path, **sizes: int) -> Stage:
    """Fill in a stage of the table, whose files will be in a folder; sizes replace those of the table.

    Raises:
        CannotRunError: The archive of NFCorpus is needed and not at hand.
    """
    told = _told(name)
    if "{nfcorpus}" in told["inputs"] and not (settings.nfcorpus and settings.nfcorpus.is_file()):
        raise CannotRunError("no nfcorpus.zip in a folder that BEIRFLOW_ARCHIVES names")
    chosen = {**told["quick" if settings.quick else "full"], **sizes}
    rounds = settings.repeats or chosen.pop("rounds")
    if "chunk_documents" in chosen and "documents" in chosen:
        documents, of_a_chunk = chosen["documents"], chosen["chunk_documents"]
        chunks = -(-documents // of_a_chunk)
        chosen = {"chunks": chunks, "tenfold": 10 * chunks, "of_a_chunk": min(documents, of_a_chunk), **chosen}
    values = {
        **chosen,
        **{name: getattr(settings, name) for name in ("nfcorpus", "cores", "own_python", "peer_python")},
        "folder": folder,
        "input": folder / "input",
        "repository": REPOSITORY,
    }
    sides, missing = [], {}
    for side, how in told["sides"].items():
        how = {"command": how} if isinstance(how, str) else how
        if why := _missing(how.get("when"), settings):
            missing[side] = why
            continue
        plain = side.removeprefix("ours, ")
        command = _filled(how["command"], {**values, "name": plain, "output": folder / plain})
        sides.append(Side(side, command, folder / plain, how.get("runs")))
    targets = [Target(**target) for target in told.get("targets", ())]
    lacking = [missing.get(each.side) or missing.get(str(each.over)) or _missing(each.when, settings) for each in targets]
    return Stage(
        name=name,
        input=told["input"].format(**values),
        clock=told["clock"],
        rounds=rounds,
        inputs=_filled(told["inputs"], values),
        sides=sides,
        check=_filled(told["check"].replace("{outputs}", shlex.join(str(side.output) for side in sides)), values),
        targets=[target for target, why in zip(targets, lacking, strict=True) if not why],
        left_out=[(target.row or name, why) for target, why in zip(targets, lacking, strict=True) if why],
        documents=sizes.get("documents"),
    )


def _told(name: str) -> Mapping[str, Any]:
    """A stage of the table."""
    return next(stages[name] for stages in TABLE.values() if name in stages)


def _missing(need: str | None, settings: Settings) -> str:
    """Give the reason why a side that needs something is not run; empty if it is."""
    if need == "full" and settings.quick:
        return "full form only"
    if need == "bfloat16" and not computes_in_bfloat16(settings):
        return "no bfloat16 instructions, so auto is float32 here"
    if need == "SLURM" and (missing := missing_programs()):
        return f"no {', '.join(missing)}"
    return anserini.missing() if need == "Lucene" else ""


def _filled(command: str, values: Mapping[str, Any]) -> list[str]:
    """The words of a command, the empty ones left out."""
    words = [word.format(**values) for word in shlex.split(command)]
    if module := {"own": "bench.job", "peer": "bench.child"}.get(words[0]):
        words[:1] = [values[f"{words[0]}_python"], "-m", module]
    return [word for word in words if word]
