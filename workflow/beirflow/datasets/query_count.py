"""How many queries of a dataset are judged, for what divides its queries before they are read."""

from beirflow.datasets.beir_files import Source, read_judgements
from beirflow.files.errors import ConfigError, DataError


def count_judged_queries(path: str, forum: str | None, split: str) -> int:
    """Number of queries that have judgements.

    Args:
        path: Folder or archive of the dataset.
        forum: Folder of a forum inside it, or None.
        split: Name of the judgements.

    Returns:
        The count.

    Raises:
        ConfigError: The judgements cannot be read.
    """
    try:
        return len({judgement.query_id for _, judgement in read_judgements(Source(path, forum), split)})
    except DataError as error:
        raise ConfigError(str(error)) from error
