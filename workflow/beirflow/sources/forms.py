"""The forms of datasets other than BEIR's: the fields of each, without the code that reads it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

CORPUS, QUERIES, QRELS = ROLES = ("corpus", "queries", "qrels")
"""The parts of a dataset on a hub."""

TOP_RANKED, INSTRUCTION, QREL_DIFF = "top_ranked", "instruction", "qrel_diff"
"""MTEB's names of further parts: candidates of queries, their instructions, and documents whose relevance these change."""

FURTHER = {"followir": (TOP_RANKED, INSTRUCTION, QREL_DIFF), "instructir": (INSTRUCTION,)}
"""Further parts of the layouts that have some."""

# Keys of a query in ``queries.jsonl``, all optional, and columns of ``queries.parquet`` or ``qrels.parquet``.
EXCLUDED = "excluded_ids"
"""Documents that are left out of the ranking of the query, as in BRIGHT."""

CANDIDATES = "candidate_ids"
"""The only documents that the query ranks, as in FollowIR."""

TOPIC = "topic_id"
"""Topic of which the query is one version, with an instruction of its own."""

CHANGED = "changed_ids"
"""Documents that are relevant to the query, but not to the other query of its topic; as ``changed``, in the judgements."""

NUGGETS = "nuggets"
"""For each fact of the right answer, the documents that support it; in the judgements, whether the document does."""


@dataclass(frozen=True)
class LabelledForm:
    """Names of the fields of such a file, and the meaning of its labels.

    Attributes:
        query: Field of a line: the text of the query.
        documents: Field of a line: the list of its documents.
        id: Field of a document: its id, a string or an integer; one that has none gets one from its title and text.
        title: Field of a document: its title, which may be missing.
        text: Field of a document: its text.
        label: Field of a document: its label; one that has none is in the corpus, but not judged.
        labels: Labels with the score that each stands for; without any, labels are the scores, as integers.
        kind: What tells this form from others.
    """

    query: str = "query"
    documents: str = "data"
    id: str = "id"
    title: str = "title"
    text: str = "summary"
    label: str = "answer"
    labels: tuple[tuple[str, int], ...] = ()
    kind: Literal["labelled"] = "labelled"

    has_splits: ClassVar[bool] = False
    own_candidates: ClassVar[bool] = False


@dataclass(frozen=True)
class SamplesForm:
    """Names of the fields of such a file, and the meaning of a list of queries.

    Attributes:
        query: The text of the query, or its list of texts.
        positive: The list of its relevant documents.
        negative: The list of the others.
        query_lists: Whether a query may be a list of texts, which then has the mean of their vectors; None if not.
        kind: What tells this form from others.
    """

    query: str = "query"
    positive: str = "positive"
    negative: str = "negative"
    query_lists: Literal["averaged"] | None = None
    kind: Literal["samples"] = "samples"

    has_splits: ClassVar[bool] = False
    own_candidates: ClassVar[bool] = True


@dataclass(frozen=True)
class HubForm:
    """A dataset on a hub.

    Attributes:
        hub: Its id there.
        revision: The commit that pins it.
        subset: The language or part of it, if it has several.
        qrels_hub: Id of another dataset that has the judgements; None where it has them itself.
        qrels_revision: The commit that pins that one.
        layout: Name of its layout in ``hub_layout.LAYOUTS``; None where each part has a config of its name.
        kind: What tells this form from others.
    """

    hub: str
    revision: str
    subset: str | None = None
    qrels_hub: str | None = None
    qrels_revision: str | None = None
    layout: str | None = None
    kind: Literal["hub"] = "hub"

    has_splits: ClassVar[bool] = True

    @property
    def roles(self) -> tuple[str, ...]:
        """Names of its parts."""
        return (*ROLES, *FURTHER.get(self.layout or "", ()))

    @property
    def own_candidates(self) -> bool:
        """Whether a query ranks only its candidates."""
        return TOP_RANKED in self.roles

    def place(self, role: str) -> tuple[str, str]:
        """Return id and revision of the dataset that has one of its parts; FreshStack has queries beside the judgements."""
        judged = (QRELS, QUERIES) if self.layout == "freshstack" else (QRELS,)
        if role in judged and self.qrels_hub and self.qrels_revision:
            return self.qrels_hub, self.qrels_revision
        return self.hub, self.revision


Form = LabelledForm | SamplesForm | HubForm
"""Any form other than BEIR's."""

FORMS: Mapping[str, type[Form]] = {form.kind: form for form in (LabelledForm, SamplesForm, HubForm)}


def form_of(fields: Mapping[str, Any] | None) -> Form | None:
    """Return the form from its fields, ``kind`` among them, in the parameters of a rule; None for that of BEIR."""
    return FORMS[fields["kind"]](**fields) if fields else None
