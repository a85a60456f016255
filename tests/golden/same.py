"""Comparison of two folders of results: equal but for what is measured, and for the code that made them."""

import csv
import gzip
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

NAMES_ONLY = re.compile(r"(logs|benchmarks|energy)/.*|.*\.lock")
"""Files whose names are compared and whose contents are not: logs and measurements."""

PAGES = re.compile(
    r".*\.(html|svg|pdf|tex|md|bib|rst|xml)|figures/.*\.csv|(report|choice|gate|comparison)\.json|choice\.csv|beir_paper/.*"
    r"|ro-crate-metadata\.json|code/configuration\.yaml"
)
"""Files that show results. Measured numbers are in them, so both sides make them from one folder of results."""

CODE = re.compile(r"code/(?!configuration\.yaml).*")
"""The copy of the code in the crate: neither its files nor what the crate says of them are compared."""

MASKED_KEYS = re.compile(
    r"seconds|(?!published_).*_seconds|memory|load|written|.*_ms|.*queries_per_second|repetitions|documents_per_second"
    r"|code|search_code|scorer_code|record_sha256|published_sha256|command|started"
)
"""Keys of JSON files, at any depth, of what is measured, of the code and command that made a result, and of digests of these."""

MASKED_COLUMNS = re.compile(
    r"seconds|(?!published_).*_seconds|.*_per_second|peak_.*memory_bytes|load_per_core|processor_share|.*joules|co2_grams"
)
"""Columns of CSV files that are measured."""

MASKED_TEXT = (
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|\+00:00| UTC)?"), "<time>"),
    (re.compile(r"-aside-\d{8}T\d{6}Z"), "-aside-<time>"),
    (re.compile(r"[\d,]+ bytes, have the digests"), "<number> bytes, have the digests"),  # of records too, which hold seconds
    (re.compile(r"digest of the code: [0-9a-f]{16}"), "digest of the code: <code>"),
    # Style and scripts of pages, which a browser tests, and their digests.
    (re.compile(r"<style>.*?</style>|<script>.*?</script>", re.DOTALL), "<code of the page>"),
    (re.compile(r">\s*<"), ">\n<"),
    (re.compile(r"(style|script)-src &#39;sha256-[\w+/=]{44}&#39;"), "<digest>"),
)
"""What differs between two pages that were made from one folder of results."""

OF_SEVERAL = "metrics_sha256"
"""A column with the digest of a record, which is compared by its path, or of those of several, which is not compared."""

SHA256 = re.compile(r"\b[0-9a-f]{64}\b")


def differences(before: Path, after: Path, *, pages: bool) -> Iterator[str]:
    """Yield a line for each difference of two folders of results, by path; of pages only where these are compared."""
    names = {
        folder: {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()} for folder in (before, after)
    }
    names = {folder: {name for name in found if not CODE.fullmatch(name)} for folder, found in names.items()}
    yield from (f"{name}: only in the earlier results" for name in sorted(names[before] - names[after]))
    yield from (f"{name}: only in the later results" for name in sorted(names[after] - names[before]))
    texts = {folder: partial(_text_of, digests=_names_by_digest(folder, names[folder])) for folder in (before, after)}
    for name in sorted(names[before] & names[after]):
        if NAMES_ONLY.fullmatch(name) or (PAGES.fullmatch(name) and not pages):
            continue
        compare = _comparison(name)
        yield from (f"{name}: {each}" for each in compare((before / name, texts[before]), (after / name, texts[after])))


def remove_pages(results: Path) -> None:
    """Delete the files that only show results."""
    for path in sorted(results.rglob("*")):
        if path.is_file() and PAGES.fullmatch(str(path.relative_to(results))):
            path.unlink()


Side = tuple[Path, Callable[[str], str]]
"""A file, and the function that masks digests and times in its texts."""


def _comparison(name: str) -> Callable[[Side, Side], Iterator[str]]:
    return {
        ".json": _compare_json,
        ".parquet": _compare_parquet,
        ".csv": _compare_csv,
        **dict.fromkeys((".html", ".svg", ".md", ".tex", ".bib", ".xml", ".jsonl", ".yaml", ".gz"), _compare_text),
    }.get(Path(name).suffix, _compare_bytes)


def _compare_bytes(first: Side, second: Side) -> Iterator[str]:
    if first[0].read_bytes() != second[0].read_bytes():
        yield "other bytes"


def _compare_json(first: Side, second: Side) -> Iterator[str]:
    return _json_differences(*(_masked(json.loads(path.read_text(encoding="utf-8")), text) for path, text in (first, second)))


def _compare_parquet(first: Side, second: Side) -> Iterator[str]:
    before, after = (pq.read_table(path) for path, _ in (first, second))
    records = [_masked(_metadata(table), text) for table, (_, text) in ((before, first), (after, second))]
    yield from _json_differences(*records, "metadata: ")
    if not before.schema.equals(after.schema):
        yield f"schema {after.schema}, expected {before.schema}"
    if before.num_rows != after.num_rows:
        yield f"{after.num_rows} rows, expected {before.num_rows}"
    else:
        for name in (name for name in before.column_names if name in after.column_names):
            if repr(before[name].to_pylist()) != repr(after[name].to_pylist()):  # not-a-number does not equal itself
                yield f"{name}: other values"


def _metadata(table: pa.Table) -> dict[str, Any]:
    """Return the metadata of a table, parsed where they are records."""
    texts = {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()}
    return {key: json.loads(value) if value.startswith("{") else value for key, value in texts.items()}


def _compare_csv(first: Side, second: Side) -> Iterator[str]:
    before, after = (_rows(path) for path, _ in (first, second))
    if before[:1] != after[:1]:
        yield f"columns {after[:1]}, expected {before[:1]}"
    elif len(before) != len(after):
        yield f"{len(after)} lines, expected {len(before)}"
    else:
        for number, (row, other) in enumerate(zip(before[1:], after[1:], strict=True), 2):
            for column, value, found in zip(before[0], row, other, strict=True):
                digests = [text(digest) for (_, text), digest in ((first, value), (second, found))]
                of_several = column == OF_SEVERAL and all(SHA256.fullmatch(digest) for digest in digests)
                if digests[0] != digests[1] and not of_several and not MASKED_COLUMNS.fullmatch(column):
                    yield f"line {number}, {column}: {found!r}, expected {value!r}"


def _rows(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.reader(stream))


def _compare_text(first: Side, second: Side) -> Iterator[str]:
    before, after = (text(_read_text(path)).splitlines() for path, text in (first, second))
    if len(before) != len(after):
        yield f"{len(after)} lines, expected {len(before)}"
    for number, (line, other) in enumerate(zip(before, after, strict=False), 1):
        if line != other:
            place = next((place for place, pair in enumerate(zip(line, other, strict=False)) if pair[0] != pair[1]), 0)
            part = slice(max(0, place - 40), place + 120)
            yield f"line {number}: {other[part]!r}, expected {line[part]!r}"


def _read_text(path: Path) -> str:
    return gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text(encoding="utf-8")


def _names_by_digest(folder: Path, names: set[str]) -> dict[str, str]:
    """Return the path of each file by its sha256: two texts that name one file by its digest are then compared by that path."""
    return {hashlib.sha256((folder / name).read_bytes()).hexdigest(): f"<digest of {name}>" for name in sorted(names)}


def _text_of(text: str, digests: Mapping[str, str]) -> str:
    for pattern, mask in MASKED_TEXT:
        text = pattern.sub(mask, text)
    return SHA256.sub(lambda found: digests.get(found[0], found[0]), text)


def _masked(value: Any, text: Callable[[str], str]) -> Any:
    if isinstance(value, dict):
        return {text(key): "masked" if MASKED_KEYS.fullmatch(key) else _masked(each, text) for key, each in value.items()}
    if isinstance(value, list):
        return [_masked(each, text) for each in value if not (isinstance(each, dict) and CODE.fullmatch(str(each.get("@id"))))]
    return text(value) if isinstance(value, str) else value


def _json_differences(before: Any, after: Any, where: str = "") -> Iterator[str]:
    """Yield each difference of two values, with its place."""
    if isinstance(before, dict) and isinstance(after, dict):
        yield from (f"{where}{key}: missing" for key in before if key not in after)
        yield from (f"{where}{key}: new" for key in after if key not in before)
        for key in before:
            if key in after:
                yield from _json_differences(before[key], after[key], f"{where}{key}: ")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for place, pair in enumerate(zip(before, after, strict=True)):
            yield from _json_differences(*pair, f"{where}{place}: ")
    elif repr(before) != repr(after):  # 1, 1.0 and true are three values, and not-a-number is one
        yield f"{where}{str(after)[:200]!r}, expected {str(before)[:200]!r}"
