"""Open a dataset in any form."""

from pathlib import Path

from beirflow.data.sources.beir_files import Source
from beirflow.data.sources.forms import Form, HubForm, SamplesForm
from beirflow.data.sources.hub_source import HubSource
from beirflow.data.sources.labelled import LabelledSource, SamplesSource
from beirflow.data.sources.source import DatasetSource


def open_source(path: str | Path, forum: str | None = None, form: Form | None = None) -> DatasetSource:
    """Open a dataset in any form; none of its documents, queries and judgements has been read yet.

    ``path`` is its folder, archive or file; of one on a hub, the record of what was fetched. ``forum`` is a folder inside it, and
    a form of None is that of BEIR. Raises DataError if it is an archive that is missing or damaged, or the record of something
    else.
    """
    if isinstance(form, HubForm):
        return HubSource(path, form)
    if isinstance(form, SamplesForm):
        return SamplesSource(path, form)
    return LabelledSource(path, form) if form else Source(path, forum)
