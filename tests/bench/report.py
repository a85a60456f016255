"""Write what was found, as JSON with every single run and as a Markdown table."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench.runner import LINEAR, MOST_MEMORY, Growth, Outcome, Row, growths

HEADER = ("row", "compared", "median", "spread", "at most", "met", "seconds", "processor seconds", "peak memory, GB")

GROWTH_HEADER = (
    *("stage", "documents, millions", "processor seconds", "peak memory, GB", "written, MB"),
    *("exponent of the seconds", f"at most {LINEAR:g}, and {MOST_MEMORY / 1e9:g} GB"),
)


def as_json(machine: dict[str, Any], form: str, outcomes: Sequence[Outcome]) -> str:
    """Everything that was measured."""
    return json.dumps({**machine, "form": form, "stages": [_stage(outcome) for outcome in outcomes]}, indent=2) + "\n"


def _stage(outcome: Outcome) -> dict[str, Any]:
    runs = {name: [asdict(run) for run in of_side] for name, of_side in outcome.runs.items()}
    return {
        "name": outcome.name,
        "input": outcome.stage.input if outcome.stage else None,
        "documents": outcome.stage.documents if outcome.stage else None,
        "clock": outcome.stage.clock if outcome.stage else None,
        "runs": runs,
        "rows": [{**asdict(row), "median": row.median} for row in outcome.rows],
        "agreement": outcome.agreement,
        "not_run": dict(outcome.not_run),
        "failure": outcome.failure,
    }


def as_markdown(machine: dict[str, Any], form: str, outcomes: Sequence[Outcome]) -> str:
    """The table, the inputs and the circumstances."""
    rows = [cells for outcome in outcomes for cells in _rows(outcome)]
    ran = [outcome for outcome in outcomes if outcome.stage]
    inputs = [(outcome.name, outcome.stage.input, outcome.agreement or "**no**") for outcome in ran if outcome.stage]
    failures = [f"**{outcome.name}**\n\n```\n{outcome.failure}\n```" for outcome in outcomes if outcome.failure]
    tables = [table(HEADER, rows)] if rows else []
    if grown := growths(outcomes):
        tables.append(table(GROWTH_HEADER, [_growth_cells(each) for each in grown]))
    parts = [f"# {machine['device']}", circumstances(machine, f"{form}, "), *tables, *failures]
    return "\n\n".join([*parts, table(("stage", "input", "outputs agree"), inputs)]) + "\n"


def _rows(outcome: Outcome) -> list[tuple[str, ...]]:
    """The lines of one stage: what was judged, what was not run, what failed."""
    rows = [_cells(row) for row in outcome.rows]
    rows += [(name, f"not run: {why}", *[""] * (len(HEADER) - 2)) for name, why in outcome.not_run]
    return rows + ([(outcome.name, "**FAILED**, see below", *[""] * (len(HEADER) - 2))] if outcome.failure else [])


def circumstances(machine: dict[str, Any], form: str = "", *more: str) -> str:
    """List when and where the figures were measured, and with which versions."""
    sets = ", ".join(machine["instructions"]) or "none of note"
    versions = {name: ", ".join(f"{key} {value}" for key, value in found.items()) for name, found in machine["versions"].items()}
    state = "" if machine["clean"] else ", with changes that are not committed"
    lines = [
        f"{form}{machine['date']}, commit {(machine['commit'] or 'not known')[:12]}{state}",
        f"{machine['processor']}, {machine['cores']} cores, instructions {sets}; Python {machine['python']}",
        f"load average {machine['load']:.1f} at the start: 0 where nothing else ran",
        f"ours with {versions['beirflow']}",
        *([f"the peers with {versions['peers']}"] if "peers" in versions else []),
    ]
    return "\n".join(f"- {line}" for line in (*lines, *more))


def _cells(row: Row) -> tuple[str, ...]:
    met = "yes" if row.met else "**no**"
    low, high = (_number(value, row.unit) for value in (min(row.values), max(row.values)))
    spread = f"{low} to {high} ({len(row.values)})" if len(row.values) > 1 else "one run"
    seconds, cpu = (" / ".join(map(_seconds, times)) for times in (row.seconds, row.cpu))
    memory = " / ".join(f"{size / 1e9:.2f}" for size in row.memory)
    median = f"**{_number(row.median, row.unit)}**"
    return row.stage, row.compared, median, spread, f"{row.at_most:g} {row.unit}", met, seconds, cpu, memory


def _growth_cells(growth: Growth) -> tuple[str, ...]:
    columns = (
        [f"{number / 1e6:.2g}" for number in growth.documents],
        map(_seconds, growth.seconds),
        [f"{run.peak / 1e9:.2f}" for run in growth.runs],
        [f"{run.written / 1e6:,.0f}" for run in growth.runs],
    )
    verdict = "yes" if growth.met else "**no**"
    name = f"{growth.stage}{growth.side.removeprefix('ours')}"
    return name, *(" / ".join(column) for column in columns), f"{growth.exponent:.2f}", verdict


def _number(value: float, unit: str) -> str:
    return f"{value:.2f} {unit}"


def _seconds(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.1f}"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def write(folder: Path, name: str, texts: dict[str, str]) -> list[Path]:
    """Write the files of a result, by suffix, and say where."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for suffix, text in texts.items():
        path = folder / f"{name}{suffix}"
        path.write_text(text, encoding="utf-8")
        paths.append(path)
    return paths
