"""The question that a chat template makes of a query and a document: fixed texts, and the two between them."""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from beirflow.files.errors import ModelError
from beirflow.rerank import render_template
from beirflow.rerank.render_template import SECONDS

WAIT = 60
"""Seconds until a process is ended that renders a template, its start included."""

MARKS = ("\ue000query\ue001", "\ue000document\ue001")
"""Stand for the texts, in characters that Unicode leaves to private use."""

PROBES = (
    ("What is the capital of France?", "Paris is the capital of France."),
    ("", ""),
    ('  a\n\nb "c" \\ <d> & {{ e }} {% f %}\n', "\tg {# h #} 'i' ünï 漢字 </s> <|im_end|>  \n\n"),
    ("x " * 300, "1\n2"),
)
"""Pairs by which a template is compared with fixed texts around the two."""

KEPT: tuple[Callable[[str], str], ...] = (str, str.strip)
"""Forms in which a template may write a text: as it is, or without white space at its ends."""

Message = Mapping[str, Any]


class Question(NamedTuple):
    """A template as fixed texts.

    Attributes:
        opening: What stands before the query.
        middle: What stands between query and document.
        closing: What stands behind the document.
        strip: Whether white space at the ends of query and document is left out.
    """

    opening: str
    middle: str
    closing: str
    strip: bool


def read_template(folder: Path, template: str, structured: bool, system: str, variables: Mapping[str, Any]) -> Question:
    """Turn a chat template into the texts that it writes around a query and a document.

    Args:
        folder: The folder of the model, for messages.
        template: The template, in jinja.
        structured: Whether the content of a message is a list of parts, or a text.
        system: What queries are for, the message before the two; empty for none.
        variables: What the template knows besides the messages.

    Returns:
        The texts.

    Raises:
        ModelError: It changes texts, depends on the day, takes too long or too much memory, or fails.
    """
    if "strftime_now" in template:
        raise ModelError(f"the chat template in {folder} writes the time, so no score would be the same again; take it out")
    conversations = [_messages(pair, structured, system) for pair in (MARKS, *PROBES)]
    marked, *rendered = render(folder, template, conversations, variables)
    opening, has_query, rest = marked.partition(MARKS[0])
    middle, has_document, closing = rest.partition(MARKS[1])
    if has_query and has_document and not any(mark in opening + middle + closing for mark in MARKS):
        for kept in KEPT:
            if rendered == [opening + kept(query) + middle + kept(document) + closing for query, document in PROBES]:
                return Question(opening, middle, closing, kept is str.strip)
    raise ModelError(
        f"the chat template in {folder} does more with a query and a document than to write both once, in this order and as they"
        " are, which is all that beirflow knows; use another model, or a template that does"
    )


def _messages(pair: tuple[str, str], structured: bool, system: str) -> list[Message]:
    """Return the conversation that sentence-transformers makes of a pair."""
    texts = {**({"system": system} if system else {}), **dict(zip(("query", "document"), pair, strict=True))}
    return [{"role": role, "content": [{"type": "text", "text": text}] if structured else text} for role, text in texts.items()]


def render(folder: Path, template: str, conversations: Sequence[Sequence[Message]], variables: Mapping[str, Any]) -> list[str]:
    """Render a chat template as transformers does, in a process with limits of time and memory.

    Args:
        folder: The folder of the model, for messages.
        template: The template, in jinja.
        conversations: Messages, each with its role and content.
        variables: What the template knows besides.

    Returns:
        A text for each conversation.

    Raises:
        ModelError: It takes too long or too much memory, or fails.
    """
    request = {"template": template, "conversations": conversations, "variables": variables}
    program = [sys.executable, "-P", str(Path(render_template.__file__))]
    try:
        done = subprocess.run(  # noqa: S603 (our own program)
            program, input=json.dumps(request), capture_output=True, timeout=WAIT, encoding="utf-8", check=False
        )
    except subprocess.TimeoutExpired as error:
        raise ModelError(f"the chat template in {folder} takes longer than {WAIT} seconds") from error
    if done.returncode < 0:
        raise ModelError(f"the chat template in {folder} takes longer than {SECONDS} seconds, or more memory than it may")
    if done.returncode:
        raise ModelError(f"the chat template in {folder} fails: {done.stderr.strip().rpartition(chr(10))[2]}")
    rendered: list[str] = json.loads(done.stdout)
    return rendered
