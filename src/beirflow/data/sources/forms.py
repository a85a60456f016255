"""The forms of datasets other than BEIR's: the fields of each, without the code that reads it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

from beirflow.core.keys import HIDDEN, Text

CORPUS, QUERIES, QRELS = ROLES = ("corpus", "queries", "qrels")  # the parts of a dataset on a hub

TOP_RANKED, INSTRUCTION, QREL_DIFF = "top_ranked", "instruction", "qrel_diff"
"""MTEB's names of further parts: candidates of queries, their instructions, and documents whose relevance these change."""

FURTHER = {"followir": (TOP_RANKED, INSTRUCTION, QREL_DIFF), "instructir": (INSTRUCTION,), "candidates": (TOP_RANKED,)}
"""Further parts of the layouts that have some."""

# Keys of a query in ``queries.jsonl``, all optional, and columns of ``queries.parquet`` or ``qrels.parquet``.
EXCLUDED = "excluded_ids"  # documents that are left out of the ranking of the query, as in BRIGHT
CANDIDATES = "candidate_ids"  # the only documents that the query ranks, as in FollowIR
TOPIC = "topic_id"  # topic of which the query is one version, with an instruction of its own
CHANGED = "changed_ids"
"""Documents that are relevant to the query, but not to the other query of its topic; as ``changed``, in the judgements."""

NUGGETS = "nuggets"
"""For each fact of the right answer, the documents that support it; in the judgements, whether the document does."""


@dataclass(frozen=True)
class LabelledForm:
    """Names of the fields of such a file, and the meaning of its labels."""

    query: Text = "query"
    """Of a line, the text of the query."""
    documents: Text = "data"
    """Of a line, the list of its documents."""
    id: Text = "id"
    """Of a document, its id, a text or a whole number; one that has none gets one from its title and text."""
    title: Text = "title"
    """Of a document, its title, which may be missing."""
    text: Text = "summary"
    """Of a document, its text."""
    label: Text = "answer"
    """Of a document, how relevant it is; one that has none is in the corpus, but not judged."""
    # labels with their scores; without any, labels are the scores, as integers
    labels: Annotated[tuple[tuple[str, int], ...], HIDDEN] = ()
    kind: Annotated[Literal["labelled"], HIDDEN] = "labelled"  # what tells this form from others

    has_splits: ClassVar[bool] = False
    own_candidates: ClassVar[bool] = False


@dataclass(frozen=True)
class SamplesForm:
    """Names of the fields of such a file, and the meaning of a list of queries."""

    query: Text = "query"
    """The text of the query, or its list of texts."""
    positive: Text = "positive"
    """The list of its relevant documents."""
    negative: Text = "negative"
    """The list of the others."""
    # whether a query may be a list of texts, which then has the mean of their vectors; None if not
    query_lists: Annotated[Literal["averaged"] | None, HIDDEN] = None
    kind: Annotated[Literal["samples"], HIDDEN] = "samples"  # what tells this form from others

    has_splits: ClassVar[bool] = False
    own_candidates: ClassVar[bool] = True


@dataclass(frozen=True)
class HubForm:
    """A dataset on a hub."""

    hub: str  # its id there
    revision: str = ""  # the commit that pins it; empty where none is known, so that the newest is fetched
    subset: str | None = None  # the language or part of it, if it has several
    qrels_hub: str | None = None  # id of another dataset that has the judgements; None where it has them itself
    qrels_revision: str | None = None  # the commit that pins that one
    layout: str | None = None  # name of its layout in ``hub_layout.LAYOUTS``; None where each part has a config of its name
    kind: Literal["hub"] = "hub"  # what tells this form from others

    has_splits: ClassVar[bool] = True

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> "HubForm":
        """Return the form from the checked entry of a dataset, which may have other keys too."""
        place = {key: entry[key] for key in ("hub", "revision", "subset", "layout") if key in entry}
        return cls(**place, **{f"qrels_{key}": value for key, value in entry.get("qrels", {}).items()})

    @property
    def roles(self) -> tuple[str, ...]:
        """Names of its parts."""
        return (*ROLES, *FURTHER.get(self.layout or "", ()))

    @property
    def own_candidates(self) -> bool:
        """True if a query ranks only its candidates."""
        return TOP_RANKED in self.roles

    def place(self, role: str) -> tuple[str, str]:
        """Return id and revision of the dataset that has one of its parts; FreshStack has queries next to the judgements."""
        judged = (QRELS, QUERIES) if self.layout == "freshstack" else (QRELS,)
        if role in judged and self.qrels_hub and self.qrels_revision:
            return self.qrels_hub, self.qrels_revision
        return self.hub, self.revision


Form = LabelledForm | SamplesForm | HubForm  # any form other than BEIR's

FORMS: Mapping[str, type[Form]] = {form.kind: form for form in (LabelledForm, SamplesForm, HubForm)}


def form_of(fields: Mapping[str, Any] | None) -> Form | None:
    """Return the form from its fields, ``kind`` among them, in the parameters of a rule; None for that of BEIR."""
    if not fields:
        return None
    made = FORMS[fields["kind"]](**fields)
    # A record gives tuples back as lists, which no definition of the same form equals.
    return replace(made, labels=tuple((name, score) for name, score in made.labels)) if isinstance(made, LabelledForm) else made
