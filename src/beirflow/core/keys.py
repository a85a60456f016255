"""Types of the keys of a configuration: what a value may be, and in which words another one is refused.

A class of keys is a frozen dataclass with a docstring below each field that is a key. The settings of families are such
classes, which jobs build from parameters of their rules: so nothing here imports pydantic, by which ``config/models.py`` checks
entries. No result depends on an edit here.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

from annotated_types import Interval, MinLen

Any_ = TypeVar("Any_")

LARGEST = 10**18 - 1  # from here on, numbers have more digits than users type


class Keys(NamedTuple):
    """The keys of one kind of entry of a class.

    An entry is of the first of the ``kinds`` of its class whose name is a key of it, or a key with its value (``key: value``); or
    of the last.
    """

    needed: tuple[str, ...] = ()
    others: tuple[str, ...] | None = None  # that it may have; None for all
    without: tuple[str, ...] = ()  # of these
    types: Mapping[str, Any] = MappingProxyType({})  # that keys have only there


class As(NamedTuple):
    """Metadata of a field: the type of its key in the configuration; None for a field that is no key."""

    type: Any


@dataclass(frozen=True)
class Expected:
    """Of a value: a test that it passes, else it is refused with what is expected, in words or as choices."""

    test: Callable[[Any], Any]
    words: str = ""
    choices: tuple[Any, ...] = ()
    pattern: str | None = None  # the same test for JSON Schema

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Return how pydantic tests a value."""
        from pydantic_core import PydanticCustomError, core_schema

        def checked(value: Any) -> Any:
            """Return the value; PydanticCustomError if it fails the test."""
            if not self.test(value):
                raise PydanticCustomError("expected", "expected", {"words": self.words, "choices": self.choices})
            return value

        return core_schema.no_info_after_validator_function(checked, handler(source))

    def __get_pydantic_json_schema__(self, source: Any, handler: Any) -> Any:
        """Return how an editor tests it."""
        return handler(source) | ({"enum": self.choices} if self.choices else {"pattern": self.pattern} if self.pattern else {})


def matching(pattern: str, words: str) -> Any:
    """Return the type of texts that match a pattern as a whole."""
    return Annotated[str, Expected(re.compile(pattern).fullmatch, f"expected {words}", pattern=f"^({pattern})$")]


def _differ(values: list[Any]) -> bool:
    return len({*map(repr, values)}) == len(values)


HIDDEN = As(None)
LEFT_OUT: Any = None  # instead of a default
NULL = object()  # of a type that null is too
OrNull = Annotated[Any_ | None, NULL]
STATED = Expected(lambda model: model.model_fields_set, "expected at least one key")
UNIQUE = Expected(_differ, "duplicate entry; remove one")

Text = Annotated[str, MinLen(1)]
Texts = Text | Annotated[list[Text], MinLen(1), UNIQUE]  # or a single one
Natural = Annotated[int, Interval(ge=0, le=LARGEST)]
Count = Annotated[int, Interval(ge=1, le=LARGEST)]
UpToMillion = Annotated[int, Interval(ge=1, le=1_000_000)]
Several = UpToMillion | Annotated[list[UpToMillion], MinLen(1), UNIQUE]
Tokens = Annotated[int, Interval(ge=3, le=1_000_000)]
WrittenTokens = Annotated[int, Interval(ge=2, le=1024)]
MostProbable = Annotated[int, Interval(ge=1, le=1024)]
Seed = Annotated[int, Interval(ge=0, le=2**53 - 1)]  # that JSON holds exactly
Positive = Annotated[float, Interval(gt=0)]
NotNegative = Annotated[float, Interval(ge=0)]
Share = Annotated[float, Interval(ge=0, le=1)]
PositiveShare = Annotated[float, Interval(gt=0, le=1)]
Price = Annotated[float, Interval(ge=0, le=1e9)]

Similarity = Literal["dot", "cosine"]
Ties = Literal["ascending", "descending"]
TorchWeights = Literal["model.safetensors", "pytorch_model.bin"]

Name: Any = matching(
    "[A-Za-z0-9][A-Za-z0-9._-]{0,99}",
    "1 to 100 letters a to z, digits, dots, dashes and underscores, beginning with a letter or digit, because it names folders",
)
Digest: Any = matching("[0-9a-f]{64}", "a sha256 digest, 64 lowercase hexadecimal digits")
AnyDigest: Any = matching("[0-9a-fA-F]{64}", "64 hexadecimal digits, the published sha256 of the manifest")
Measure: Any = matching(r"[^@\s]+@[1-9][0-9]*", "a measure with a cutoff, such as NDCG@10 (beirflow list measures shows all)")
Revision: Any = matching(
    "[0-9a-f]{40}",
    "the commit of the hub repository, 40 lowercase hexadecimal digits, so that the model cannot change under the name; "
    "git ls-remote https://huggingface.co/<owner>/<name> HEAD prints it",
)
Package: Any = matching(
    "package:[A-Za-z_][A-Za-z0-9_.]*(/.*)?",
    "package:<import name>/<folder> that ships the same weights; used where that package is installed",
)
Weights: Any = matching(
    r"model\.safetensors|pytorch_model\.bin|([A-Za-z0-9_-][A-Za-z0-9_.-]*/)*[A-Za-z0-9_-][A-Za-z0-9_.-]*\.onnx",
    "model.safetensors, pytorch_model.bin (read as tensors only, never as code), or an ONNX graph below the folder, such as "
    "onnx/model.onnx",
)
EncoderClass: Any = matching(
    r"sentence-transformers|[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*",
    "package.module:Class, a class of your own in place of a model; it has encode_queries and encode_corpus as beir calls them, "
    "or encode as MTEB does. Or sentence-transformers, which runs that library on the model",
)


def settings_of_a_class(entry: Any) -> set[str]:
    """Return the settings of an entry, or of one within it, by which a class is imported: files of others must not bring them."""
    if not isinstance(entry, Mapping):
        return set()
    return {"encoder", "arguments"}.intersection(entry).union(*map(settings_of_a_class, entry.values()))


JsonLines: Any = matching(
    r"[^<>\n]+\.jsonl(\.gz)?",
    "a file of JSON lines, plain or gzipped, with {dataset} where the name of the corpus is; the same characters as elsewhere in "
    "paths, without <, > and line feeds",
)
RunFile: Any = matching(
    r"([^{}\n]|\{dataset\})+",
    'file of the run on a dataset, as "/theirs/{dataset}.trec.gz" - TREC form, plain or gzipped, or Parquet with query_id, '
    "doc_id, score; {dataset} is the name of the dataset, of a forum cqadupstack-<forum>, and no other braces are allowed; or "
    "candidates, for those that a dataset states for each query",
)
Split: Any = matching(r"(?!(no|not stated)$)(?s:.{1,60})", "the name of a split, such as train")
Instructions = dict[str, Text]  # by dataset
