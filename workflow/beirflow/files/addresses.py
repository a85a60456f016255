"""URLs without secrets, for display."""

import re

CREDENTIALS = re.compile(r"(?<=//)[^/@\s]*@")


def without_credentials(text: str) -> str:
    """A text whose addresses tell no user and no password, for logs, messages and records."""
    return CREDENTIALS.sub("", text)
