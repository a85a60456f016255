"""The chat template of a model folder, rendered in a process with limits."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from beirflow.core.errors import ModelError
from beirflow.core.outside_json import read_optional
from beirflow.models.computing import render_template
from beirflow.models.computing.render_template import SECONDS

WAIT = 60  # seconds until a process is ended that renders a template, its start included

FLAT = ("apertus", "deepseek_v3", "gpt_oss", "seed_oss")  # types of models for which sentence-transformers writes texts
OF_PARTS = ("content[0]", ".type", "'type'", '"type"', "item.type", "message.content[")
"""Parts of a template by which sentence-transformers knows that the content of a message is a list, for other types."""

Message = Mapping[str, Any]


def template_of(folder: Path, tokenizer: Any, form: str | None) -> tuple[str, bool]:
    """Return the chat template of a folder, and whether the content of its messages is a list of parts and no text.

    ``form`` is what sentence-transformers saved: ``structured``, ``flat`` or ``auto``. Raises ModelError for no template, or
    several.
    """
    template = tokenizer.chat_template
    if not isinstance(template, str):
        raise ModelError(f"{folder} has no chat template, or several; its texts are written into one (modality_config)")
    flat = read_optional(folder / "config.json").get("model_type") in FLAT or not any(part in template for part in OF_PARTS)
    return template, form == "structured" or (form == "auto" and not flat)


def conversation(texts: Mapping[str, str], structured: bool) -> list[Message]:
    """Return texts, by the role that says each, as messages whose content is a list of parts or a text."""
    return [{"role": role, "content": [{"type": "text", "text": text}] if structured else text} for role, text in texts.items()]


def render(folder: Path, template: str, conversations: Sequence[Sequence[Message]], variables: Mapping[str, Any]) -> list[str]:
    """Render a chat template as transformers does, a text for each conversation, in a process with limits of time and memory.

    Raises ModelError if it depends on the day, takes too long or too much memory, or fails.
    """
    if "strftime_now" in template:
        raise ModelError(f"the chat template in {folder} writes the time, so no result would be the same again; take it out")
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
    return json.loads(done.stdout)
