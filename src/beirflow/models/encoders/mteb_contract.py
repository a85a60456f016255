"""Arguments that MTEB passes to the ``encode`` of an encoder: the kind of text, the task, and from its version 2 on a DataLoader.

Sources: ``mteb/encoder_interface.py`` of MTEB 1.38, ``mteb/models/models_protocols.py`` and ``mteb/types`` of MTEB 2.26.
"""

import ast
import inspect
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from beirflow.core.errors import ModelError
from beirflow.core.python_source import parse_python
from beirflow.data.document_text import Kind
from beirflow.models.model_json import TASKS

ENCODE = "encode"  # the one method of the contract
METADATA = "task_metadata"  # the keyword that only an ``encode`` of version 2 takes

BEFORE: dict[Kind, str] = {
    "queries": "query",
    "documents": "passage",
}  # the values of ``TASKS`` in early versions, up to 1.38.0 at least
PLACES_OF_PROMPT_TYPE = ("mteb.types", "mteb.encoder_interface")  # modules of MTEB 2 and 1 that define its class


def mteb_options(method: Callable[..., Any], names: Collection[str], kind: Kind, task: str, *, takes_all: bool) -> dict[str, Any]:
    """Return the keywords of the contract that a method takes, with their values.

    A method other than ``encode`` gets only what it ``names``; ``takes_all`` is whether it has ``**kwargs``. The task is that of
    MTEB, or the name of a dataset that is none. Raises ModelError if the method wants the metadata of a task, and there is no
    such task, or no MTEB.
    """
    given: dict[str, Any] = {"task_name": task}
    is_encode = method.__name__ == ENCODE
    if is_encode and METADATA in names:
        metadata = _metadata(task)
        given = {METADATA: metadata, "hf_split": metadata.eval_splits[0], "hf_subset": metadata.hf_subsets[0]}
    given["prompt_type"] = prompt_type(method, kind)
    return {name: value for name, value in given.items() if name in names or (is_encode and takes_all)}


def described_options(options: Mapping[str, Any]) -> dict[str, str]:
    """Describe these keywords for the record: the prompt type and the name of the task."""
    values = {name: options[name] for name in ("task_name", "prompt_type") if name in options}
    if METADATA in options:
        values["task_name"] = options[METADATA].name
    return {name: str.__str__(value) for name, value in values.items()}


def loader_of(kind: Kind, texts: Sequence[str], parts: Sequence[tuple[str, str]], batch_texts: int) -> Any:
    """Return texts as MTEB 2 passes them to ``encode``: a DataLoader of batches of columns.

    For queries these are ``text`` and ``query``; for documents ``text``, joined, and the ``parts``: ``title`` and ``body``.
    """
    from datasets import Dataset  # type: ignore[import-not-found]  # of MTEB, which wants its features
    from torch.utils.data import DataLoader

    columns = {"text": list(texts)}
    if kind == "queries":
        columns["query"] = list(texts)
    else:
        columns |= {"title": [title for title, _ in parts], "body": [body for _, body in parts]}
    return DataLoader(Dataset.from_dict(columns), batch_size=batch_texts)


def prompt_type(method: Callable[..., Any], kind: Kind) -> str:
    """Return MTEB's own value, which is also a text, if the class has imported MTEB; else the word in its module."""
    names = (TASKS[kind], BEFORE[kind])
    for place in PLACES_OF_PROMPT_TYPE:
        members: dict[str, str] = getattr(getattr(sys.modules.get(place), "PromptType", None), "__members__", {})
        if known := [members[name] for name in names if name in members]:
            return known[0]
    return names[1] if names[1] in _strings_beside(method) else names[0]


def _metadata(task: str) -> Any:
    try:
        import mteb  # type: ignore[import-not-found]  # of the user: the class asks for what only this has
    except ImportError as error:
        raise ModelError(f"{ENCODE} wants {METADATA}, which MTEB has; pip install 'mteb>=2'") from error
    try:
        metadata = mteb.get_task(task).metadata
    except KeyError:
        metadata = None
    if metadata is None or metadata.name != task:
        raise ModelError(
            f"{ENCODE} wants {METADATA}, and MTEB {mteb.__version__} has no task {task}; for this dataset, write encode_query and"
            " encode_document, which get texts"
        )
    return metadata


def _strings_beside(method: Callable[..., Any]) -> set[Any]:
    """Return the constants in the source of a method's module; empty without a source."""
    try:
        source = inspect.getsource(inspect.getmodule(method))  # type: ignore[arg-type]
    except (OSError, TypeError):
        return set()
    return {node.value for node in ast.walk(parse_python(source)) if isinstance(node, ast.Constant)}
