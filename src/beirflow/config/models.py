"""Models of pydantic from classes of keys: what a configuration may hold, in the types of :mod:`beirflow.core.keys`.

A model checks a value and makes none: jobs get what the configuration states, and build the settings of their family from it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import cache, reduce
from operator import or_
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Discriminator, Tag, create_model

from beirflow.config.families import DEFAULT, FAMILIES, IMPLIED, family_of
from beirflow.core.keys import NULL, STATED, As, Keys
from beirflow.families.system import TrainedOn

ENTRIES: dict[str, dict[str, Any]] = {name: family.entries for name, family in FAMILIES.items()}
OWNERS: dict[Any, str] = {kind: name for name, entries in ENTRIES.items() for kind in entries.values()}
"""Families by the classes of the keys of their systems."""

STRICT = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


class Unknown(BaseModel):
    """A system of a family that nothing here knows, whose other keys nobody can check."""

    model_config = ConfigDict(strict=True, extra="ignore")
    family: Literal[tuple(FAMILIES)]  # type: ignore[valid-type]


def keys_of(kind: Any) -> dict[str, tuple[Any, Any]]:
    """Return the type and the default of each key of a class of keys."""
    hints = get_type_hints(kind, include_extras=True)
    found = {}
    for field in fields(kind):
        conditions = getattr(hints[field.name], "__metadata__", ())
        declared = next((each.type for each in conditions if isinstance(each, As)), hints[field.name])
        default = field.default if field.default_factory is MISSING else field.default_factory()
        if declared is not None and field.name not in getattr(kind, "without", ()):
            found[field.name] = (declared, ... if default is MISSING else default)
    return found


def _class_of(entry: Any) -> str | None:
    """Return the tag of the class of the keys of a system; None for what is no entry."""
    if not isinstance(entry, Mapping):
        return None
    if "family" in entry and entry["family"] not in [*FAMILIES]:
        return ""
    family = family_of(entry).name
    return f"{family} {next(key for key in ENTRIES[family] if not key or key in entry)}"


def system_model() -> Any:
    """Return the model of an entry of a system."""
    classes = [(f"{family} {key}", model_of(kind, family)) for family, kinds in ENTRIES.items() for key, kind in kinds.items()]
    members = [Annotated[model, Tag(tag)] for tag, model in (*classes, ("", Unknown))]
    return Annotated[reduce(or_, members), Discriminator(_class_of)]


def fields_of(kind: Any) -> dict[str, tuple[Any, Any]]:
    """Return the same with the types that a model has."""
    return {key: (_type(declared), default) for key, (declared, default) in keys_of(kind).items()}


@cache
def model_of(kind: Any, family: str = "") -> Any:
    """Return the model of a class of keys, or of a union of one for each of its ``kinds``; ``family`` is that of systems."""
    of_class = fields_of(kind)
    own: dict[str, Any] = {}
    if family:
        named = ... if family not in (DEFAULT, *IMPLIED.values()) else family
        own = {"family": (Literal[family], named), "trained_on": (Annotated[model_of(TrainedOn), STATED], None)}
    own = {key: each for key, each in own.items() if key not in getattr(kind, "without", ())}
    kinds: Mapping[str, Keys] = getattr(kind, "kinds", {"": Keys()})
    members = []
    for name, each in kinds.items():
        allowed = {*of_class} if each.others is None else {*each.needed, *each.others}
        chosen = own | {key: value for key, value in of_class.items() if key in allowed and key not in each.without}
        chosen |= {key: (_type(declared), chosen[key][1]) for key, declared in each.types.items()}
        chosen |= {key: (chosen[key][0], ...) for key in each.needed}
        members.append(Annotated[create_model(kind.__name__, __config__=STRICT, **chosen), Tag(name)])
    if len(members) == 1:
        return get_args(members[0])[0]

    def tag(entry: Any) -> str | None:
        """Return the kind of an entry."""
        if not isinstance(entry, Mapping):
            return None
        declared = {*entry, *(f"{key}: {value}" for key, value in entry.items())}
        return next((name for name in kinds if name in declared), [*kinds][-1])

    return Annotated[reduce(or_, members), Discriminator(tag)]


def _type(declared: Any) -> Any:
    """Return the type that a model has for that of a class: of another class its model, and null only where it says so."""
    origin, args = get_origin(declared), get_args(declared)
    if isinstance(declared, type) and is_dataclass(declared):
        return model_of(declared, OWNERS.get(declared, ""))
    if origin is Annotated:
        kind = _type(args[0])
        return Annotated[(kind | None if NULL in declared.__metadata__ else kind, *declared.__metadata__)]
    if origin in (Union, UnionType):
        return reduce(or_, (_type(each) for each in args if each is not NoneType))
    # Subscripted by a call, since these are no types of this file.
    if origin in (dict, Mapping):
        return dict.__class_getitem__((args[0], _type(args[1])))
    return list.__class_getitem__(_type(args[0])) if origin in (list, Sequence) else declared
