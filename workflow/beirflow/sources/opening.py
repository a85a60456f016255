"""Open a dataset in any form."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from beirflow.sources.beir_files import Source
from beirflow.sources.hub_layout import HubForm
from beirflow.sources.hub_source import HubSource
from beirflow.sources.labelled import LabelledForm, LabelledSource
from beirflow.sources.samples import SamplesForm, SamplesSource
from beirflow.sources.source import DatasetSource

Form = LabelledForm | SamplesForm | HubForm
"""Another than BEIR's."""

FORMS: Mapping[str, type[Form]] = {form.kind: form for form in (LabelledForm, SamplesForm, HubForm)}


def form_of(fields: Mapping[str, Any] | None) -> Form | None:
    """The form of a dataset from the parameters of a rule.

    Args:
        fields: Its fields, ``kind`` among them; None for the form of BEIR.

    Returns:
        The form.
    """
    return FORMS[fields["kind"]](**fields) if fields else None


def open_source(path: str | Path, forum: str | None = None, form: Form | None = None) -> DatasetSource:
    """Open a dataset to read it.

    Args:
        path: Its folder, archive or file; of one on a hub, the record of what was fetched.
        forum: Folder of a forum inside it, or None.
        form: Its form; None for that of BEIR.

    Returns:
        The dataset; none of its documents, queries and judgements has been read yet.

    Raises:
        DataError: It is an archive that is missing or damaged, or the record of something else.
    """
    if isinstance(form, HubForm):
        return HubSource(path, form)
    if isinstance(form, SamplesForm):
        return SamplesSource(path, form)
    return LabelledSource(path, form) if form else Source(path, forum)
