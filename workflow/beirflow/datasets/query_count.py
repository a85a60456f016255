"""The number of judged queries of a dataset, to divide queries into blocks before they are read."""

from beirflow.files.errors import ConfigError, DataError
from beirflow.sources.beir_files import read_judgements
from beirflow.sources.forms import Form
from beirflow.sources.opening import open_source


def count_judged_queries(path: str, forum: str | None, split: str, form: Form | None = None) -> int:
    """Number of queries that have judgements.

    Args:
        path: Folder, archive or file of the dataset.
        forum: Folder of a forum inside it, or None.
        split: Name of the judgements.
        form: Its form; None for that of BEIR.

    Returns:
        The count.

    Raises:
        ConfigError: The judgements cannot be read.
    """
    try:
        return len({judgement.query_id for _, judgement in read_judgements(open_source(path, forum, form), split)})
    except DataError as error:
        raise ConfigError(str(error)) from error
