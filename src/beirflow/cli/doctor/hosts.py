"""Hosts that datasets and models are downloaded from."""

from collections.abc import Iterator
from typing import Any

from beirflow.cli.doctor.finding import OK, WARNING, Finding

PATIENCE = 5.0  # seconds in which a host answers


def beir_host() -> str:
    """Return the host of the datasets of BEIR."""
    from beirflow.data.catalogue.catalogue import load_catalogue

    return load_catalogue().host


def status_of(address: str) -> int:
    """Return the status with which a host answers."""
    import requests

    return requests.head(address, timeout=PATIENCE, allow_redirects=False).status_code


def of_host(what: str, address: str, answer: Any, todo: str) -> Finding:
    """Return whether a host answered; of an error, its kind, since its text may hold the address."""
    from beirflow.core.addresses import shown

    if isinstance(answer, int):
        words = f"answers with status {answer}"
    else:
        words = f"cannot be reached ({answer if isinstance(answer, TimeoutError) else type(answer).__name__})"
    reached = isinstance(answer, int) and answer < 500
    return Finding(OK if reached else WARNING, what, f"{shown(address)} {words}", "" if reached else todo)


def of_hub(answer: Any) -> Iterator[Finding]:
    """Yield whether the hub answers, and whether there is a token for it, which is not shown."""
    from huggingface_hub import constants, get_token

    from beirflow.core.addresses import shown

    if constants.HF_HUB_OFFLINE:
        yield Finding(OK, "hub", f"{shown(constants.ENDPOINT)}: not used, HF_HUB_OFFLINE is set")
    else:
        todo = "check HF_ENDPOINT, the network and HTTPS_PROXY; models in folders, packages and the cache work"
        yield of_host("hub", constants.ENDPOINT, answer, todo)
    token = "there" if get_token() else "none, which only models and datasets that are not public need"
    yield Finding(OK, "token of the hub", token)
