"""Derived files are told from what results depend on."""

from beirflow.core import layout
from beirflow.core.kinds import is_derived

READ_ON = ["DOCUMENTS", "CORPUS", "QUERY_VECTORS", "CANDIDATES", "RUN", "RUN_RECORD", "TREC_RUN", "METRICS", "PER_QUERY"]


def test_what_a_result_depends_on_is_not_for_reading() -> None:
    paths = [
        *(getattr(layout, name)(system="a", dataset="b", chunk=0) for name in READ_ON),
        *(layout.SUMMARY(), layout.MANIFEST(), layout.LOG(job="report"), layout.BENCHMARK(job="report")),
        *(
            "",
            "code",
            "codes/a",
            "more/code/a",
            "report.html/a",
            "figures/.hidden.pdf",
            "inspection/a/b.json",
            f"x/{layout.COST}",
        ),
    ]
    assert [path for path in paths if is_derived(path)] == []
