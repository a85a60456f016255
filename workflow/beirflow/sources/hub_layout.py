"""The files of a hub dataset that hold documents, queries and judgements, in the layouts of BeIR, MTEB and NanoBEIR.

Such a dataset has configs: ``corpus``, ``queries``, and ``default`` or ``qrels``; with several languages or parts, each has the
name of one as prefix or suffix. A config has splits, and a split has files. The card, README.md, may assign them; otherwise
their names do.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import yaml

from beirflow.files.errors import DataError

CORPUS, QUERIES, QRELS = ROLES = ("corpus", "queries", "qrels")

CONFIGS = {CORPUS: ("corpus",), QUERIES: ("queries", "query"), QRELS: ("default", "qrels")}
"""What MTEB calls the config of each."""

OTHER_TASKS = {
    "top_ranked": "each query has candidates of its own, which are to be reranked",
    "instruction": "its queries come with instructions, which change what is relevant",
}
"""Configs of datasets that are not for retrieval, and why."""

CARD = "README" + ".md"
"""The card of a dataset."""

SAFE = re.compile(r"(?:\w[\w.=+-]*/)*\w[\w.=+-]*", re.ASCII)
"""The path of a file that names one inside its repository, and no pattern."""

DATA_FILE = re.compile(r"(?:(?P<folder>[^/]+)/)?(?P<split>[^/]+?)(?:-\d{5}-of-\d{5})?\.(?:jsonl|jsonl\.gz|parquet|tsv)")

Splits = dict[str, list[str]]
"""Files by split."""


@dataclass(frozen=True)
class HubForm:
    """A dataset on a hub.

    Attributes:
        hub: Its id there.
        revision: The commit that pins it.
        subset: The language or part of it, if it has several.
        qrels_hub: Id of another dataset that has the judgements; None where it has them itself.
        qrels_revision: The commit that pins that one.
        kind: What tells this form from others.
    """

    hub: str
    revision: str
    subset: str | None = None
    qrels_hub: str | None = None
    qrels_revision: str | None = None
    kind: Literal["hub"] = "hub"

    has_splits: ClassVar[bool] = True
    own_candidates: ClassVar[bool] = False

    def place(self, role: str) -> tuple[str, str]:
        """Id and revision of the dataset that has the documents, the queries or the judgements."""
        if role == QRELS and self.qrels_hub and self.qrels_revision:
            return self.qrels_hub, self.qrels_revision
        return self.hub, self.revision


def files_of(role: str, names: Iterable[str], card: str, *, subset: str | None, split: str, where: str) -> list[str]:
    """The files that hold the documents, the queries or the judgements.

    Args:
        role: ``corpus``, ``queries`` or ``qrels``.
        names: Every file of the repository.
        card: Its README.md; empty if there is none.
        subset: The language or part, if it has several.
        split: The judgements that are evaluated. Documents and queries may be called otherwise where they have one split only.
        where: How messages call the repository.

    Returns:
        Their names, in order.

    Raises:
        DataError: There are none, or more than one could be meant.
    """
    configs = _configs([name for name in names if SAFE.fullmatch(name)], card, where)
    for config in (_with(subset, name)[0] for name in OTHER_TASKS):
        if config in configs:
            task = OTHER_TASKS[config.rpartition("-")[2]]
            raise DataError(f"{where}: this is not a plain retrieval dataset: it has {config!r}, so {task}")
    wanted = [config for name in CONFIGS[role] for config in _with(subset, name)]
    found = next((config for config in wanted if config in configs), None)
    if found is None:
        todo = "" if subset else "; name one of its languages or parts in 'subset'"
        raise DataError(f"{where}: expected {' or '.join(wanted)} in it, found {_listed(configs)}{todo}")
    splits = configs[found]
    if split in splits:
        return sorted(splits[split])
    if role != QRELS and len(splits) == 1:
        return sorted(next(iter(splits.values())))
    raise DataError(f"{where}: {found!r} has no split {split!r}, it has {_listed(splits)}; name one in 'split'")


def _with(subset: str | None, config: str) -> list[str]:
    """What the config of a subset is called."""
    return [f"{subset}-{config}", f"{config}-{subset}"] if subset else [config]


def _listed(names: Iterable[str]) -> str:
    found = sorted(names)
    return ", ".join(found[:30]) + (f" and {len(found) - 30} others" if len(found) > 30 else "") or "nothing"


def _configs(names: list[str], card: str, where: str) -> dict[str, Splits]:
    """Files by config and split: by their names, and, where the card has a config of that name, as the card says."""
    found: dict[str, Splits] = {}
    for name in names:
        if match := DATA_FILE.fullmatch(name):
            folder, split = match["folder"], match["split"]
            if folder is None:
                folder = split if split.rpartition("-")[2] in (CORPUS, QUERIES) else QRELS
            found.setdefault("default" if folder == "data" else folder, {}).setdefault(split, []).append(name)
    return found | _configs_of_card(names, card, where)


def _configs_of_card(names: list[str], card: str, where: str) -> dict[str, Splits]:
    """What the card says in its front matter."""
    if not card.startswith("---"):
        return {}
    try:
        front = yaml.safe_load(card.split("\n---", 1)[0].removeprefix("---"))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise DataError(f"{where}: the front matter of {CARD} is not YAML ({str(error)[:200]})") from None
    listed = front.get("configs") if isinstance(front, dict) else None
    found: dict[str, Splits] = {}
    for config in listed if isinstance(listed, list) else []:
        if isinstance(config, dict) and isinstance(config.get("config_name"), str) and "data_files" in config:
            found[config["config_name"]] = _splits_of(config, names)
    return found


def _splits_of(config: Mapping[str, Any], names: list[str]) -> Splits:
    """Files of one config of the card, by split."""
    folder = config.get("data_dir")
    said = config["data_files"]
    entries = said if isinstance(said, list) and all(isinstance(each, dict) for each in said) else [{"path": said}]
    splits: Splits = {}
    for entry in entries:
        paths = entry.get("path")
        for path in paths if isinstance(paths, list) else [paths]:
            if isinstance(path, str):
                pattern = _expression(f"{folder}/{path}" if isinstance(folder, str) else path)
                splits.setdefault(str(entry.get("split", "train")), []).extend(filter(pattern.fullmatch, names))
    return {split: files for split, files in splits.items() if files}


def _expression(pattern: str) -> re.Pattern[str]:
    """A pattern of paths as an expression: ``*`` within a folder, ``**`` in all below it."""
    parts = re.split(r"(\*\*/?|\*|\?)", pattern.removeprefix("./"))
    meanings = {"**": ".*", "**/": "(?:.*/)?", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(meanings.get(part, re.escape(part)) for part in parts))
