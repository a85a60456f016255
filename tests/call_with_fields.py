"""Calls of the package's functions with the fields of their objects as arguments, as rules make them."""

import inspect
from collections.abc import Callable
from dataclasses import is_dataclass
from typing import Any, get_origin


def call(function: Callable[..., Any], **named: Any) -> Any:
    """Call a function; a parameter that is a dataclass is made of the arguments that have the names of its fields."""
    unused = set(named)
    arguments = _arguments(function, named, unused)
    assert not unused, f"{function.__name__} takes no {sorted(unused)}"
    return function(**arguments)


def _arguments(function: Callable[..., Any], named: dict[str, Any], unused: set[str]) -> dict[str, Any]:
    arguments = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if name in named:
            arguments[name] = named[name]
            unused.discard(name)
        elif is_dataclass(kind := get_origin(parameter.annotation) or parameter.annotation):
            arguments[name] = kind(**_arguments(kind, named, unused))
        elif name == "run_settings":  # which a run records, and no step reads
            arguments[name] = {}
    return arguments
