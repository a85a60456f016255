"""The prompts of language models, word for word as in their training."""

from dataclasses import dataclass, replace

INSTRUCTION = "Given a web search query, retrieve relevant passages that answer the query"
"""Purpose of queries without a stated one: the words of Qwen3-Reranker's model card."""


@dataclass(frozen=True)
class Prompt:
    """A question whose answer is one of two words.

    Attributes:
        opening: What stands before the query.
        middle: What stands between query and document.
        closing: What stands behind the document.
        words: The answer for a relevant document, and that for any other; none where a folder has their tokens.
        max_length: Tokens after which a pair is cut, those of the prompt included.
        before: What stands before everything, and is tokenised by itself.
        after: What stands behind everything, and is tokenised by itself.
        strip: Whether white space at the ends of query and document is left out.
    """

    opening: str
    middle: str
    closing: str
    words: tuple[str, ...]
    max_length: int
    before: str = ""
    after: str = ""
    strip: bool = False

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
    """The prompt of Qwen3-Reranker.

    Args:
        instruction: What queries are for; as the model card says if None.

    Returns:
        The prompt.
    """
    return replace(_QWEN3, opening=_QWEN3.opening.format(instruction or INSTRUCTION))
