"""The settings of dense systems with those of their forms, which extensions add; what jobs need of it.

A system of a form names in ``base`` what its model begins as, and has the key of the form. The rule of the extension writes
:data:`~beirflow.core.layout.MODEL_OF_DATASET` and its record; whatever uses a model then uses this one.
"""

from collections.abc import Mapping
from dataclasses import field, make_dataclass
from typing import Annotated, Any, TypeVar

from beirflow.core.extensions import forms
from beirflow.core.keys import HIDDEN

Settings = TypeVar("Settings")


def key_in(settings: Mapping[str, Any]) -> str | None:
    """Return the key of the form in the settings of a system; None if its model is the same for all datasets."""
    return next((key for key in forms() if settings.get(key)), None)


def value_in(settings: Mapping[str, Any]) -> Any:
    """Return the settings of that form, built from a configuration if need be; None without one."""
    if (key := key_in(settings)) is None:
        return None
    value = settings[key]
    return forms()[key].settings()(**value) if isinstance(value, Mapping) else value


def with_forms(settings: type[Settings]) -> type[Settings]:
    """Add to the settings of dense systems a field for each form, behind the others: None, or its settings."""
    added = [(key, Annotated[Any, HIDDEN], field(default=None)) for key in forms()]
    names = {"__module__": settings.__module__, "__qualname__": settings.__qualname__}
    return make_dataclass(settings.__name__, added, bases=(settings,), namespace=names, frozen=True) if added else settings
