"""Registered measures: against the oracle on random rankings, and where their names are used."""

import math
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import beirflow
from beirflow.data.catalogue.catalogue import PUBLISHED, load_catalogue
from beirflow.evaluation.measures import measure
from beirflow.evaluation.summary import SHOWN
from beirflow.ranking.measures.all_measures import MEASURES
from reference_measures import measures_of_query

CUTOFFS = [1, 3, 10, 100]
REPOSITORY = Path(__file__).parents[4]


def table_of(rows: list[tuple[str, str, float]], kind: pa.DataType) -> pa.Table:
    queries, documents, values = (list(column) for column in zip(*rows, strict=True))
    return pa.table({"query_id": queries, "doc_id": documents, "score": pa.array(values, kind)})


@pytest.mark.parametrize("least", [1, 2])
def test_measures_are_those_of_the_oracle_on_random_runs_with_negative_grades_holes_and_empty_queries(least: int) -> None:
    draw = random.Random(7)
    documents = [f"d{i:03}" for i in range(150)]
    rows, grades, ranked = [], [], {}
    for query in (f"q{i:02}" for i in range(40)):
        found = draw.sample(documents, draw.choice([0, 1, 5, 120]))
        ranked[query] = sorted(((draw.randrange(10) / 4, doc_id) for doc_id in found), reverse=True)
        rows += [(query, doc_id, score) for score, doc_id in ranked[query]]
        some = draw.sample(documents[:90], draw.choice([1, 4, 30]))
        grades += [(query, doc_id, draw.choice([-1, 0, 1, 2, 3])) for doc_id in some]
    run, qrels = table_of(rows, pa.float32()), table_of(grades, pa.int32())
    qrels = qrels.replace_schema_metadata({"relevant_from": str(least)} if least > 1 else None)
    judged = {doc_id for _, doc_id, _ in grades}
    table = measure(run, qrels, CUTOFFS).set_index("query_id")
    for query in table.index:
        judgements = {doc_id: grade for of, doc_id, grade in grades if of == query}
        oracle = measures_of_query([doc_id for _, doc_id in ranked[query]], judgements, judged, CUTOFFS, least)
        assert len(oracle) == 10 * len(CUTOFFS)
        assert table.loc[query, list(oracle)].to_dict() == pytest.approx(oracle, abs=1e-12)


def test_the_oracle_by_hand() -> None:
    found = measures_of_query(["a", "x", "b", "c"], {"a": 1, "b": 2, "gone": 1, "c": 0, "bad": -1}, {"a", "b", "c", "gone"}, [3])
    ideal = 2 + 1 / math.log2(3) + 1 / math.log2(4)
    assert found == pytest.approx(
        {
            "NDCG@3": (1 + 2 / math.log2(4)) / ideal,
            "MAP@3": (1 / 1 + 2 / 3) / 3,
            "Recall@3": 2 / 3,
            "P@3": 2 / 3,
            "MRR@3": 1,
            "R_cap@3": 2 / 3,
            "Hole@3": 1 / 3,
            "Accuracy@3": 1,
            "F1@3": 2 / 3,
            "NDCG_exp@3": (1 + 3 / math.log2(4)) / (3 + 1 / math.log2(3) + 1 / math.log2(4)),
        }
    )


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
