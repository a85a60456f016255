"""The record of a system's models, as an input of steps."""

from beirflow.core.artifact import Artifact
from beirflow.core.layout import MODEL


class ModelRecord(Artifact):
    """The record of ``fetch_model``: digests of the files of models, which it does not hold."""

    pattern = MODEL
