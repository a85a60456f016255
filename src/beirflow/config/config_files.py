"""Checks of configuration files as text: syntax and repeated keys, with their lines."""

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

from beirflow.core.errors import ConfigError
from beirflow.core.outside_yaml import TooLargeError, parse_yaml
from beirflow.data.catalogue.schema import FAST_LOADER, Problems

CONFIGURATION = "the configuration (config.yaml, --configfile, --config)"  # its name in messages

HINT = "indent with spaces, one key a line, and quote a value with one of : # , { } [ ]"
"""The usual remedies for a syntax error."""

NO_CORE = "--cores: found {}; expected a number from 1, or 'all'"


def check_options(cores: int | None, config: Iterable[str]) -> None:
    """Raise ConfigError for a number of cores or a value of ``--config`` that Snakemake accepts or explains less."""
    if cores is not None and cores < 1:  # with 0, Snakemake waits for ever
        raise ConfigError(NO_CORE.format(cores))
    for each in config:
        if not re.match(r"\w+=", each):
            todo = "expected name=value without spaces, such as systems=bm25; a target follows two dashes, --"
            raise ConfigError(f"--config: found {each!r}; {todo}")
    _check_cache()


def _check_cache() -> None:
    """Raise ConfigError if there is no place for Snakemake's cache: it would fail with its own traceback."""
    if sys.platform != "linux":
        return  # its cache is elsewhere
    cache = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))  # noqa: PTH111 (no error without a home)
    try:
        (cache / "snakemake").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        todo = "set HOME, or XDG_CACHE_HOME, to a folder that you may write"
        raise ConfigError(
            f"{cache}: Snakemake needs this folder for its cache, and it cannot be made ({error}); {todo}"
        ) from None


def check_config_files(paths: Iterable[str], what: str = CONFIGURATION) -> None:
    """Raise ConfigError with every missing file, syntax error and repeated key of files of ``what``, with lines."""
    Problems([line for path in paths for line in _problems_of(Path(path))]).raise_if_any(what)


def _problems_of(path: Path) -> list[str]:
    """Return the problems of a file, a line for each; empty if it can be read."""
    try:
        text = path.read_text(encoding="utf-8")
        value = parse_yaml(text)
    except FileNotFoundError:
        return [f"{path}: there is no such file; if this is a target, write two dashes before it: -- {path}"]
    except (OSError, UnicodeDecodeError) as error:
        return [f"{path}: cannot be read ({error}); expected a text file in YAML"]
    except TooLargeError as error:
        return [] if _is_json(text) else [f"{path}: {error}"]
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{path}:{mark.line + 1}:{mark.column + 1}" if mark else str(path)
        line = text.splitlines()[mark.line].strip() if mark and mark.line < len(text.splitlines()) else "the end of the file"
        reason = f"{error.context}, {error.problem}" if str(error.problem).startswith("but ") else error.problem
        return [] if _is_json(text) else [f"{where}: {reason} in '{line}'; {HINT}"]
    except (yaml.YAMLError, ValueError) as error:  # characters that YAML forbids; dates that do not exist
        return [f"{path}: {str(error).splitlines()[0]}; {HINT}"]
    if not isinstance(value, dict):
        kind = "nothing" if value is None else f"a {type(value).__name__}"
        return [f"{path}: found {kind}, expected keys with values, such as 'systems: bm25'; a target follows two dashes, --"]
    return repeated_keys(path, text)


def _is_json(text: str) -> bool:
    """Test whether a text is JSON with tabs, which Snakemake reads although it is no YAML."""
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def key_places(paths: Iterable[str], own_keys: Iterable[str] = ()) -> dict[str, str]:
    """Return the file and line of every key of some configuration files, such as ``custom.systems.mine.model``.

    A key of several files is in the last one, which Snakemake uses; before all files go the keys of the command, ``own_keys``.
    """
    places: dict[str, str] = {}
    for path in paths:
        text = Path(path).read_text(encoding="utf-8")
        for above, entries in [] if _is_json(text) else _entries(text):
            places |= {f"{above}{name}": f"{path}:{key.start_mark.line + 1}" for name, key, _ in entries}
    own = set(own_keys)
    return {key: "--config" if key.partition(".")[0] in own else place for key, place in places.items()}


def repeated_keys(path: Path, text: str) -> list[str]:
    """Return a sentence, with its lines, for each repeated key of a YAML file, of which every reader drops one."""
    repeated = list[str]()
    for _, entries in _entries(text):
        lines: dict[str, int] = {}
        for name, key, _ in entries:
            line, column = key.start_mark.line + 1, key.start_mark.column + 1
            if name in lines:
                repeated.append(f"{path}:{line}:{column}: duplicate key {name!r} (first in line {lines[name]}); remove one")
            lines.setdefault(name, line)
    return sorted(repeated)


def _entries(text: str) -> Iterator[tuple[str, list[tuple[str, Any, Any]]]]:
    """Yield every mapping and list of a YAML text: the path before its entries, and of each its name or place, key and value."""
    # The texts have been read without an error, whose message this loader words differently.
    nodes, seen = [("", yaml.compose(text, Loader=FAST_LOADER))], set[int]()
    while nodes:
        above, node = nodes.pop()
        if id(node) in seen:  # an alias may lead to a node above it
            continue
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            entries = [(str(key.value), key, value) for key, value in node.value]
        elif isinstance(node, yaml.SequenceNode):
            entries = [(str(number), value, value) for number, value in enumerate(node.value)]
        else:
            continue
        yield above, entries
        nodes += [(f"{above}{name}.", value) for name, _, value in entries]
