"""Secrets in addresses and elsewhere: taken from environment variables, detected, and hidden.

An address may hold a secret as its user and password, in its query, or in its fragment; there it is hidden from whatever is
shown. A secret in a path cannot be recognised. A configuration names an environment variable in place of any secret, as
``${NAME}``: its value is hidden wherever it occurs, and so are the secrets of an address that is used.
"""

import base64
import html
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, unquote, unquote_plus

from beirflow.core.errors import ConfigError

HIDDEN = "…"  # written in place of a secret
LEAST_LETTERS = 5  # letters of a secret that is hidden wherever it occurs; a shorter one is a part of other words
TOKENS_OF_HUB = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")  # environment variables of the hub's library
REFERENCE = "BEIRFLOW_SECRET_"  # beginning of the variables that hold secrets of the configuration
VARIABLE = re.compile(r"\$\{(\w+)\}")  # an environment variable, named in the configuration in place of its value

SECRET_NAME = re.compile(
    r"(.+[_-])?(api[_-]?key|password|passwd|secret|credentials?|(auth|access|bearer|hf|api)[_-]?token)|token|auth|authorization",
    re.IGNORECASE,
)
"""Names of arguments whose values are secrets; not those of tokens that models read."""

HARMLESS = re.compile(r"(api-version|version|revision)=[\w.-]{1,24}", re.IGNORECASE)  # a part of a query that is shown

# The user of an address ends at its last @ before the path; or at the last of all, if the password has a slash in it.
_USER = r"(?:[^/?#@:{blank}]*:(?!\d*(?:[/?#{blank}]|$)){any}*@|[^/?#{blank}]*@)"
_ADDRESS = re.compile(
    rf"(?P<scheme>[A-Za-z][\w+.-]*://)(?P<user>{_USER.format(blank='', any='.')})?"
    r"(?P<place>[^?#]*)(?P<query>\?[^#]*)?(?P<fragment>#.*)?",
    re.DOTALL,
)
_ADDRESS_IN_TEXT = re.compile(r"[A-Za-z][\w+.-]*://\S+")
_USER_IN_TEXT = re.compile("(?<=://)" + _USER.format(blank=r"\s", any=r"\S"))
_PARAMETER_IN_TEXT = re.compile(r"(?<=[?&;])[^=&;#?\s'\"]+=[^&;#\s]+")
_BETWEEN = re.compile("([?&;])")

_known: set[str] = set()  # secrets of this process, in every form in which they may be shown


def without_credentials(text: str) -> str:
    """Return a text without the users and passwords of its addresses, values of queries and fragments, and known secrets.

    ``…`` replaces all but users and passwords; names of environment variables, as ``${NAME}``, stay.
    """
    text = _ADDRESS_IN_TEXT.sub(lambda match: _shown_address(match[0]), without_secrets(text))
    return _PARAMETER_IN_TEXT.sub(lambda match: _shown_parameter(match[0]), text)


def without_secrets(text: str) -> str:
    """Return a text without users of addresses and known secrets.

    A query stays, since in a line of a log it may belong to the id of a document.
    """
    return _USER_IN_TEXT.sub(lambda user: user[0] if _is_open_user(user[0]) else "", without_known_secrets(text))


def without_known_secrets(text: str) -> str:
    """Return a text of any length with ``…`` in place of each secret that this process knows."""
    # The longest first, since a secret may be a part of another.
    for secret in sorted(_known, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return text


def shown(value: Any) -> Any:
    """Return a value of the configuration without secrets, those in lists and mappings included.

    Texts are those of :func:`without_credentials`; ``…`` replaces a text whose key is the name of a secret.
    """
    if isinstance(value, Mapping):
        return {key: HIDDEN if _is_secret(key, each) else shown(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [shown(each) for each in value]
    return without_credentials(_shown_address(value)) if isinstance(value, str) else value


def keep_secret(secret: str) -> None:
    """Hide a secret from now on, wherever it occurs in this process, unless it is shorter than ``LEAST_LETTERS``."""
    plain = {each.strip() for each in (secret, unquote(secret), unquote_plus(secret))}
    forms = {form for each in plain for form in (quote(each), quote(each, safe=""), html.escape(each), *_escaped(each))}
    # Basic authentication sends user and password in base64, in either encoding.
    coded = {base64.b64encode(each.encode(code, "replace")).decode() for each in plain for code in ("utf-8", "latin-1")}
    _known.update(each for each in plain | forms | coded if len(each) >= LEAST_LETTERS)


def keep_secrets_of(address: str) -> None:
    """Hide from now on what :func:`shown` hides of an address, and the same in a header."""
    parts = _ADDRESS.fullmatch(address)
    if parts is None:
        return
    user, _, password = (parts["user"] or "@")[:-1].partition(":")
    pair = [f"{unquote(user)}:{unquote(password)}"] if password else []
    query, fragment = (parts["query"] or "")[1:], (parts["fragment"] or "")[1:]
    values = [_split(each)[1] for part in (query, fragment) for each in _BETWEEN.split(part) if not _is_open(each)]
    for secret in (password or user, *pair, *values, fragment):
        keep_secret(secret)


def keep_secrets_of_hub() -> None:
    """Hide from now on what the hub's library takes from the environment: tokens, and what is secret in the endpoint."""
    for name in TOKENS_OF_HUB:
        keep_secret(os.environ.get(name, ""))
    keep_secrets_of(os.environ.get("HF_ENDPOINT", ""))


def with_variables(value: Any) -> Any:
    """Replace every ``${NAME}``, in lists and mappings too, by the environment variable, which is hidden from now on.

    Raises ConfigError if there is no such variable, or if it is empty.
    """
    if isinstance(value, Mapping):
        return {key: with_variables(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [with_variables(each) for each in value]
    return VARIABLE.sub(_value, value) if isinstance(value, str) else value


def by_reference(addresses: Iterable[str]) -> list[str]:
    """Return addresses with a variable behind the scheme of each that has a secret, set for this process and its jobs.

    Snakemake writes the configuration into files, which stay if it is killed.
    """
    references = list[str]()
    for number, address in enumerate(addresses):
        scheme, mark, rest = address.partition("://")
        if shown(address) != address:
            os.environ[f"{REFERENCE}{number}"] = with_variables(rest)
            rest = f"${{{REFERENCE}{number}}}"
        references.append(f"{scheme}{mark}{rest}")
    return references


def has_other_variables(name: str, value: Any) -> bool:
    """Test whether a variable replaces anything but a secret: its value is not recorded, so results may not depend on it.

    False if variables are only in arguments with the name of a secret, or in addresses, behind or before the host.
    """
    if isinstance(value, Mapping):
        return any(has_other_variables(str(key), each) for key, each in value.items())
    if isinstance(value, list | tuple):
        return any(has_other_variables(name, each) for each in value)
    if not isinstance(value, str) or not VARIABLE.search(value) or SECRET_NAME.fullmatch(name):
        return False
    parts = _ADDRESS.fullmatch(value)
    return parts is None or VARIABLE.search(parts["place"].partition("/")[0]) is not None


def address_below(base: str, path: str) -> str:
    """Return an address with a path added to that of ``base``, whose query and fragment stay at the end."""
    # The first of the two ends the path: a ? behind the # is part of the fragment.
    end = min((place for mark in "?#" if (place := base.find(mark)) >= 0), default=len(base))
    return f"{base[:end].rstrip('/')}/{path}{base[end:]}"


def _escaped(text: str) -> Iterator[str]:
    """Yield a text as quoted in JSON, in Python, and in an error about bytes."""
    for code in (json.dumps(text), json.dumps(text, ensure_ascii=False), repr(text)):
        yield code[1:-1]
    yield repr(text.encode("utf-8", "replace"))[2:-1]


def _value(variable: re.Match[str]) -> str:
    value = os.environ.get(variable[1])
    if not value:
        raise ConfigError(f"the environment variable {variable[1]}, which the configuration names, is not set")
    keep_secret(value)
    return value


def _shown_address(text: str) -> str:
    """Return a text without its secrets, if it is an address."""
    parts = _ADDRESS.fullmatch(text)
    if parts is None:
        return text
    user, query, fragment = (parts[name] or "" for name in ("user", "query", "fragment"))
    query = "".join(map(_shown_parameter, _BETWEEN.split(query)))
    fragment = fragment if _is_open(fragment[1:]) else f"#{HIDDEN}"
    return f"{parts['scheme']}{user if _is_open_user(user) else ''}{parts['place']}{query}{fragment}"


def _shown_parameter(text: str) -> str:
    return text if _is_open(text) else f"{_split(text)[0]}{HIDDEN}"


def _split(parameter: str) -> tuple[str, str]:
    """Return the name of a part of a query, with its mark, and the value; a token in base64 is a value without a name."""
    name, mark, value = parameter.partition("=")
    return (name + mark, value) if value.strip("=") else ("", parameter)


def _is_open(parameter: str) -> bool:
    """Test whether a part of a query or a fragment has no secret: a separator, a variable, or a harmless value."""
    return not VARIABLE.sub("", _split(parameter)[1]).strip("?&;") or HARMLESS.fullmatch(parameter) is not None


def _is_open_user(user: str) -> bool:
    """Test whether the user of an address has no secret: the password, or the user without one, names a variable."""
    name, _, password = user[:-1].partition(":")
    return not VARIABLE.sub("", password or name)


def _is_secret(name: Any, value: Any) -> bool:
    """Test whether an argument is a secret itself, and not a variable that holds it."""
    is_text = isinstance(value, str) and VARIABLE.sub("", value) != ""
    return is_text and isinstance(name, str) and SECRET_NAME.fullmatch(name) is not None
