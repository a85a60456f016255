"""The files of a hub dataset that hold documents, queries and judgements, in the layouts of BeIR, MTEB and NanoBEIR.

Such a dataset has configs: ``corpus``, ``queries``, and ``default`` or ``qrels``; with several languages or parts, each has the
name of one as prefix or suffix. A config has splits, and a split has files. The card, README.md, may assign them; otherwise
their names do.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count, islice
from typing import Any

import yaml

from beirflow.core.errors import DataError, some
from beirflow.data.sources.forms import CORPUS, FURTHER, INSTRUCTION, QREL_DIFF, QRELS, QUERIES, ROLES, TOP_RANKED
from beirflow.data.sources.hub_patterns import has_wildcards, matching

OTHER_TASKS = {
    TOP_RANKED: "each query has candidates of its own, which are to be reranked",
    INSTRUCTION: "its queries come with instructions, which change what is relevant",
    QREL_DIFF: "its measure compares two runs of each topic, before and after a change of what is relevant",
}
"""Configs of datasets that are not for plain retrieval, and why."""

CONFIGS = {
    CORPUS: ("corpus",),
    QUERIES: ("queries", "query"),
    QRELS: ("default", "qrels"),
    **{name: (name,) for name in OTHER_TASKS},
}
"""MTEB's names of the config of each part."""

OTHER_LAYOUT = (
    "this layout is not read: documents, queries and judgements must each have a config; write them as files in BEIR form instead"
)
"""Advice for a dataset that has them elsewhere: as splits of one config, or as lists in its queries."""


@dataclass(frozen=True)
class Layout:
    """Places of documents, queries and judgements in a dataset whose configs, splits or columns have other names."""

    configs: Mapping[str, str] = field(
        default_factory=dict
    )  # by role, the name of the config, if not MTEB's; ``{subset}`` and ``{split}`` are filled in
    # by role, the name of the split; ``{subset}`` and ``{split}`` are replaced by those of the dataset
    splits: Mapping[str, str] = field(default_factory=dict)
    # by role, their name of each column by ours; two names of texts are joined with a space
    columns: Mapping[str, Mapping[str, str | tuple[str, str]]] = field(default_factory=dict)
    length: str | None = None  # column whose number, where it has one, must be the split


def _bright(documents: str, judged: str) -> Layout:
    return Layout(
        configs={CORPUS: documents, QUERIES: "examples", QRELS: "examples"},
        splits=dict.fromkeys(ROLES, "{subset}"),
        columns={
            CORPUS: {"_id": "id", "text": "content"},
            QUERIES: {"_id": "id", "text": "query"},
            QRELS: {"query-id": "id", "corpus-id": judged},
        },
    )


def _longembed(length: str | None = None) -> Layout:
    return Layout(
        configs=dict.fromkeys(ROLES, "{subset}"),
        splits={role: role for role in ROLES},
        columns={CORPUS: {"_id": "doc_id"}, QUERIES: {"_id": "qid"}, QRELS: {"query-id": "qid", "corpus-id": "doc_id"}},
        length=length,
    )


LAYOUTS = {
    "bright": _bright("documents", "gold_ids"),
    "bright-long": _bright("long_documents", "gold_ids_long"),
    "longembed": _longembed(),
    "longembed-lengths": _longembed("context_length"),
    "cure": Layout({CORPUS: "corpus", QUERIES: "queries-{subset}", QRELS: "qrels"}, dict.fromkeys(ROLES, "{split}")),
    "cqadupstack-nl": Layout({CORPUS: "corpus", QUERIES: "queries", QRELS: "test"}, dict.fromkeys(ROLES, "{split}")),
    "beir-decontaminated": Layout({QRELS: "qrels-{split}"}),
    "r2med": Layout(columns={CORPUS: {"_id": "id"}, QUERIES: {"_id": "id"}, QRELS: {"query-id": "q_id", "corpus-id": "p_id"}}),
    **dict.fromkeys(FURTHER, Layout()),
    "freshstack": Layout(
        configs=dict.fromkeys(ROLES, "{subset}"),
        splits={CORPUS: "train", QUERIES: "{split}", QRELS: "{split}"},
        columns={QUERIES: {"_id": "query_id", "text": ("query_title", "query_text")}, QRELS: {"query-id": "query_id"}},
    ),
}
"""Layouts by name: of BRIGHT, its long documents, LongEmbed, its sets of several lengths, CUREv1, BEIR-NL's CQADupStack,
decontaminated BEIR, R2MED, FollowIR and mFollowIR, InstructIR, candidates of queries as in OBLIQ-Bench, and FreshStack."""

OWN_FILES = "write the dataset as files in BEIR form, and name their folder"

CARD = "README" + ".md"  # the card of a dataset
FRONT_MATTER = 1 << 21  # limit of the characters of the front matter of a card: one with a thousand configs has some 100,000

MOST_PATTERNS, MOST_WITH_WILDCARDS, LONGEST_PATTERN = 10_000, 100, 1_000
"""Limits for a config: entries of ``data_files``, entries with wildcards, and characters of an entry."""

PART = re.compile(r"(?P<whole>.*?)-(?P<number>\d{1,9})-of-(?P<parts>\d{1,9})(?=[-.]|$).*")
"""The path of one of several files that make a whole."""

NO_DATA = re.compile(
    r"[^.]+|dataset_infos?\.json|.*\.(md|rst|txt|html|pdf|png|jpe?g|svg|ya?ml|cff|bib|py|ipynb|sh)", re.IGNORECASE
)
"""The name of a file that describes data."""

OTHER_FORMAT = re.compile(r".*\.(zst|bz2|xz|lz4|zip|tar|tgz|7z|arrow|feather|csv)", re.IGNORECASE | re.DOTALL)
"""The name of a file of a format that would be taken for JSON lines."""

EXTENSIONS = re.compile(r"(\.[a-z]\w*)+", re.IGNORECASE | re.ASCII)

DATA_FILE = re.compile(r"(?:(?P<folder>[^/]+)/)?(?P<split>[^/]+?)(?:-\d{1,9}-of-\d{1,9})?\.(?:jsonl|jsonl\.gz|parquet|tsv)")

Splits = dict[str, list[str]]  # files by split


def files_of(
    role: str,
    names: Iterable[str],
    card: str,
    *,
    subset: str | None,
    split: str,
    where: str,
    layout: str | None = None,
    is_cache: bool = False,
) -> list[str]:
    """Return the names of the files that hold the documents, the queries or the judgements, in order.

    Args:
        role: ``corpus``, ``queries``, ``qrels``, or one of the further parts of the layout.
        names: Every file of the repository.
        card: Its README.md; empty if there is none.
        subset: The language or part, if it has several.
        split: The judgements that are evaluated. Documents and queries may be called otherwise where they have one split only.
        where: How messages call the repository.
        layout: Its layout in :data:`LAYOUTS`, if that is another.
        is_cache: Whether ``names`` are those of a cache, which may lack the files of splits that were not fetched.

    Returns:
        Their names.

    Raises:
        DataError: There are none, or more than one could be meant.
    """
    names = list(names)
    configs: dict[str, Any] = _configs(names) | _configs_of_card(card, where)
    for name, task in OTHER_TASKS.items():
        config = next((config for config in (*_with(subset, name), name) if config in configs), None)
        if config and name not in FURTHER.get(layout or "", ()):
            known = " or ".join(f"'layout: {each}'" for each, parts in FURTHER.items() if name in parts)
            raise DataError(f"{where}: this is not a plain retrieval dataset: it has {config!r}, so {task}; say {known} for it")
    named = LAYOUTS[layout] if layout else Layout()
    wanted = [config for name in CONFIGS[role] for config in _with(subset, name)]
    wanted = [named.configs[role].format(subset=subset, split=split)] if role in named.configs else wanted
    split = named.splits.get(role, "{split}").format(subset=subset, split=split)
    chosen = next((config for config in wanted if config in configs), None)
    if chosen is None:
        in_parts = any({CORPUS, QUERIES} & {*config.split("-", 1), *config.rsplit("-", 1)} for config in configs if "-" in config)
        todo = "name one of its languages or parts in 'subset'" if in_parts else OTHER_LAYOUT
        raise DataError(f"{where}: expected {' or '.join(wanted)} in it, found {_listed(configs)}; {todo}")
    of_card, only = chosen in _configs_of_card(card, where), split if is_cache else None
    splits = _splits_of(configs[chosen], names, where, only) if of_card else configs[chosen]
    named_split = split if split in splits else None
    if named_split is None and role != QRELS and len(splits) == 1 and role not in named.splits:
        [split] = splits
    if split not in splits:
        raise DataError(f"{where}: {chosen!r} has no split {split!r}, it has {_listed(splits)}; name one in 'split'")
    files = sorted(splits[split])
    _check_names(files, where)
    _check_parts(files, names, where)
    if not of_card:
        _check_beside(files, names, split, only=named_split is None, where=where)
    return files


def _check_names(files: Iterable[str], where: str) -> None:
    """Refuse a file whose path may lead elsewhere or cannot be printed, or whose format is not read."""
    for file in files:
        parts = file.split("/")
        elsewhere = "\\" in file or {"", ".", ".."} & {*parts} or any(part[1:2] == ":" for part in parts)
        if elsewhere or not file.isprintable():
            problem = f"{where}: the file {file!r} belongs to the dataset, but a file of that name is not read"
            raise DataError(f"{problem}; {OWN_FILES}")
        if OTHER_FORMAT.fullmatch(file):
            known = "known are JSON lines, also gzipped, Parquet, and judgements in .tsv"
            raise DataError(
                f"{where}: the file {file} belongs to the dataset, but its format is not read; {known}. So {OWN_FILES}"
            )


def _check_parts(files: Iterable[str], names: Iterable[str], where: str) -> None:
    """Refuse files that are not all the parts of a whole that their names count, from 0 or from 1."""
    wholes: dict[tuple[str, str], dict[int, re.Match[str]]] = {}
    for match in filter(None, map(PART.fullmatch, files)):
        wholes.setdefault((match["whole"], match["parts"]), {})[int(match["number"])] = match
    for (whole, parts), found in wholes.items():
        first = 0 if 0 in found else 1
        if len(found) == int(parts) and max(found) == first + int(parts) - 1:
            continue
        example = found[min(found)]
        absent = next(number for number in count(first) if number not in found)
        missing = f"{whole}-{absent:0{len(example['number'])}}-of-{parts}"
        others = [name for name in names if name.startswith(missing)]
        instead = f"; {others[0]}, which is there, is not read" if others else ""
        which = f", without {missing}{instead}" if absent < first + int(parts) else ""
        problem = f"{where}: by its name {example[0]!r} is one of {int(parts)} parts, but {len(found)} would be read{which}"
        raise DataError(f"{problem}. Name a revision that has all of them and no others, or {OWN_FILES}")


def _check_beside(files: Sequence[str], names: Iterable[str], split: str, *, only: bool, where: str) -> None:
    """Refuse other files of data that may be parts of a split, which no card defines.

    These are files with the name of the split and a number, and all others in its folder if it is the ``only`` split. A file that
    differs in its extensions alone is a copy in another format.
    """
    folder, _, _ = files[0].rpartition("/")
    inside = f"{folder}/" if folder else ""
    for name in sorted({*names} - {*files}):
        rest = name.removeprefix(inside)
        if not name.startswith(inside) or (not folder and "/" in name) or any(_hidden(name)):
            continue
        extensions = EXTENSIONS.search(rest)
        stem = rest[: extensions.start()] if extensions and extensions.end() == len(rest) else rest
        may_belong = stem != split if only and folder else re.fullmatch(rf"{re.escape(split)}[\W_].*\d.*", stem)
        if may_belong and not NO_DATA.fullmatch(rest.rpartition("/")[2]):
            problem = f"{where}: {files[0]} is read, but {name} may belong to it too, and {CARD} does not define the files"
            raise DataError(f"{problem}. To decide it, {OWN_FILES}")


def _with(subset: str | None, config: str) -> list[str]:
    """Return the names that the config of a subset can have."""
    return [f"{subset}-{config}", f"{config}-{subset}"] if subset else [config]


def _listed(names: Iterable[str]) -> str:
    return some(sorted(names), 30) or "nothing"


def _configs(names: list[str]) -> dict[str, Splits]:
    """Return files by config and split, according to their names."""
    configs: dict[str, Splits] = {}
    for name in names:
        if (match := DATA_FILE.fullmatch(name)) and not any(_hidden(name)):
            folder, split = match["folder"], match["split"]
            if folder is None:
                folder = split if split.rpartition("-")[2] in (CORPUS, QUERIES) else QRELS
            # Hubs put the files of an only config into data/.
            configs.setdefault("default" if folder == "data" else folder, {}).setdefault(split, []).append(name)
    return configs


@lru_cache(maxsize=len(ROLES))
def _configs_of_card(card: str, where: str) -> dict[str, Mapping[str, Any]]:
    """Return the configs in the front matter of a card by name; every scalar is a text."""
    if not card.startswith("---"):
        return {}
    front = card.split("\n---", 1)[0].removeprefix("---")
    if len(front) > FRONT_MATTER:
        raise DataError(f"{where}: the front matter of {CARD} has {len(front):,} characters, more than {FRONT_MATTER:,}")
    try:
        content = yaml.load(front, yaml.BaseLoader)  # noqa: S506 - it makes texts, lists and dicts only, and merges nothing
    except (yaml.YAMLError, RecursionError) as error:
        raise DataError(f"{where}: the front matter of {CARD} is not YAML ({str(error)[:200]})") from None
    listed = content.get("configs") if isinstance(content, dict) else None
    return {
        config["config_name"]: config
        for config in (listed if isinstance(listed, list) else [])
        if isinstance(config, dict) and isinstance(config.get("config_name"), str) and "data_files" in config
    }


def _splits_of(config: Mapping[str, Any], names: list[str], where: str, only: str | None = None) -> Splits:
    """Return the files of a config of the card by split, or of one split; a file that a split names twice counts once."""
    patterns = list(islice(_patterns_of(config, where), MOST_PATTERNS + 1))
    if len(patterns) > MOST_PATTERNS or sum(has_wildcards(pattern) for _, pattern in patterns) > MOST_WITH_WILDCARDS:
        limits = f"{MOST_PATTERNS:,} files, or {MOST_WITH_WILDCARDS} patterns"
        raise DataError(f"{where}: {CARD} lists more than {limits}, for {config['config_name']!r}")
    if only in {split for split, _ in patterns}:
        patterns = [each for each in patterns if each[0] == only]
    splits: dict[str, dict[str, None]] = {}
    for split, pattern in patterns:
        splits.setdefault(split, {}).update(dict.fromkeys(_named_by(pattern, names, where)))
    return {split: list(files) for split, files in splits.items()}


def _named_by(pattern: str, names: list[str], where: str) -> list[str]:
    """Return the files that a pattern of the card names; at least one, since none would silently be fewer documents."""
    if len(pattern) > LONGEST_PATTERN:
        raise DataError(
            f"{where}: {CARD} has a pattern of {len(pattern):,} characters; at most {LONGEST_PATTERN:,} were expected"
        )
    pattern = pattern.removeprefix("./")
    try:
        files = matching(pattern, names)
    except ValueError as error:
        raise DataError(f"{where}: data_files of {CARD}: {error}") from None
    files = [file for file in files if _hidden(file) == _hidden(pattern)]
    if not files:
        raise DataError(f"{where}: {CARD} names {pattern!r}, but no file of the dataset is called so")
    return files


def _hidden(path: str) -> tuple[int, int]:
    """Count hidden files and folders, and folders such as ``__x``, in a path: a pattern of a hub reaches only those it names."""
    parts = path.split("/")
    return sum(part.startswith(".") for part in parts), sum(part.startswith("__") for part in parts[:-1])


def _patterns_of(config: Mapping[str, Any], where: str) -> Iterator[tuple[str, str]]:
    """Yield the split and the pattern of each entry of a config of the card."""
    data_files, folder = config["data_files"], config.get("data_dir")
    entries = (
        data_files
        if isinstance(data_files, list) and all(isinstance(each, dict) for each in data_files)
        else [{"path": data_files}]
    )
    for entry in entries:
        paths, split = entry.get("path"), entry.get("split", "train")
        for path in paths if isinstance(paths, list) else [paths]:
            if not isinstance(path, str) or not isinstance(split, str):
                raise DataError(f"{where}: data_files of {CARD} must hold texts, or lists of texts; see its configs")
            yield split, f"{folder}/{path}" if isinstance(folder, str) else path
