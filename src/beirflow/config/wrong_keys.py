"""The errors of a model of pydantic as problems: the key, the value found, what is allowed, and the nearest name."""

from collections.abc import Iterator, Mapping, Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from pydantic import BaseModel, Tag, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from beirflow.config.models import ENTRIES, keys_of
from beirflow.core.keys import LARGEST
from beirflow.data.catalogue.schema import MISSING, NO_SUCH_KEY, Problems, choices

KINDS = {
    "int_type": "a whole number",
    "float_type": "a number",
    "finite_number": "a number",
    "string_type": "a text",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "keys with values",
    "model_type": "keys with values",
    "union_tag_not_found": "keys with values",
}
"""Types of pydantic's errors in the words of the configuration."""

LIMITS = {
    "greater_than_equal": "at least {ge:.17g}",
    "greater_than": "more than {gt:.17g}",
    "less_than_equal": "at most {le:.17g}",
    "string_too_short": "a text that is not empty",
    "too_short": "at least {min_length} entries",
}

QUOTE = "; quote a text that YAML takes for true or false, such as 'no'"
OF_LANGUAGE = "; the analyzer determines the language, e.g. analyzer: lucene-german"

EXAMPLES = {"systems": "{base: bm25, k1: 1.2}", "datasets": "{path: /data/my-corpus}"}  # below ``custom``


class Place(NamedTuple):
    """The place of an error."""

    path: tuple[Any, ...]  # its keys, without the names that pydantic gives to the members of a union
    type: Any  # of the last of them
    owner: Any  # the model that lacks or refuses it
    kinds: Mapping[str, Any]  # the models of the kinds of entries of the same class, by their names
    null: bool  # whether it may be null


def errors_of(value: Any, model: Any) -> list[ErrorDetails]:
    """Return the errors of a value."""
    try:
        TypeAdapter(model).validate_python(value)
    except ValidationError as error:
        return error.errors(include_url=False)
    return []


def problems_of(value: Any, model: Any, defaults: Mapping[str, Any]) -> Problems:
    """Return the problems of a value with a model, in the order of the keys; ``defaults`` are examples of their values."""
    found: dict[tuple[Any, ...], list[tuple[ErrorDetails, Place]]] = {}
    for error in errors_of(value, model):
        place = place_of(error["loc"], model)
        # A key that is no text is a number there.
        path = (*place.path[:-1], error["input"]) if error["loc"][-1:] == ("[key]",) else place.path
        found.setdefault(path, []).append((error, place))
    problems = Problems()
    for path in sorted(found, key=lambda path: [str(part) for part in path]):
        # Of several types, that of the value has the error: what is wrong inside of it, or with its size.
        if any(other[: len(path)] == path != other for other in found):
            continue
        sized = [each for each in found[path] if each[0]["type"] not in KINDS]
        errors = found[path] if all(each[0]["type"] == "literal_error" for each in sized) else sized
        expected = list(dict.fromkeys(_words(error, place) for error, place in errors))
        expected += [] if sized or not errors[0][1].null else ["null"]
        expected[-1] += "" if sized else _such_as(path, defaults)
        expected[-1] += QUOTE if errors[0][0]["type"] == "string_type" and isinstance(errors[0][0]["input"], bool) else ""
        first, place = errors[0]
        wrong = path[-1] if first["type"] == "extra_forbidden" else MISSING if first["type"] == "missing" else first["input"]
        key = path[:-1] if path and not str(path[-1]).isprintable() else path
        text = " or ".join([expected[0], *(each.removeprefix("expected ") for each in expected[1:])])
        problems.add(".".join(map(str, key)) or "the file", wrong, text)
    return problems


def _words(error: ErrorDetails, place: Place) -> str:
    """Return what is allowed in place of a wrong value."""
    kind, context = error["type"], error.get("ctx", {})
    if kind == "missing":
        return "this key is required"
    if kind in ("extra_forbidden", "invalid_key"):
        return _unknown(place)
    if kind == "literal_error":
        return _allowed(error["input"], [each for each in options(place.type) if each is not None])
    if kind == "expected":
        return context["words"] or _allowed(error["input"], context["choices"])
    if kind in KINDS:
        return f"expected {KINDS[kind]}"
    if context.get("le") == LARGEST:
        return "expected a whole number of at most 18 digits"
    if context.get("min_length") == 1 and kind == "too_short":
        return f"expected at least one {'entry' if context['field_type'] == 'List' else 'key'}"
    return "expected " + LIMITS[kind].format(**context)


def _allowed(value: Any, known: Sequence[Any]) -> str:
    return choices(value, map(str, known)) if len(known) > 1 else f"expected {known[0]!r}"


def _unknown(place: Place) -> str:
    """List the allowed keys, the keys that this one needs, or the kinds of systems that have it."""
    model, key, allowed = place.owner, place.path[-1], place.owner.model_fields
    having = [name for name, each in place.kinds.items() if key in each.model_fields]
    if having and [*place.kinds][-1] not in having:
        return f"{key} needs {' or '.join(having)} too"
    if having:
        kind = next(name for name, each in place.kinds.items() if each is model)
        return f"{NO_SUCH_KEY} with {kind}, allowed are {', '.join(allowed)}"
    known = f"{NO_SUCH_KEY}, {choices(key, allowed)}"
    known += "; write a blank after the colon" if str(key).partition(":")[0] in allowed else ""
    known += _option_of(key, allowed.get("command"))
    known += OF_LANGUAGE if key == "language" and "analyzer" in allowed else ""
    families = sorted(name for name, kinds in ENTRIES.items() if any(key in keys_of(kind) for kind in kinds.values()))
    return f"{known}; it is a setting of {', '.join(families)} systems" if families and "family" in allowed else known


def _option_of(key: Any, command: Any) -> str:
    """Return the commands that have an option of this name; ``command`` is the field of the options of all, or None."""
    kinds = _without_null(command.annotation)[0].model_fields if command else {}
    names = [name for name, field in kinds.items() if key in field.annotation.model_fields]
    return f"; it is an option of {' and '.join(names)}, as in command: {{{names[0]}: {{{key}: …}}}}" if names else ""


def _such_as(path: tuple[Any, ...], defaults: Mapping[str, Any]) -> str:
    """Return an example of a value."""
    default = defaults.get(path[0]) if len(path) == 1 else None
    if path[:1] == ("custom",) and len(path) == 3:
        default = EXAMPLES[path[1]]
    return f", such as {default}" if default and default is not True else ""


def place_of(location: tuple[Any, ...], model: Any) -> Place:
    """Return the place of an error in a value of a model, from the location that pydantic gives."""
    path: list[Any] = []
    kind, owner, null = model, None, False
    kinds: dict[str, Any] = {}
    for part in location:
        kind, members = _without_null(kind)
        if members:
            kind = next((each for each in members if part in _tags(each) or _label(bare(each), part)), Any)
            kinds = {name: bare(each) for each in members for name in _tags(each)}
            kinds = {name: each for name, each in kinds.items() if name.partition(":")[0] in getattr(each, "model_fields", ())}
        elif part == "[key]":
            kind = str
        else:
            path.append(part)
            owner, kinds = kind, kinds if kind in kinds.values() else {}
            kind = _below(kind, part)
            null = NoneType in get_args(bare(kind))
    return Place(tuple(path), kind, owner, kinds, null)


def bare(kind: Any) -> Any:
    """Return a type without conditions."""
    while get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    return kind


def options(kind: Any) -> Iterator[Any]:
    """Yield the values of a Literal, alone or among other types."""
    kind = bare(kind)
    if get_origin(kind) is Literal:
        yield from get_args(kind)
    elif get_origin(kind) in (Union, UnionType):
        for each in get_args(kind):
            yield from options(each)


def _without_null(kind: Any) -> tuple[Any, list[Any]]:
    """Return a type, and the members of a union; none where it is one type or null, for which pydantic has no names."""
    kind = bare(kind)
    if get_origin(kind) not in (Union, UnionType):
        return kind, []
    members = [each for each in get_args(kind) if each is not NoneType]
    return (kind, members) if len(members) > 1 else _without_null(members[0])


def _tags(member: Any) -> list[str]:
    return [each.tag for each in getattr(member, "__metadata__", ()) if isinstance(each, Tag)]


def _label(kind: Any, part: Any) -> bool:
    """Test whether pydantic's name for a member of a union is of this type."""
    names = {list: "list[", dict: "dict[", Literal: "literal[", Union: "tagged-union[", UnionType: "tagged-union["}
    name = getattr(kind, "__name__", None)
    return names.get(get_origin(kind), "\0") in str(part) or part == name or str(part).endswith(f" {name}]")


def _below(kind: Any, part: Any) -> Any:
    """Return the type of what is below a key."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        field = kind.model_fields.get(part)
        return field.annotation if field else Any
    return get_args(kind)[-1] if get_origin(kind) in (dict, list) else Any
