"""A folder or bucket that a group shares: representations and hits are taken from it, and kept there for others."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from beirflow.core.extensions import Extension, Store
from beirflow.core.keys import OrNull, matching

if TYPE_CHECKING:
    from beirflow.run.rule_call import Work

Place: Any = matching(
    r"/[^\n]*|(s3|gs)://[^\s/@?]+(/[^\s@?]*)?(\?((endpoint_override|scheme|region)=[^\s&@]+(&|$))+)?",
    "the absolute path of a folder, or a bucket as s3://bucket/folder or gs://bucket/folder, without a user or a password, and "
    "perhaps with ?endpoint_override=host:port, scheme and region",
)


@dataclass(frozen=True)
class Keys:
    """Keys of the configuration."""

    cache: OrNull[Place] = None
    """Folder or bucket that a group shares: what models compute and searches find is taken from it, else kept there."""


def _take(work: "Work", path: Path) -> Any:
    if (place := work.rule.config.get("cache")) is None:
        return None
    from beirflow.extensions.cache.entries import take

    return take(place, work, path)


def _keep(work: "Work", path: Path, fields: Mapping[str, Any]) -> None:
    if (place := work.rule.config.get("cache")) is not None:
        from beirflow.extensions.cache.entries import keep

        keep(place, work, path, fields)


EXTENSION = Extension(folder=Path(__file__).parent, keys=Keys, without_influence=("cache",), store=Store(_take, _keep))
