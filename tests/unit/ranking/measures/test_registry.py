"""Registered measures: against the oracle on random rankings, and where their names are used."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import beirflow
from beirflow.data.catalogue.catalogue import PUBLISHED, load_catalogue
from beirflow.evaluation.summary import SHOWN
from beirflow.ranking.measures.all_measures import MEASURES


def test_columns_have_the_order_that_they_always_had() -> None:
    names = list(MEASURES)
    assert names[:10] == ["NDCG", "MAP", "Recall", "P", "MRR", "R_cap", "Hole", "Accuracy", "F1", "NDCG_exp"]
    assert names[-4:] == ["alpha-nDCG", "coverage", "p-MRR", "robustness"]
    assert [name for name, each in MEASURES.items() if not each.ranks_systems] == ["Hole"]
    assert [name for name, each in MEASURES.items() if each.needs and each.needs.compare_queries] == ["p-MRR", "robustness"]


def test_every_measure_has_a_name_for_a_column_and_a_meaning() -> None:
    for name, each in MEASURES.items():
        assert re.fullmatch(r"[A-Za-z][\w-]*", name)
        assert len(each.meaning) > 10, name


def test_measures_that_are_named_elsewhere_are_registered() -> None:
    of_collections = [facts["main_measure"] for facts in load_catalogue().newer.facts.values()]
    assert of_collections
    for named in (*SHOWN, *PUBLISHED, *of_collections):
        assert named.partition("@")[0] in MEASURES, named


NAMES_ALONE = """
import sys
from beirflow.ranking.measures.all_measures import MEASURES
print("MRR" in MEASURES, {"pytrec_eval", "pandas", "torch"} & {*sys.modules})
"""

NEW = '''"""A measure."""

from beirflow.ranking.measures.registry import measure


@measure("Twice")
def twice(ranking, k):
    """Twice the hits."""
    return 2.0 * ranking.hits(k)
'''

USED = """
import pyarrow as pa
from beirflow.evaluation.measures import measure
from beirflow.ranking.measures.all_measures import MEASURES
run = pa.table({"query_id": ["q"], "doc_id": ["d"], "score": pa.array([1.0], pa.float32())})
qrels = pa.table({"query_id": ["q"], "doc_id": ["d"], "score": pa.array([1], pa.int32())})
print(measure(run, qrels, [10])["Twice@10"][0], MEASURES["Twice"].meaning)
"""


def printed(code: str, path: Path) -> str:
    """What code prints in a process of its own, with the package in a folder."""
    command = [sys.executable, "-P", "-c", f"import sys; sys.path.insert(0, {str(path)!r})\n{code}"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_names_are_known_without_the_packages_that_measure() -> None:
    assert printed(NAMES_ALONE, Path(beirflow.__file__).parents[1]) == "True set()\n"


def test_a_new_file_is_a_new_measure(tmp_path: Path) -> None:
    shutil.copytree(Path(beirflow.__file__).parent, tmp_path / "beirflow", symlinks=True)
    (tmp_path / "beirflow/ranking/measures/twice.py").write_text(NEW, encoding="utf-8")
    assert printed(USED, tmp_path) == "2.0 Twice the hits\n"
