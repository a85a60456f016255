"""The report in a real browser: it opens without a network, sorts, searches, prints, fits a phone, and is accessible."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from beirflow.data.catalogue.schema import CATALOGUE
from chromium import Chromium
from report_files import ReportFiles

NDCG = '[aria-labelledby="leaderboard-table"]'
DATASETS = '[aria-labelledby="datasets-table"]'
BUTTONS = f'{DATASETS} thead th[scope="col"] button'
SORTED = "[...document.querySelectorAll('th[aria-sort]:not([aria-sort=none])')].map((e) => [e.textContent, e.ariaSort])"


def texts(browser: Chromium, selector: str) -> list[str]:
    return browser.evaluate(f"[...document.querySelectorAll({json.dumps(selector)})].map((e) => e.textContent.trim())")


def choose(browser: Chromium, select: str, label: str) -> None:
    browser.evaluate(
        f"(() => {{ const select = document.getElementById({json.dumps(select)});"
        f"select.selectedIndex = [...select.options].findIndex((e) => e.label === {json.dumps(label)});"
        f"select.dispatchEvent(new Event('change')) }})()"
    )


def opened(browser: Chromium, page: Path, dataset: str = "scifact") -> Chromium:
    browser.open(page)
    choose(browser, "choice", dataset)
    browser.wait_for(f"document.getElementById('measures-caption')?.textContent.endsWith({json.dumps(' ' + dataset)})")
    return browser


def inspection(results: ReportFiles) -> dict[str, Any]:
    return json.loads((results.folder / "inspection/scifact.json").read_text(encoding="utf-8"))


def shown_queries(browser: Chromium) -> list[str]:
    return browser.evaluate("[...document.querySelectorAll('.query summary .id')].map((e) => e.textContent)")


def test_the_page_needs_no_network_and_the_console_stays_empty(browser: Chromium, report: Path) -> None:
    opened(browser, report)
    assert browser.requested() == [report.as_uri()]
    assert browser.complaints() == []


def test_the_policy_of_the_page_lets_nothing_in(browser: Chromium, report: Path) -> None:
    opened(browser, report)
    browser.evaluate(
        "document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.hacked = 1'}),"
        "Object.assign(document.createElement('img'), {src: 'https://example.org/a.png'}))"
    )
    assert browser.evaluate("window.hacked") is None
    assert browser.evaluate("fetch('https://example.org/').then(() => 'came', () => 'refused')") == "refused"
    failed = [event["params"] for event in browser.events if event["method"] == "Network.loadingFailed"]
    assert {event["blockedReason"] for event in failed} == {"csp"}


def test_a_table_sorts_by_click_and_back(browser: Chromium, report: Path) -> None:
    opened(browser, report)
    column = f"{DATASETS} tbody td:nth-child(3)"
    first = texts(browser, column)
    numbers = sorted(first, key=lambda text: int(text.replace(",", "")))
    for expected, direction in ((numbers[::-1], "descending"), (numbers, "ascending")):
        browser.click(BUTTONS, 2)
        assert texts(browser, column) == expected
        assert browser.evaluate(SORTED) == [["Documents", direction]]
    browser.click(BUTTONS, 2)
    assert texts(browser, column) == first
    assert browser.evaluate(SORTED) == []


def test_a_table_sorts_by_keyboard_and_what_is_empty_stays_last(browser: Chromium, report: Path) -> None:
    opened(browser, report)
    cells = f"{DATASETS} tbody td:nth-child(3)"
    browser.evaluate(f"[1, 3].forEach((i) => document.querySelectorAll({json.dumps(cells)})[i].replaceChildren())")
    browser.evaluate(f"[1, 3].forEach((i) => (document.querySelectorAll({json.dumps(cells)})[i].dataset.value = ''))")
    numbers = sorted((value for value in texts(browser, cells) if value), key=lambda text: int(text.replace(",", "")))
    browser.evaluate(f"document.querySelectorAll({json.dumps(BUTTONS)})[1].focus()")
    browser.press("Tab")
    assert browser.evaluate("document.activeElement.textContent") == "Documents"
    for direction, values in (("descending", numbers[::-1]), ("ascending", numbers)):
        browser.press("Enter", "\r")
        assert browser.evaluate(SORTED) == [["Documents", direction]]
        assert texts(browser, cells) == [*values, "", ""]


def test_a_table_is_saved_as_csv_with_all_digits(browser: Chromium, report: Path) -> None:
    opened(browser, report)
    browser.evaluate(
        "HTMLAnchorElement.prototype.click = function () { window.saved = [this.download, this.href] };"
        "URL.createObjectURL = (blob) => { window.blob = blob; return 'blob:x' }"
    )
    browser.click(f"{NDCG} button.csv")
    assert browser.evaluate("window.saved[0]") == "leaderboard-table.csv"
    head, first, *others = browser.evaluate("window.blob.text()").splitlines()
    assert head.split(",") == texts(browser, f"{NDCG} thead th")
    assert first.split(",")[0] == texts(browser, f"{NDCG} tbody th")[0]
    shown = [text.removesuffix(" best")[:6] for text in texts(browser, f"{NDCG} tbody tr:first-child td")]
    assert [f"{float(value):.4f}" for value in first.split(",")[1:]] == shown
    assert len(others) == 1
    assert browser.complaints() == []


def test_a_chosen_dataset_shows_every_measure_at_every_cutoff(browser: Chromium, report: Path, results: ReportFiles) -> None:
    opened(browser, report, "debate")
    assert {name.split("@")[0] for name in texts(browser, "#measures tbody th")} == {"NDCG"}
    choose(browser, "measure", "all")
    expected = []
    for path in sorted(results.folder.glob("metrics/*/debate.json")):
        for name, value in json.loads(path.read_text())["measures"].items():
            expected.append((name, path.parent.name, f"{value:.4f}"))
    head = texts(browser, "#measures thead th")
    found = []
    for row in range(len(expected) // len(head[2:])):
        measure, system, *values = texts(browser, f"#measures tbody tr:nth-child({row + 1}) > *")
        found += [(f"{measure}{k}", system, value.removesuffix(" best")) for k, value in zip(head[2:], values, strict=True)]
    assert sorted(found) == sorted(expected)
    choose(browser, "measure", "Recall")
    assert texts(browser, "#measures tbody th") == ["Recall", "Recall"]


def test_a_dataset_of_forums_names_them_and_a_row_of_the_datasets_chooses(browser: Chromium, report: Path) -> None:
    opened(browser, report, "forums")
    assert "mean of 2 forums" in browser.evaluate("document.getElementById('about').textContent")
    assert browser.evaluate("getComputedStyle(document.getElementById('inspector')).display") == "none"
    browser.click(f"{DATASETS} tbody th a")
    browser.wait_for("document.getElementById('measures-caption').textContent.endsWith(' debate')")
    assert browser.evaluate("getComputedStyle(document.getElementById('inspector')).display") == "block"
    assert texts(browser, "#choice option") == ["debate", "scifact", "forums", "forums-a", "forums-b", "nfcorpus"]


def test_the_worst_queries_come_first_and_the_sample_is_stated(browser: Chromium, report: Path, results: ReportFiles) -> None:
    opened(browser, report)
    queries = sorted(inspection(results)["queries"], key=lambda query: sum(query["values"].values()))
    expected = [query["id"].replace("\x00", "\0") for query in queries]
    assert shown_queries(browser) == expected[:20]
    assert browser.evaluate("document.getElementById('sample').textContent").startswith(
        "60 of 10,000 queries are shown: the worst"
    )
    for _ in range(2):
        browser.click("#more")
    assert shown_queries(browser) == expected
    assert browser.evaluate("document.getElementById('more').hidden")


def test_queries_are_ordered_by_where_two_systems_differ(browser: Chromium, report: Path, results: ReportFiles) -> None:
    opened(browser, report)
    queries = sorted(
        inspection(results)["queries"], key=lambda query: -abs(query["values"]["contriever"] - query["values"]["tas-b"])
    )
    choose(browser, "order", "contriever and tas-b")
    assert shown_queries(browser) == [query["id"] for query in queries[:20]]


def test_the_search_finds_words_and_document_ids(browser: Chromium, report: Path, results: ReportFiles) -> None:
    opened(browser, report)
    queries = inspection(results)["queries"]
    wanted = queries[20]
    document = wanted["hits"]["tas-b"][-1]["doc_id"]
    browser.click("#search")
    browser.write(f"{document.upper()} {wanted['id']}")
    assert wanted["id"] in shown_queries(browser)
    assert len(shown_queries(browser)) < 5
    browser.write(" nothing-holds-this")
    assert texts(browser, "#found") == ["0 of 60 queries found"]


def test_a_query_opens_and_shows_what_was_judged_and_found(browser: Chromium, report: Path, results: ReportFiles) -> None:
    opened(browser, report)
    content = inspection(results)
    assert texts(browser, ".detail") == []  # rendered when it is asked for
    query = min(content["queries"], key=lambda query: sum(query["values"].values()))
    browser.click(".query summary")
    browser.wait_for("document.querySelectorAll('.detail').length === 1")
    judged = texts(browser, ".judged li")
    assert len(judged) == len(query["judged"])
    for item, line in zip(query["judged"], judged, strict=True):
        assert line.startswith(item["doc_id"])
        document = content["texts"][item["doc_id"]]
        assert document["title"] in line
        assert document["text"].strip()[:200] in line
        assert f"grade {item['grade']}" in line
        for system, rank in item["ranks"].items():
            assert f"{system} {rank or '–'}" in line
    hits = [hit for system in content["systems"] for hit in query["hits"][system]]
    shown = texts(browser, ".systems li")
    assert len(shown) == len(hits) == 20
    for hit, line in zip(hits, shown, strict=True):
        grade = "unjudged" if hit["grade"] is None else f"grade {hit['grade']}"
        assert all(part in line for part in (hit["doc_id"], grade, f"{hit['score']:.4f}"))


def test_a_document_has_its_title_apart_its_whole_text_on_demand_and_words_of_the_query_marked(
    browser: Chromium, report: Path, results: ReportFiles
) -> None:
    opened(browser, report)
    content = inspection(results)
    browser.click(".query summary")
    browser.wait_for("document.querySelectorAll('.detail').length === 1")
    query = min(content["queries"], key=lambda query: sum(query["values"].values()))
    document = next(found for item in query["judged"] if (found := content["texts"][item["doc_id"]])["title"])
    assert document["title"] in texts(browser, ".judged .title")
    (text,) = {each for each in texts(browser, ".judged .snippet") if each.startswith(document["title"])}
    assert text.replace("more", "", 1) == f"{document['title']} {document['text']}".strip()
    shown = "[...document.querySelectorAll('.judged .snippet details')].map((e) => e.open)"
    assert set(browser.evaluate(shown)) == {False}
    shown = [each.lower() for each in texts(browser, ".detail .snippet")]
    expected = {word for each in shown for word in re.findall(r"[^\W_]+", each)} & set(query["words"])
    assert expected
    assert {mark.lower() for mark in texts(browser, ".detail mark")} == expected


def pairs(content: dict[str, Any]) -> list[tuple[str, float, float]]:
    """Every query with its scores by the two systems."""
    values, of = content["scores"]["values"], content["scores"]["of"]
    columns = ([values[place] for place in of[system]] for system in content["systems"])
    return list(zip(content["scores"]["ids"], *columns, strict=True))


def test_hits_of_a_system_say_what_they_match(browser: Chromium, report: Path, results: ReportFiles) -> None:
    opened(browser, report)
    browser.click(".query summary")
    browser.wait_for("document.querySelectorAll('.detail').length === 1")
    query = min(inspection(results)["queries"], key=lambda query: sum(query["values"].values()))
    shown = texts(browser, ".detail .matches")
    assert len(shown) == len(query["hits"][results.systems[-1]]) > 0
    assert set(shown) == {"Matches: <b>cat</b> 1.26dog → puppy 0.50it → (special token) 0.25"}
    assert "Matches are" in browser.evaluate("document.querySelector('.detail').textContent")


def test_two_systems_are_compared_query_by_query(browser: Chromium, report: Path, results: ReportFiles) -> None:
    opened(browser, report)
    browser.wait_for("document.getElementById('outcome').textContent.startsWith('On scifact,')")
    found = pairs(inspection(results))
    wins, losses = (sum(sign * (a - b) > 0 for _, a, b in found) for sign in (1, -1))
    assert f"contriever is ahead on {wins} of 300 queries and tas-b on {losses}; tied on {300 - wins - losses}" in (
        browser.evaluate("document.getElementById('outcome').textContent")
    )
    assert browser.evaluate("document.querySelectorAll('.scatter circle').length") == len({pair[1:] for pair in found})
    assert {"contriever is better", "tas-b is better"} <= {*texts(browser, ".scatter text")}
    choose(browser, "first", "tas-b")
    choose(browser, "second", "contriever")
    browser.wait_for(f"document.getElementById('outcome').textContent.includes('tas-b is ahead on {losses} of')")
    listed = texts(browser, "#ahead div:first-child .id")
    lead = {query_id: b - a for query_id, a, b in found}
    assert [lead[name] for name in listed] == sorted(lead.values(), reverse=True)[:10]
    opened(browser, report, "forums")
    browser.wait_for("document.getElementById('outcome').textContent.includes(' of 600 queries')")


def test_a_listed_query_leads_to_its_documents_whatever_its_id_is(browser: Chromium, report: Path, results: ReportFiles) -> None:
    opened(browser, report, "debate")
    browser.wait_for("!!document.querySelector('#ahead a')")
    name = texts(browser, "#ahead li:has(a) .id")[0]
    browser.click("#ahead a")
    browser.wait_for("!!document.querySelector('.query[open] .detail')")
    assert texts(browser, ".query[open] summary .id") == [name]
    hostile = results.hostile[3]
    browser.evaluate(f"location.hash = '#query=scifact/' + encodeURIComponent({json.dumps(hostile)})")
    browser.wait_for("document.getElementById('measures-caption').textContent.endsWith(' scifact')")
    browser.wait_for("!!document.querySelector('.query[open] .detail')")
    assert shown_queries(browser)[0] == hostile
    browser.evaluate("location.hash = '#query=gone/%ZZ'")
    assert browser.complaints() == []


def test_hostile_texts_and_ids_stay_text(browser: Chromium, report: Path, results: ReportFiles) -> None:
    opened(browser, report)
    before = browser.evaluate("[document.scripts.length, document.images.length]")
    for _ in range(2):
        browser.click("#more")
    browser.evaluate("document.querySelectorAll('.query').forEach((query) => (query.open = true))")
    browser.wait_for("document.querySelectorAll('.detail').length === 60")
    found = (
        shown_queries(browser),
        texts(browser, ".judged .id"),
        texts(browser, ".judged .snippet"),
        texts(browser, ".systems .id"),
    )
    for hostile in results.hostile:
        assert [hostile.strip() in place for place in found] == [True] * 4
    assert browser.evaluate("[document.scripts.length, document.images.length]") == before
    assert browser.evaluate("window.hacked") is None
    assert browser.evaluate("document.querySelectorAll('.queries img, .queries svg, .queries script, .queries b').length") == 0
    assert browser.complaints() == []


def everything_open(browser: Chromium, page: Path, dataset: str = "scifact", queries: int = 3) -> None:
    opened(browser, page, dataset)
    browser.click("#search")
    browser.write("query-2")
    browser.evaluate(f"[...document.querySelectorAll('.query')].slice(0, {queries}).forEach((query) => (query.open = true))")
    browser.wait_for(f"document.querySelectorAll('.detail').length === {queries}")


def test_a_phone_scrolls_tables_but_never_the_page(browser: Chromium, report: Path) -> None:
    browser.size(360, 740, phone=True)
    everything_open(browser, report)
    assert browser.evaluate("[innerWidth, document.documentElement.scrollWidth]") == [360, 360]
    assert browser.evaluate(
        f"(() => {{ const box = document.querySelector({json.dumps(NDCG)});return box.scrollWidth > box.clientWidth }})()"
    )
    browser.evaluate(f"document.querySelector({json.dumps(NDCG)}).scrollLeft = 200")
    place = browser.evaluate(f"document.querySelector({json.dumps(NDCG + ' tbody th')}).getBoundingClientRect().x")
    assert 0 <= place < 30  # the name of the row stays


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four systems on all of BEIR, 26 corpora, with 100 queries each out of 10,000."""
    datasets = yaml.safe_load((CATALOGUE / "datasets.yaml").read_text(encoding="utf-8"))["datasets"]
    rows: dict[str, Sequence[str]] = {
        name: [f"{name}-{forum}" for forum in entry.get("forums", ())] or [name] for name, entry in datasets.items()
    }
    systems = ["contriever", "contriever-msmarco", "bm25", "all-minilm-l6-v2"]
    return ReportFiles(tmp_path_factory.mktemp("large"), systems, rows, queries=100, judged=20).write()


PAPER = {"A4": 1032, "letter": 965, "upright A5": 468}
"""Its width between the margins, in CSS pixels."""

TYPE = f"0.75 * parseFloat(getComputedStyle(document.querySelector('{NDCG} table')).fontSize)"
"""The size of the type of the first table, in points."""


def open_for_print(browser: Chromium, page: Path) -> None:
    """Open a page with everything in it on a screen."""
    browser.media()
    browser.size(PAPER["A4"])
    everything_open(browser, page, "cqadupstack-tex")


def lay_out(browser: Chromium, paper: str) -> None:
    """Lay the open page out as on paper."""
    browser.evaluate("window.dispatchEvent(new Event('afterprint'))")
    browser.media()
    browser.size(PAPER[paper])
    browser.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    browser.media("print")


def too_large(browser: Chromium) -> list[Any]:
    """Find elements that hold more than is shown, by label, with their sizes; letters may reach a pixel out of their lines."""
    found = browser.evaluate(
        "[document.documentElement, ...document.querySelectorAll('.scroll')].map((e) =>"
        " [e.ariaLabel ?? e.getAttribute('aria-labelledby'), e.scrollWidth - e.clientWidth, e.scrollHeight - e.clientHeight])"
    )
    assert len(found) > 10
    return [box for box in found if box[1] > 1 or (box[2] > 1 and box is not found[0])]


@pytest.mark.parametrize("font", ["of this machine", "wide"])
def test_print_shows_whole_tables_and_no_controls(browser: Chromium, wide_browser: Chromium, large: Path, font: str) -> None:
    browser = wide_browser if font == "wide" else browser
    open_for_print(browser, large)
    for paper in PAPER:
        lay_out(browser, paper)
        assert browser.evaluate("[...document.querySelectorAll('nav, .controls, button.more')].every((e) => !e.offsetParent)")
        assert too_large(browser) == [], paper
        assert browser.evaluate(TYPE) > (3.5 if paper == "upright A5" else 6), paper


def test_a_printed_report_is_a_pdf_for_which_its_tables_were_measured(browser: Chromium, large: Path, tmp_path: Path) -> None:
    everything_open(browser, large, "cqadupstack-tex")
    measured = "[...document.querySelectorAll('.scroll > table')].filter((e) => e.style.getPropertyValue('--ems') > 10).length"
    assert browser.evaluate(measured) == 0
    browser.print(tmp_path / "report.pdf")
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF-")
    assert browser.evaluate(measured) == browser.evaluate("document.querySelectorAll('table').length") > 5


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 360)])
def test_axe_finds_nothing(browser: Chromium, report: Path, scheme: str, width: int) -> None:
    browser.size(width, phone=width == 360)
    browser.media(scheme=scheme)
    everything_open(browser, report, queries=1)  # it compares the colours of every marked word with what is behind it
    assert browser.violations() == []


def test_all_of_beir_opens_fast_in_one_file(browser: Chromium, large: Path, tmp_path: Path) -> None:
    assert large.stat().st_size < 25e6
    # Beside a page of the same size that holds nothing to lay out or unpack, in one browser: a slow machine is slow with both.
    empty = tmp_path / "empty.html"
    empty.write_text(f"<!doctype html><p>Nothing.</p><script type='text/plain'>{'A' * large.stat().st_size}</script>")
    ready: dict[Path, list[float]] = {empty: [], large: []}
    paint: list[float] = []
    for _ in range(3):
        for page, times in ready.items():
            browser.open(page)
            times.append(browser.evaluate("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"))
        first = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
        browser.wait_for(first)
        paint.append(browser.evaluate(first))
    assert min(ready[large]) < 10 * min(ready[empty]), ready  # it is about 2
    assert min(paint) < 10 * min(ready[empty]), (paint, ready)
    opened(browser, large, "cqadupstack-tex")
    assert len(shown_queries(browser)) == 20


MANY = ("tas-b", "contriever", "bm25", *(f"a-system-of-long-name-{i}" for i in range(9)))


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve systems on fifteen datasets."""
    datasets = yaml.safe_load((CATALOGUE / "datasets.yaml").read_text(encoding="utf-8"))["datasets"]
    rows = {name: [name] for name in datasets}
    assert len(rows) == 15
    return ReportFiles(tmp_path_factory.mktemp("many"), MANY, rows, queries=60, judged=3).write()


def test_long_tables_are_folded_two_systems_open_on_baseline_and_best_and_a_print_is_short(
    browser: Chromium, many: Path, tmp_path: Path
) -> None:
    opened(browser, many)
    folded = ["#measures table", '[aria-labelledby="significance-table"]', '[aria-labelledby="settings-table"]']
    assert [browser.evaluate(f"document.querySelector({json.dumps(name)}).checkVisibility()") for name in folded] == [False] * 3
    assert "Significance 990 rows" in texts(browser, "summary")
    ranking = texts(browser, f"{NDCG} tbody th")
    best = next(name for name in ranking if name != MANY[0])
    chosen = [browser.evaluate(f"document.getElementById('{side}').value") for side in ("first", "second")]
    assert chosen == [MANY[0], best]
    assert f"{MANY[0]} and {best}" in texts(browser, "#order option")
    choose(browser, "first", "bm25")
    assert f"bm25 and {best}" in texts(browser, "#order option")
    browser.print(tmp_path / "report.pdf")
    pages = len(re.findall(rb"/Type\s*/Page\b", (tmp_path / "report.pdf").read_bytes()))
    assert 5 < pages < 40


@pytest.mark.parametrize("font", ["of this machine", "wide"])
def test_twelve_systems_on_all_of_beir_fit_a_desk_and_keep_names_and_headers_in_sight_on_a_phone(
    browser: Chromium, wide_browser: Chromium, many: Path, font: str
) -> None:
    browser = wide_browser if font == "wide" else browser
    browser.size(1280, 900)
    browser.media()
    browser.open(many)
    browser.evaluate(
        "document.querySelectorAll('details.part').forEach((e) => (e.open = true)), dispatchEvent(new Event('resize'))"
    )
    frames = "[...document.querySelectorAll('#results .scroll, #systems .scroll')].filter((e) => e.checkVisibility())"
    wide = f"{frames}.filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.getAttribute('aria-labelledby'))"
    assert browser.evaluate(f"{frames}.length") > 5
    assert browser.evaluate(wide) == []
    columns = [text.removesuffix("↕") for text in texts(browser, f"{NDCG} thead th")]
    assert columns[:5] == ["System", "mean of 15", "mean of 14", "mean of 13", "msmarco"]
    means = [float(text.removesuffix(" best")) for text in texts(browser, f"{NDCG} tbody td:nth-child(2)")]
    assert means == sorted(means, reverse=True)
    browser.size(390, 500, phone=True)
    browser.evaluate(f"document.querySelector('{NDCG}').style.maxHeight = '300px'")
    browser.evaluate(f"document.querySelector('{NDCG}').scrollTo(300, 200)")
    corner = f"document.querySelector('{NDCG}').getBoundingClientRect()"
    name, header = (
        f"document.querySelector('{NDCG} {row} th:first-child').getBoundingClientRect()" for row in ("tbody", "thead")
    )
    assert abs(browser.evaluate(f"{name}.x - {corner}.x")) < 2
    assert abs(browser.evaluate(f"{header}.y - {corner}.y")) < 2
    assert browser.evaluate("[innerWidth, document.documentElement.scrollWidth]") == [390, 390]
