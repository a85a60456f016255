"""The keys of datasets of the user's own, below ``custom.datasets``."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Interval, MinLen

from beirflow.core.keys import LEFT_OUT, UNIQUE, Count, Expected, Keys, Name, Text, matching
from beirflow.data.sources.forms import LabelledForm, SamplesForm
from beirflow.data.sources.hub_layout import LAYOUTS

_OF_ALL = ("documents", "shares_texts_with", "drop_self_matches", "relevant_from")
_OF_A_FILE = ("fields", "labels", "query_lists")

HubDataset: Any = matching(r"[A-Za-z0-9][\w.-]*/[\w.-]+", "the id of a dataset on a hub, such as zeta-alpha-ai/NanoNFCorpus")
Commit: Any = matching("[0-9a-f]{40}", "the commit that pins it, 40 lowercase hexadecimal digits")
Subset: Any = matching(
    r"[\w.-]+",
    "the language or part of a dataset on a hub that has several, e.g. de for the configs de-corpus, de-queries, de-qrels",
)


@dataclass(frozen=True)
class OnHub:
    """A dataset on a hub."""

    hub: HubDataset
    """Id of the dataset there, such as zeta-alpha-ai/NanoNFCorpus."""
    revision: Commit
    """Commit that pins it."""


@dataclass(frozen=True)
class OwnDataset:
    """A dataset in BEIR form, or in one that is described here."""

    hub: HubDataset = LEFT_OUT
    """Id of a dataset on a hub, such as zeta-alpha-ai/NanoNFCorpus."""
    revision: Commit = LEFT_OUT
    """Commit that pins it."""
    subset: Subset = LEFT_OUT
    """Language or part of a dataset on a hub that has several, e.g. de for the configs de-corpus, de-queries, de-qrels."""
    layout: Annotated[str, Expected(LAYOUTS.__contains__, choices=(*LAYOUTS,))] = LEFT_OUT
    """Layout of a dataset on a hub without a config each for documents, queries and judgements."""
    qrels: OnHub = LEFT_OUT
    """Another dataset on the hub that has the judgements, as BeIR/scifact-qrels has those of BeIR/scifact."""
    path: Text = LEFT_OUT
    """Folder or .zip with corpus.jsonl, queries.jsonl and qrels/<split>.tsv, or a folder a forum with these; with form, a
    file."""
    form: Literal["beir", "labelled", "samples"] = "beir"
    """What path is: labelled, a file in which a line is a query with its labelled documents; or samples, one in which it is a
    query with the documents that it ranks, for re-ranking."""
    fields: LabelledForm = LEFT_OUT
    """What the fields of such a file are called."""
    query_lists: Literal["averaged"] = LEFT_OUT
    """Whether queries of samples may be lists of texts. averaged: such a query has the mean of the vectors of its texts, in dense
    systems and rerankers that name one; other systems are refused. Lists are refused unless stated."""
    labels: Annotated[dict[str, Annotated[int, Interval(ge=-1000, le=1000)]], MinLen(1)] = LEFT_OUT
    """Score of each label of such a file, 0 for not relevant; quote yes, no and numbers. Without it, labels are scores."""
    split: Name = "test"
    """The judgements that are evaluated, qrels/<split>.tsv."""
    documents: Count = LEFT_OUT
    """Documents of the corpus. Counted at the first start, and when the corpus has changed, unless stated here."""
    forums: Annotated[list[Name], MinLen(1), UNIQUE] = LEFT_OUT
    """Folders inside path, each with a corpus of its own; the result is the plain mean of theirs."""
    shares_texts_with: Name = LEFT_OUT
    """Dataset that has most of the same texts. Where both are configured, these are encoded once. Neither has forums."""
    drop_self_matches: bool = True
    """Whether a document whose id is the query's id is dropped before the cut at k."""
    relevant_from: Annotated[int, Interval(ge=1, le=1000)] = LEFT_OUT
    """Least grade of a relevant document, for measures without grades, as trec_eval's -l; 1 unless stated."""

    kinds: ClassVar = {
        "hub": Keys(("hub", "revision"), without=("path", "form", "forums", *_OF_A_FILE)),
        "form: labelled": Keys(("path", "form"), ("fields", "labels", *_OF_ALL)),
        "form: samples": Keys(("path", "form"), ("fields", "query_lists", *_OF_ALL), types={"fields": SamplesForm}),
        "path": Keys(("path",), without=("hub", "revision", "subset", "layout", "qrels", *_OF_A_FILE)),
    }
