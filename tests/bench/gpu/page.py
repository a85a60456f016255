"""The figures as a Markdown page."""

import math
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from bench.report import circumstances, table

Found = dict[str, Any]


class Line(NamedTuple):
    """A line of the table: a part of the benchmark, a figure of it, and its target in words and as bounds."""

    part: str
    words: str
    key: str  # of the part's figures; keys of nested figures are separated by dots
    form: str
    target: str = ""
    least: float = -math.inf
    most: float = math.inf
    scale: float = 1.0  # that a figure is divided by


LINES = [Line(**row) for row in yaml.safe_load(Path(__file__).with_name("figures.yaml").read_text(encoding="utf-8"))]


def as_markdown(run: Found) -> str:
    """Return the page of a run, as it is in the JSON file: circumstances, the table, and how to read it."""
    rows = [_cells(line, run["figures"][line.part]) for line in LINES if line.part in run["figures"]]
    missing = [(part, why, "", "") for part, why in {**run["not_run"], **run["failed"]}.items()]
    figures = table(("figure", "found", "target", "met"), [*rows, *missing])
    return "\n\n".join([f"# {run['device']}: encoding and search", _circumstances(run), figures]) + "\n"


def _cells(line: Line, figures: Found) -> tuple[str, ...]:
    found = reduce(lambda part, key: part[key], line.key.split("."), figures)
    value = found / line.scale
    met = ("yes" if line.least <= value <= line.most else "**no**") if line.target else ""
    return line.words, f"**{line.form.format(value)}**", line.target, met


def _circumstances(run: Found) -> str:
    model, texts, search = run["model"], run["texts"], run["figures"].get("search")
    lines = [
        f"BERT with random weights in {run['precision']}: {model['layers']} layers, {model['dim']} dimensions",
        f"{texts['documents']:,} texts, {texts['mean_tokens']:.1f} tokens on average, {texts['longest']} at most, longest first",
    ]
    if search:
        sizes = f"{search['queries']:,} queries, {search['documents']:,} documents, k = {search['k']}"
        lines.append(f"search: {sizes}; equal to the CPU's for {search['checked']}")
    if late := run["figures"].get("late"):
        sizes = f"{late['queries']:,} queries of 32 tokens, {late['documents']:,} documents of {late['mean_tokens']:.1f}"
        lines.append(f"late interaction: {sizes}, 128 dimensions; equal to the CPU's for {late['checked']}")
    return circumstances(run, "", *lines)
