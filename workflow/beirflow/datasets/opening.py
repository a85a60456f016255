"""Open a dataset, in whatever form it is."""

from pathlib import Path

from beirflow.datasets.beir_files import Source
from beirflow.datasets.labelled import LabelledForm, LabelledSource
from beirflow.datasets.source import DatasetSource


def open_source(path: str | Path, forum: str | None = None, form: LabelledForm | None = None) -> DatasetSource:
    """Open a dataset to read it.

    Args:
        path: Its folder, archive or file.
        forum: Folder of a forum inside it, or None.
        form: What its lines are; None for the form of BEIR.

    Returns:
        The dataset; nothing of it has been read yet.

    Raises:
        DataError: It is an archive that is missing or damaged.
    """
    return LabelledSource(path, form) if form else Source(path, forum)
