"""The family of learned sparse systems, as the experiment sees it."""

from beirflow.files.layout import TERM_WEIGHTS
from beirflow.runs.family import Family
from beirflow.sparse.model_folders import digests_of, local_files, model_problem
from beirflow.sparse.settings import SparseSettings

FAMILY = Family(
    name="sparse",
    settings=SparseSettings,
    problem=model_problem,
    model_files=local_files,
    model_digests=digests_of,
    spot_checks="beirflow.sparse.spot_check:spot_checks",
    answers="beirflow.sparse.answers:open_answers",
    searched=lambda _: (TERM_WEIGHTS,),
)
