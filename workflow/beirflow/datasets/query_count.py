"""The number of judged queries of a dataset, to divide queries into blocks before they are read."""

from beirflow.files.errors import ConfigError, DataError
from beirflow.sources.beir_files import read_judgements
from beirflow.sources.forms import Form
from beirflow.sources.opening import open_source


def count_judged_queries(path: str, forum: str | None, split: str, form: Form | None = None) -> int:
    """Return the number of queries that have judgements; ConfigError if these cannot be read."""
    try:
        return len({judgement.query_id for _, judgement in read_judgements(open_source(path, forum, form), split)})
    except DataError as error:
        raise ConfigError(str(error)) from error
