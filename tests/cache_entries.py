"""Entries of a cache that a group shares, and what happens to them."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from beirflow.core.digests import file_digest

ENTRY = "entry.json"


def files(cache: Path, name: str) -> list[Path]:
    """The files of a name in all entries."""
    return sorted(cache.glob(f"*/{name}"))


def contents(cache: Path) -> list[Path]:
    """The contents of all entries."""
    return [path for path in files(cache, "*") if path.name != ENTRY]


def damage_content(cache: Path) -> None:
    """Change the last byte of a content."""
    (content,) = contents(cache)
    content.write_bytes(content.read_bytes()[:-1] + b"?")


def damage_entry(cache: Path) -> None:
    """Cut an entry off."""
    (entry,) = files(cache, ENTRY)
    entry.write_bytes(entry.read_bytes()[:-9])


def lose_content(cache: Path) -> None:
    """Remove the content of an entry."""
    contents(cache)[0].unlink()


DAMAGED = (damage_content, damage_entry, lose_content)


def replace_content(cache: Path, change: Callable[[Path], object]) -> None:
    """Write other contents, and entries with their digests."""
    for content in contents(cache):
        change(content)
        entry = content.with_name(ENTRY)
        forged = json.loads(entry.read_bytes()) | {"digest": file_digest(content)}
        content.rename(content.with_name(f"{forged['digest']}{content.suffix}"))
        entry.write_text(json.dumps(forged))


def change_fields(cache: Path, **fields: Any) -> None:
    """Change fields of the record in an entry."""
    (entry,) = files(cache, ENTRY)
    content = json.loads(entry.read_bytes())
    entry.write_text(json.dumps({**content, "fields": {**content["fields"], **fields}}))


@contextmanager
def silent_bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A bucket of a server that accepts connections and says nothing."""
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with socket.create_server(("127.0.0.1", 0)) as server:
        accepted: list[socket.socket] = []

        def accept() -> None:
            while True:
                try:
                    accepted.append(server.accept()[0])
                except OSError:
                    return

        threading.Thread(target=accept, daemon=True).start()
        yield "s3://bucket/folder?scheme=http&endpoint_override={}:{}".format(*server.getsockname())
