"""Paths that belong together stay together."""

from pathlib import Path

from beirflow.core import layout


def test_the_record_of_a_file_has_its_name_beside_it() -> None:
    assert layout.record_of(layout.RUN(system="a", dataset="b.c")) == Path("runs/a/b.c.json")
    assert layout.record_of(Path("/x/report.html")) == Path("/x/report.json")
    for kind in ("RUN", "REPORT", "AUDIT", "QUERY_VECTORS", "CHUNK_VECTORS"):
        assert str(layout.record_of(getattr(layout, kind))) == getattr(layout, f"{kind}_RECORD")
    assert layout.CORPUS.names_in("corpora/a/corpus.json") == {"dataset": "a"}
    assert layout.MANIFEST.names_in(layout.MANIFEST()) == {}
