"""The prompts of language models: word for word as in their training, or read from a chat template of the model's folder."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from beirflow.core.errors import ModelError
from beirflow.families.rerank.kinds import Saved
from beirflow.models.computing.chat_template import conversation, render, template_of
from beirflow.models.computing.model_limits import UNLIMITED

INSTRUCTION = "Given a web search query, retrieve relevant passages that answer the query"
"""Purpose of queries without a stated one: the words of Qwen3-Reranker's model card."""

MARKS = ("\ue000query\ue001", "\ue000document\ue001")
"""Placeholders of the texts, in characters that Unicode leaves to private use."""

PROBES = (
    ("What is the capital of France?", "Paris is the capital of France."),
    ("", ""),
    ('  a\n\nb "c" \\ <d> & {{ e }} {% f %}\n', "\tg {# h #} 'i' ünï 漢字 </s> <|im_end|>  \n\n"),
    ("x " * 300, "1\n2"),
)
"""Pairs by which a template is compared with fixed texts around the two."""

KEPT: tuple[Callable[[str], str], ...] = (str, str.strip)
"""Forms in which a template may write a text: as it is, or without white space at its ends."""

Pair = tuple[str, str]  # query and document


@dataclass(frozen=True)
class Prompt:
    """A question whose answer is one of two words."""

    opening: str  # text before the query
    middle: str  # text between query and document
    closing: str  # text after the document
    # the answer for a relevant document, and that for any other; none where a folder has their tokens
    words: tuple[str, ...] = ()
    max_length: int = UNLIMITED  # tokens after which a pair is cut, those of the prompt included
    before: str = ""  # text before everything, tokenised by itself
    after: str = ""  # text after everything, tokenised by itself
    strip: bool = False  # whether white space at the ends of query and document is left out
    special_tokens: bool = True  # whether the tokenizer writes its own around what is not tokenised by itself

    def text(self, query: str, document: str) -> str:
        """Return the question about a pair, without the parts that are tokenised by themselves."""
        return self.opening + query + self.middle + document + self.closing


MONO_T5 = Prompt("Query: ", " Document: ", " Relevant:", ("true", "false"), 512)

_QWEN3 = Prompt(
    opening="<Instruct>: {}\n<Query>: ",
    middle="\n<Document>: ",
    closing="",
    words=("yes", "no"),
    max_length=8192,
    before=(
        "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct provided."
        ' Note that the answer can only be "yes" or "no".<|im_end|>\n<|im_start|>user\n'
    ),
    after="<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n",
)


def qwen3_prompt(instruction: str | None) -> Prompt:
    """Return the prompt of Qwen3-Reranker; its instruction is that of the model card if None."""
    return replace(_QWEN3, opening=_QWEN3.opening.format(instruction or INSTRUCTION))


def question_of(folder: Path, tokenizer: Any, saved: Saved, instruction: str | None) -> Prompt:
    """Return the question that the chat template of a folder asks about a pair.

    The instruction replaces the saved prompt, as the message of the system. Raises ModelError if there is no
    template or several, or :func:`read_template` refuses it.
    """
    template, structured = template_of(folder, tokenizer, saved.message)
    variables = {**tokenizer.special_tokens_map, **saved.variables}
    question = read_template(folder, template, structured, instruction or saved.prompt, variables)
    if instruction and instruction not in question.opening + question.middle + question.closing:
        raise ModelError(f"the chat template in {folder} writes no instruction; remove it from the configuration")
    return question


def read_template(folder: Path, template: str, structured: bool, system: str, variables: Mapping[str, Any]) -> Prompt:
    """Turn a chat template into the texts that it writes around a query and a document.

    Args:
        folder: The folder of the model, for messages.
        template: The template, in jinja.
        structured: Whether the content of a message is a list of parts, or a text.
        system: Purpose of queries, the message before the two; empty for none.
        variables: Variables of the template besides the messages.

    Returns:
        The question, whose length and answers the template does not hold.

    Raises:
        ModelError: It changes texts, depends on the day, takes too long or too much memory, or fails.
    """
    first = {"system": system} if system else {}
    pairs = ({**first, "query": query, "document": document} for query, document in (MARKS, *PROBES))
    conversations = [conversation(pair, structured) for pair in pairs]
    marked, *rendered = render(folder, template, conversations, variables)
    opening, has_query, rest = marked.partition(MARKS[0])
    middle, has_document, closing = rest.partition(MARKS[1])
    if has_query and has_document and not any(mark in opening + middle + closing for mark in MARKS):
        for kept in KEPT:
            if rendered == [opening + kept(query) + middle + kept(document) + closing for query, document in PROBES]:
                return Prompt(opening, middle, closing, strip=kept is str.strip, special_tokens=False)
    raise ModelError(
        f"the chat template in {folder} does more with a query and a document than to write both once, in this order and as they"
        " are, which is all that beirflow knows; use another model, or a template that does"
    )
