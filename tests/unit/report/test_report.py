"""The report: its parts, in order, where its numbers come from, and that text stays text on a page with a policy."""

import base64
import gzip
import hashlib
import json
import re
from base64 import b64encode
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from beirflow.core.digests import file_digest
from beirflow.report.pages import TEMPLATES, Cell, number
from beirflow.report.registry import functions
from forger import Forger, put
from report_files import ReportFiles


@pytest.fixture
def files(tmp_path: Path) -> ReportFiles:
    rows = {"forums": ["forums-a", "forums-b"], "scifact": ["scifact"]}
    return ReportFiles(tmp_path, ["contriever", "tas-b"], rows, queries=2)


def index(page: str) -> dict[str, Any]:
    found = re.search(r'id="index">(.*?)</script>', page)
    return json.loads(found[1])


def test_datasets_come_in_the_order_of_the_configuration_and_forums_after_theirs(files: ReportFiles) -> None:
    found = index(files.write().read_text(encoding="utf-8"))
    assert found["systems"] == ["contriever", "tas-b"]
    assert [entry["name"] for entry in found["datasets"]] == ["forums", "forums-a", "forums-b", "scifact"]
    assert [entry.get("forums") for entry in found["datasets"]] == [["forums-a", "forums-b"], None, None, None]
    means = json.loads((files.folder / "metrics/tas-b/forums-b.json").read_text())
    assert found["datasets"][2]["measures"]["tas-b"] == means["measures"]


def test_queries_and_the_matches_of_hits_are_on_the_page_as_in_their_files_and_in_its_record(files: ReportFiles) -> None:
    page, names = files.write().read_text(encoding="utf-8"), ["forums-a", "forums-b", "scifact"]
    recorded = json.loads((files.folder / "report.json").read_text())["outputs"]
    for key, folder, expected in (("dataset", "inspection", names), ("matches", "matches", [f"tas-b/{name}" for name in names])):
        packed = dict(re.findall(rf'data-{key}="([^"]*)">([^<]*)<', page))
        assert list(packed) == expected
        for name, text in packed.items():
            assert gzip.decompress(base64.b64decode(text)) == (files.folder / f"{folder}/{name}.json").read_bytes()
            assert f"{folder}/{name}.json" in recorded


def test_the_first_sentence_has_the_numbers_of_the_tables_and_names_whom_the_tests_cannot_tell_apart(files: ReportFiles) -> None:
    files.write()
    summary, uncertainty = (pd.read_csv(files.folder / f"{name}.csv") for name in ("summary", "uncertainty"))
    means = summary[summary["split"].isna()].set_index("system")["NDCG@10"]
    best, other = means.sort_values(ascending=False).index
    bounds = uncertainty[uncertainty["dataset"].str.startswith("mean of 2") & (uncertainty["system"] == best)].iloc[0]
    interval = f"(95 % interval {bounds['low']:.4f}–{bounds['high']:.4f}) over 2 datasets"
    for letters, said in (
        ({best: "a", other: "a"}, f"Not significantly different: {other}."),
        ({best: "a", other: "b"}, "All others"),
    ):
        uncertainty.assign(groups=uncertainty["system"].map(letters)).to_csv(files.folder / "uncertainty.csv", index=False)
        page = files.report().read_text(encoding="utf-8")
        sentence = re.search(r'<p class="verdict">(.*?)</p>', page, re.DOTALL)[1]
        assert sentence.startswith(f"<b>{best}</b> is best: mean NDCG@10 <b>{means[best]:.4f}</b>")
        assert interval in sentence
        assert said in sentence


def test_every_figure_is_on_the_page_with_words_and_a_link_and_what_made_the_results(files: ReportFiles) -> None:
    page = files.write().read_text(encoding="utf-8")
    for name in functions("figure"):
        title, alt = re.findall(r"\.\. (?:title|alt): (.*)", (TEMPLATES / f"{name}.rst").read_text(encoding="utf-8"))
        svg = base64.b64encode((files.folder / f"figures/{name}.svg").read_bytes()).decode()
        assert f'<img alt="{alt}" src="data:image/svg+xml;base64,{svg}">' in page
        assert f"<b>{title}.</b>" in page
        assert f'<a href="figures/{name}.pdf">' in page
        assert (f'<a href="figures/{name}.csv">' in page) == (name in ("pareto", "critical_difference"))
    shown = ["Generated 2026-01-02.", "2026-01-02T03:04:05", "commit c0ffee, with uncommitted changes", "3.11.7 on Linux"]
    shown += ["torch 2.13.0", "5" * 64]
    assert [text for text in shown if text not in page] == []
    assert "scipy" not in page.split("<details")[0]
    assert f"sha256 {file_digest(files.folder / 'manifest.json')}" in page


def test_a_run_that_ends_early_is_named_with_the_documents_that_it_has(files: ReportFiles) -> None:
    page = files.write().read_text(encoding="utf-8")
    assert [entry["most"] for entry in index(page)["datasets"]] == [{}] * 4
    assert "of a measure is not tested" in page
    Forger(files.folder).edit("metrics/tas-b/scifact.json", put("counts", "retrieved_limit", value=50))
    Forger(files.folder).edit("metrics/contriever/scifact.json", put("counts", "retrieved_limit", value=10**6))  # all
    files.report()
    datasets = index((files.folder / "report.html").read_text(encoding="utf-8"))["datasets"]
    assert [entry["most"] for entry in datasets] == [{}, {}, {}, {"tas-b": 50}]


def test_a_single_system_on_a_single_dataset_has_nothing_to_compare(tmp_path: Path) -> None:
    page = ReportFiles(tmp_path, ["toy"], {"scifact": ["scifact"]}, queries=1, of=1).write().read_text(encoding="utf-8")
    assert "<h1>1 system on 1 dataset</h1>" in page
    assert 'id="significance"' not in page
    assert '<span class="hidden"> best</span>' not in page.split("<script>")[0]


@pytest.mark.parametrize("name", ["nan", "007"])
def test_datasets_and_systems_may_have_any_name(tmp_path: Path, name: str) -> None:
    page = ReportFiles(tmp_path, ["a", name], {name: [name]}, queries=1).write().read_text(encoding="utf-8")
    assert index(page)["systems"] == ["a", name]
    assert f'<th scope="row" class="stub">{name}</th>' in page


HOSTILE = "</script><script>alert(1)</script><!-- & \u2028"


def test_a_number_is_written_with_fixed_decimals_or_not_at_all() -> None:
    assert number(-0.125, "+.4f") == Cell("−0.1250", -0.125)
    assert number(0.125, "+.4f") == Cell("+0.1250", 0.125)
    assert number(1234567, ",.0f") == Cell("1,234,567", 1234567)
    assert number(None) == number(float("nan")) == Cell("")


def test_the_policy_allows_the_script_and_the_style_of_the_page_and_nothing_else(tmp_path: Path) -> None:
    files = ReportFiles(tmp_path, ["contriever", "tas-b"], {"scifact": ["scifact"]}, queries=2, hostile=[HOSTILE])
    page = files.write().read_text(encoding="utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    directives = dict(part.split(" ", 1) for part in policy[1].replace("&#39;", "'").split("; "))
    assert directives["default-src"] == "'none'"
    for name, tag in (("script", "script"), ("style", "style")):
        content = re.search(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = b64encode(hashlib.sha256(content[1].encode()).digest()).decode()
        assert directives[f"{name}-src"] == f"'sha256-{digest}'"
    assert set(directives) == {"default-src", "img-src", "base-uri", "form-action", "script-src", "style-src"}
    # What stands in the data never becomes markup, and the page names nothing outside itself.
    assert HOSTILE not in page
    assert "alert(1)" not in page
    assert page.count("</script>") == 4  # the table of contents, one dataset, what its hits match, the behaviour
    assert re.findall(r'(?:src|href)="(?!#|data:|figures/|beir_paper/)[^"]*"', page) == []
    assert re.findall(r"url\(|@import", page) == []
    assert files.write().read_text(encoding="utf-8") == page


@pytest.mark.parametrize("name", ["tables.js", "pair.js", "report.js"])
def test_the_script_puts_text_on_the_page_as_text(name: str) -> None:
    script = (TEMPLATES / name).read_text(encoding="utf-8")
    assert re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|eval\(|new Function", script) == []
    assert len(script.splitlines()) <= 300
