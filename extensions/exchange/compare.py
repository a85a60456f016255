"""Compare two folders of results: how they were made, and their numbers."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from beirflow.audit.checks import UNREADABLE
from beirflow.audit.folder.listing import list_folder, printable
from beirflow.audit.folder.reading import is_whole, part, read_columns, read_record
from beirflow.config.main_measure import MAIN_MEASURE
from beirflow.core import layout, patterns
from beirflow.core.errors import DataError, VerdictError
from beirflow.core.records import RECORD_DIGEST, write_json
from beirflow.extensions.exchange.compared_results import (
    compare_rankings,
    compare_scores,
    doubts_about_means,
    doubts_about_values,
    names_of_columns,
    per_query,
)
from beirflow.extensions.exchange.layout import COMPARISON, COMPARISON_RECORD
from beirflow.extensions.exchange.reproducibility import (
    delta_relative_improvement,
    effect_ratio,
    paired_p_value,
    reproduced,
    root_mean_square_error,
)
from beirflow.ranking.ranking import byte_order
from beirflow.ranking.run_file import problem_with_run
from beirflow.report.pages import write_page

REPRODUCED = [MAIN_MEASURE, "Recall@100"]  # measures whose reproduction is judged: those of the BEIR paper
UNSEEN = 0.00005  # difference between means that four decimals do not show
SHOWN = 10  # reasons on the terminal; the JSON has all

ALTERED = "this is not the record that beirflow wrote"

OF_THE_JOB = ("path", "job", "code", "inputs", "outputs", "seconds", "bytes", RECORD_DIGEST)
"""Keys of a record about its job and other files; they may differ between equal results."""


def compare(*, folder: str, other: str | None) -> str:
    """Compare two folders of results, write ``comparison.json`` and ``comparison.html`` into the first, and return a short table.

    Raises VerdictError if the results do not agree (:func:`disagreements`), after both files have been written; DataError if a
    folder is not named, holds something else than plain files, or no results that can be read.
    """
    if other is None:
        raise DataError(f"no other folder of results is named; name one: beirflow compare {shlex.quote(folder)} /other/results")
    sides = [Path(folder), Path(other)]
    for side in sides:
        _refuse_odd(side)
    manifests = [_manifest(side) for side in sides]
    try:
        means = [layout.METRICS.pairs_in(part(manifest, "inputs", kind=dict)) for manifest in manifests]
        pairs = [pair for pair in means[0] if pair in means[1]]
        runs = layout.RUN.pairs_in(_common(sides, layout.RUN(system="*", dataset="*")))
        # Parts of a fusion and runs for tuning need not be evaluated.
        metrics = {pair: layout.METRICS(system=pair[0], dataset=pair[1]) for pair in runs}
        scored = [pair for pair, path in metrics.items() if all((side / path).is_file() for side in sides)]
        configuration = part(manifests[0], "configuration", kind=dict)
        baseline = configuration.get("baseline") or next(iter(configuration.get("systems") or []), None)
        doubts = _doubts(sides, list(dict.fromkeys([*pairs, *scored])), runs)
        doubted = {doubt["file"] for doubt in doubts}
        sound = [pair for pair in runs if layout.RUN(system=pair[0], dataset=pair[1]) not in doubted]
        compared = {"configuration": "configuration", "systems": "systems", "code": "repository", "environment": "environment"}
        report = {
            "folders": [str(side) for side in sides],
            "written": [manifest.get("written") for manifest in manifests],
            "differences": {
                **{name: _differences(*(manifest.get(key, {}) for manifest in manifests)) for name, key in compared.items()},
                "data": _data_differences(sides),
            },
            "only in one": [sorted(set(each) - set(pairs)) for each in means],
            "doubts": doubts,
            "scores": [compare_scores(sides, *pair) for pair in pairs],
            "rankings": [compare_rankings(sides, *pair) for pair in sound],
            "reproduction": _reproduction(sides, baseline, [pair for pair in scored if metrics[pair] not in doubted]),
        }
    except UNREADABLE as error:
        problem = f"{folder} and {other} cannot be compared: {type(error).__name__}: {error}"
        raise DataError(f"{problem}; audit both: snakemake --cores 1 audit") from error
    report["disagreements"] = disagreements(report)
    write_json(sides[0] / COMPARISON_RECORD, report)
    differing, equal = results_that_differ(report)
    values = {"title": "Comparison of two results folders", "differing": differing, "equal": equal, "measure": MAIN_MEASURE}
    write_page("comparison.html.j2", sides[0] / COMPARISON, report | values)
    if report["disagreements"]:
        raise VerdictError(for_terminal(report))
    return for_terminal(report)


def disagreements(report: Mapping[str, Any]) -> list[str]:
    """Return the disagreements of two folders of results, from the content of ``comparison.json``.

    Disagreements are unreliable numbers, pairs of system and dataset that one folder lacks, and means that differ by more than
    :data:`UNSEEN`; differences of code, configuration and rankings are none.
    """
    sentences = [f"unreliable: {doubt['folder']}/{doubt['file']}: {doubt['found']}" for doubt in report["doubts"]]
    for folder, pairs in zip(report["folders"], report["only in one"], strict=True):
        sentences += [f"only {folder} has {system} on {dataset}" for system, dataset in pairs]
    for score in report["scores"]:
        if not score["measures"]:
            sentences.append(f"{score['system']} on {score['dataset']}: no measure in common")
        apart = {name: of["difference"] for name, of in score["measures"].items() if not abs(of["difference"]) <= UNSEEN}
        if apart:
            first = MAIN_MEASURE if MAIN_MEASURE in apart else next(iter(apart))
            others = f", and {len(apart) - 1} other measures differ" if len(apart) > 1 else ""
            sentences.append(f"{score['system']} on {score['dataset']}: {first} differs by {apart[first]:+.6f}{others}")
    return sentences


def results_that_differ(report: Mapping[str, Any]) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the results of both folders whose scores or rankings differ, largest difference first, and names of the others."""
    keys = ("system", "dataset")
    rankings = {tuple(each[key] for key in keys): each for each in report["rankings"]}
    reproduced = {tuple(row[key] for key in keys): row for row in report["reproduction"] if row["measure"] == MAIN_MEASURE}
    scores = {tuple(each[key] for key in keys): each["measures"] for each in report["scores"]}
    rows, equal = [], []
    for pair in {**scores, **rankings}:
        measures, ranks = scores.get(pair, {}), rankings.get(pair)
        if any(values["difference"] for values in measures.values()) or (ranks and ranks["same"] < ranks["queries"]):
            row = dict(zip(keys, pair, strict=True)) | {"ranks": ranks, "reproduced": reproduced.get(pair)}
            rows.append(row | {"score": measures.get(MAIN_MEASURE)})
        else:
            equal.append(" on ".join(pair))
    return sorted(rows, key=lambda row: -abs(row["score"]["difference"]) if row["score"] else 0), equal


def _refuse_odd(folder: Path) -> None:
    """Refuse a folder that holds links, pipes or devices: they would lead elsewhere, or to data without end."""
    odd = list_folder(folder).odd if folder.is_dir() else {}
    if odd:
        path, kind = next(iter(sorted(odd.items())))
        problem = f"{folder} cannot be compared: {printable(path)} is {printable(kind)}, which was not followed or opened"
        raise DataError(f"{problem}; only plain files are compared, so put a copy in its place")


def _doubts(sides: list[Path], scored: list[tuple[str, str]], runs: list[tuple[str, str]]) -> list[dict[str, str]]:
    """Return the numbers of either folder that recomputing from its files does not confirm."""
    doubts = []
    for side in sides:
        metrics = [layout.METRICS(system=system, dataset=dataset) for system, dataset in scored]
        about = {path: [] if is_whole(side / path) else [ALTERED] for path in (layout.MANIFEST, *metrics)}
        for path, (system, dataset) in zip(metrics, scored, strict=True):
            record = read_record(side / path)
            means, values = part(record, "measures", kind=dict), side / layout.PER_QUERY(system=system, dataset=dataset)
            named = [*part(record, "inputs", kind=dict), *part(record, "outputs", kind=dict)]
            missing = [name for name in named if not (patterns.is_safe(name) and (side / name).is_file())]
            about[path] += [f"computed from {name}, which is missing" for name in missing]
            names = [name for name in names_of_columns(values) if name != "query_id"] if values.is_file() else []
            about[path] += doubts_about_means(means, per_query(values, names))
        for system, dataset in runs:
            path = layout.RUN(system=system, dataset=dataset)
            run = read_columns(side / path, path)
            problem = problem_with_run(run) or _problem_with_order(run)
            about[path] = [problem] if problem else []
            qrels, values = side / layout.QRELS(dataset=dataset), side / layout.PER_QUERY(system=system, dataset=dataset)
            if not about[path] and qrels.is_file() and values.is_file():
                about[layout.METRICS(system=system, dataset=dataset)] += doubts_about_values(side / path, qrels, values)
        doubts += [{"folder": str(side), "file": path, "found": says} for path, all_says in about.items() for says in all_says]
    return doubts


def _problem_with_order(run: pa.Table) -> str | None:
    """Return why the queries of a run are not in order; None if they are."""
    queries = run["query_id"].combine_chunks().dictionary_encode()
    query = queries.indices.to_numpy()
    in_order = (query[1:] >= query[:-1]).all() and (np.diff(byte_order(queries.dictionary)) > 0).all()
    return None if in_order else "found queries that are not in the byte order of their ids"


def _reproduction(sides: list[Path], baseline: str | None, pairs: list[tuple[str, str]]) -> list[dict[str, Any]]:
    """Measure the reproduction of the other folder by this one, by system, corpus and measure."""
    rows = []
    for system, dataset in pairs:
        mine = [per_query(side / layout.PER_QUERY(system=system, dataset=dataset), REPRODUCED) for side in sides]
        compared = system != baseline and (baseline, dataset) in pairs  # else the name may be a path to anywhere
        bases = sides if compared else []
        base = [per_query(side / layout.PER_QUERY(system=baseline, dataset=dataset), REPRODUCED) for side in bases]
        for measure in REPRODUCED:
            if not all(scores.get(measure) for scores in mine) or mine[0][measure].keys() != mine[1][measure].keys():
                continue
            here, there = (scores[measure] for scores in mine)
            row = {"system": system, "dataset": dataset, "measure": measure, "rmse": root_mean_square_error(there, here)}
            row |= reproduced(there, here)
            row |= {"p": paired_p_value(there, here), "baseline": None, "er": None, "dri": None}
            if compared and all(scores.get(measure) for scores in base):
                pair = tuple((base[i][measure], mine[i][measure]) for i in (1, 0))
                row |= {"baseline": baseline, "er": effect_ratio(*pair), "dri": delta_relative_improvement(*pair)}
            rows.append(row)
    return rows


def _manifest(folder: Path) -> Any:
    try:
        return read_record(folder / layout.MANIFEST)
    except (OSError, ValueError) as error:
        todo = "expected a results folder with a summary, which -- summary writes"
        raise DataError(f"{folder}/{layout.MANIFEST} cannot be read ({error}); {todo}") from error


def _common(sides: list[Path], pattern: str) -> list[str]:
    """Return the files with a name of a pattern that both folders have."""
    here, there = ({path.relative_to(side).as_posix() for path in side.glob(pattern)} for side in sides)
    return sorted(here & there)


def _differences(one: Any, other: Any, path: str = "") -> list[dict[str, Any]]:
    """Return the places where two values differ, each with the values of both sides."""
    if isinstance(one, dict) and isinstance(other, dict):
        keys = [*one, *(key for key in other if key not in one)]
        return [
            difference for key in keys for difference in _differences(one.get(key), other.get(key), f"{path}.{key}".lstrip("."))
        ]
    return [] if one == other else [{"what": path, "here": one, "there": other}]


def _data_differences(sides: list[Path]) -> list[dict[str, Any]]:
    """Return the corpora of the same name, and the models, whose records differ."""
    differences = []
    for kind in (layout.CORPUS, layout.MODEL, layout.MODEL_OF_DATASET_RECORD):
        pattern = kind(system="*", dataset="*")
        for name in _common(sides, pattern):
            one, other = (
                {key: value for key, value in read_record(side / name).items() if key not in OF_THE_JOB} for side in sides
            )
            differences += _differences(one, other, name)
    return differences


def for_terminal(report: Mapping[str, Any]) -> str:
    """Return a short summary of ``comparison.json``: the verdict, results that differ, and the number of other differences."""
    differing, equal = results_that_differ(report)
    reasons = report["disagreements"]
    lines = [f"{report['folders'][0]} compared with {report['folders'][1]}"]
    lines.append("The results disagree:" if reasons else "The results agree to four decimals.")
    lines += [f"  {each}" for each in reasons[:SHOWN]] + [f"  and {len(reasons) - SHOWN} others"] * (len(reasons) > SHOWN)
    width = max((len(f"{row['system']} on {row['dataset']}") for row in differing), default=0)
    if differing:
        lines.append(
            f"{'':{width}}  {MAIN_MEASURE:>9} {'other':>8} {'Δ':>8}  {'90 % interval':>18} {'RBO':>7} {'same rankings':>14}"
        )
    for row in differing:
        score, ranks, tested = row["score"], row["ranks"], row["reproduced"]
        numbers = f"{score['here']:9.4f} {score['there']:8.4f} {score['difference']:+z8.4f}" if score else " " * 27
        interval = f"{tested['low']:+z.4f} to {tested['high']:+z.4f}" if tested and tested["low"] is not None else ""
        same = (
            f" {'' if ranks['rbo'] is None else format(ranks['rbo'], '.4f'):>7} {ranks['same']:>6} of {ranks['queries']:>4}"
            if ranks
            else ""
        )
        lines.append(f"{row['system'] + ' on ' + row['dataset']:{width}}  {numbers}  {interval:>18}{same}".rstrip())
    if equal:
        lines.append(f"Equal in all measures and rankings: {', '.join(equal[:SHOWN])}{' and others' * (len(equal) > SHOWN)}")
    if not differing and not equal:
        lines.append("  they have no system on a dataset in common")
    for row in (row for row in differing if row["reproduced"] and row["reproduced"]["reproduced"] is False):
        lines.append(f"{row['system']} on {row['dataset']}: not shown to be reproduced within {row['reproduced']['margin']:g}")
    counts = ", ".join(f"{name}: {len(each)}" for name, each in report["differences"].items())
    return "\n".join([*lines, f"Settings and files that differ: {counts}", f"Everything: {report['folders'][0]}/{COMPARISON}"])
