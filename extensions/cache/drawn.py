"""A drawn sample of what was taken from the cache, represented again by the step that would have computed it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa

from beirflow.audit.sample.representations import distance, rows_of
from beirflow.config.families import FAMILIES
from beirflow.core.errors import DataError
from beirflow.core.verified import reading
from beirflow.core.writing import PARTIAL
from beirflow.data.corpus_files import Documents, Queries
from beirflow.models.computing.model_settings import Computing
from beirflow.run.rule_call import Work

DRAWN = 8  # texts of a file, or all of a smaller one


class Drawn:
    """Documents or queries of which a step reads only some rows, drawn when it reads them."""

    def __init__(self, texts: Any) -> None:
        self._texts = texts
        self.rows = np.empty(0, np.int64)

    def read(self, columns: Sequence[str]) -> pa.Table:
        """Read some columns of the drawn queries."""
        return self._drawn(self._texts.read(columns))

    def texts(self, *arguments: Any) -> pa.Table:
        """Read the texts of the drawn documents of a chunk."""
        return self._drawn(self._texts.texts(*arguments))

    def _drawn(self, table: pa.Table) -> pa.Table:
        # By chance: whoever forges an entry must not know which.
        self.rows = np.sort(np.random.default_rng().permutation(len(table))[:DRAWN])
        return table.take(self.rows)


def check_drawn(work: Work, path: Path, fields: Mapping[str, Any]) -> None:
    """Raise DataError unless the rows of a few drawn texts are as near to those computed here as their precision allows."""
    name = next(name for name, each in work.arguments.items() if isinstance(each, Documents | Queries))
    drawn = Drawn(work.arguments[name])
    with TemporaryDirectory(dir=path.parent, prefix=PARTIAL) as folder, reading(path):
        again = Path(folder, f"drawn{path.suffix}")
        made, _ = work.compute(again, **{name: drawn})
        try:
            stored = rows_of(path, drawn.rows)
        except IndexError as error:
            raise DataError(f"it has no row {drawn.rows[-1]}, so it is of other texts") from error
        pairs = zip(stored, rows_of(again, np.arange(len(drawn.rows))), strict=True)
        apart = max((distance(*pair) for pair in pairs), default=0.0)
    most = max(_tolerance(work, str(each.get("precision"))) for each in (fields["made"], made.fields["made"]))
    if not apart <= most:
        found = f"a drawn text is {apart:.1e} of its length from what the model computes here"
        raise DataError(f"{found}, at most {most:.0e} was expected: the entry was not computed as it says")


def _tolerance(work: Work, precision: str) -> float:
    """Return how far what the step makes may be from what it made in a precision."""
    family = next(each for each in FAMILIES.values() if work.rule.rule in [stage.rule for stage in each.stages])
    settings = next(each.settings for each in work.arguments.values() if isinstance(each, Computing))
    if isinstance(settings, family.settings):
        return family.tolerance(settings, precision)
    return family.within.get(precision, family.within["unknown"])  # of an encoder alone, before its vectors are compressed
