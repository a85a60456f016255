"""The chat template of a model folder: rendered in a process with limits, and the texts that it writes around every text."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from beirflow.core.errors import ModelError
from beirflow.core.outside_json import read_optional
from beirflow.data.document_text import KINDS, Kind
from beirflow.models.computing import render_template
from beirflow.models.computing.render_template import SECONDS
from beirflow.models.computing.token_reader import TokenReader
from beirflow.models.model_json import TASKS

WAIT = 60  # seconds until a process is ended that renders a template, its start included

MARK = "\ue000text\ue001"
"""Placeholder of a text, in characters that Unicode leaves to private use."""

PROBES = ("x", "", '  a\n\nb "c" \\ <d> & {{ e }} {% f %}\n', "\tünï 漢字 <|im_end|>  \n\n", "x " * 300)
"""Texts by which a template is compared with fixed texts around each."""

FILLERS = ("0", "1 2 3 4")
"""Texts without a common last token, by which sentence-transformers finds the tokens after a text."""

FLAT = ("apertus", "deepseek_v3", "gpt_oss", "seed_oss")  # types of models for which sentence-transformers writes texts
OF_PARTS = ("content[0]", ".type", "'type'", '"type"', "item.type", "message.content[")
"""Parts of a template by which sentence-transformers knows that the content of a message is a list, for other types."""

Message = Mapping[str, Any]


class Frame(NamedTuple):
    """The fixed text around every text of one kind: a prompt, or a chat template with it."""

    before: str = ""
    after: str = ""
    special_tokens: bool = True  # whether the tokenizer adds its own
    end: tuple[int, ...] = ()  # last tokens, which replace those of a text that is cut


PLAIN = Frame()  # of a text without a prompt


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


def chat_frames(folder: Path, tokenizer: Any, reader: TokenReader, form: str, prompts: Mapping[Kind, str]) -> dict[Kind, Frame]:
    """Return what the chat template of a folder writes around texts, by their kind, as sentence-transformers 6 renders it.

    A text is the message of a user, the prompt that of the system; ``form`` is as for :func:`template_of`. Raises ModelError for
    a template that changes texts, depends on the day, takes too long, or fails.
    """
    template, structured = template_of(folder, tokenizer, form)
    frames = {}
    for kind in KINDS:
        system = {"system": prompts[kind]} if prompts[kind] else {}
        written = [conversation({**system, "user": text}, structured) for text in (MARK, *PROBES)]
        marked, *rendered = render(folder, template, written, {**tokenizer.special_tokens_map, "task": TASKS[kind]})
        before, _, after = marked.partition(MARK)
        if rendered != [before + text + after for text in PROBES]:
            raise ModelError(
                f"the chat template in {folder} does more with {kind} than to write each once and as it is, which is all that"
                " beirflow does. `encoder: sentence-transformers` runs that library itself (docs/own-encoders.md)"
            )
        # A processor adds the special tokens of its tokenizer unless the template has begun with one; a tokenizer never does.
        bos = tokenizer.bos_token
        frame = Frame(before, after, _has_processor(folder) and not (bos and before.startswith(bos)))
        frames[kind] = frame._replace(end=_common_end(*(_ids(reader, frame, filler) for filler in FILLERS)))
    return frames


def is_plain(reader: TokenReader, frame: Frame, prompt: str) -> bool:
    """Test whether texts in a frame have the tokens of plain texts behind a prompt."""
    return all(_ids(reader, frame, text) == _ids(reader, Frame(prompt), text) for text in PROBES)


def _ids(reader: TokenReader, frame: Frame, text: str) -> list[int]:
    return next(reader.ids([frame.before + text + frame.after], special=frame.special_tokens))


def _common_end(first: Sequence[int], second: Sequence[int]) -> tuple[int, ...]:
    """Return the last tokens that two texts share; none if one is the end of the other."""
    shortest = min(len(first), len(second))
    count = next((i for i in range(shortest) if first[-1 - i] != second[-1 - i]), shortest)
    return tuple(first[len(first) - count :]) if count < shortest else ()


def _has_processor(folder: Path) -> bool:
    """Test whether transformers loads a processor from a folder, around its tokenizer."""
    from transformers.models.auto.processing_auto import PROCESSOR_MAPPING_NAMES

    configs = ("processor_config.json", "preprocessor_config.json", "video_preprocessor_config.json", "tokenizer_config.json")
    named = any(read_optional(folder / name).get("processor_class") for name in configs)
    return named or read_optional(folder / "config.json").get("model_type") in PROCESSOR_MAPPING_NAMES


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
