"""The pages of an audit and of a comparison, in a browser: no network, accessible, as wide as the window."""

import shutil
from pathlib import Path

import pytest

from beirflow.audit.audit import audit
from beirflow.config.load import load_experiment
from beirflow.core.errors import DataError
from beirflow.extensions.exchange.compare import compare
from chromium import Chromium
from results_maker import Made

PAGES = ("passed/audit.html", "failed/audit.html", "failed/comparison.html")
WINDOWS = {"desk": (1280, "light"), "phone": (360, "dark")}


@pytest.fixture(scope="module")
def folder(results_once: Made, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results that nobody touched, and some with other numbers, records and rankings."""
    folder = tmp_path_factory.mktemp("audited")
    passed, failed = folder / "passed", folder / "failed"
    for side in (passed, failed):
        shutil.copytree(results_once.results, side)
    for name in ("summary.csv", "metrics/tiny/small.json", "runs/tiny/more.json"):
        (failed / name).write_text((failed / name).read_text().replace("0.", "0.0", 1))
    shutil.copy(failed / "runs/second/small.parquet", failed / "runs/tiny/small.parquet")
    experiment = load_experiment(results_once.config)
    audit(folder=str(passed), experiment=experiment)
    with pytest.raises(DataError, match=r"audit of .* failed"):
        audit(folder=str(failed), experiment=experiment)
    with pytest.raises(DataError, match="The results disagree"):
        compare(folder=str(failed), other=str(passed))
    return folder


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("page", PAGES)
def test_a_page_asks_no_network_fits_its_window_and_axe_finds_nothing(
    browser: Chromium, folder: Path, page: str, window: str
) -> None:
    width, scheme = WINDOWS[window]
    browser.size(width, phone=window == "phone")
    browser.media(scheme=scheme)
    browser.open(folder / page)
    assert browser.requested() == [(folder / page).as_uri()]
    assert browser.complaints() == []
    assert browser.evaluate("[innerWidth, document.documentElement.scrollWidth]") == [width, width]
    browser.evaluate("document.querySelectorAll('details').forEach((each) => (each.open = true))")
    assert browser.violations() == []


def test_the_verdict_is_first_then_what_was_not_checked_and_what_failed(browser: Chromium, folder: Path) -> None:
    browser.open(folder / "failed/audit.html")
    assert browser.evaluate("document.querySelector('h1').textContent") == "The audit failed"
    assert browser.evaluate("document.querySelector('.checks .status').textContent") == "Failed"
    heads = browser.evaluate("[...document.querySelectorAll('main h2')].map((each) => each.textContent)")
    assert heads == ["Verified", "Not checked", "Failures", "All checks"]
    assert browser.evaluate("document.querySelectorAll('main details.whole[open] .checks').length") == 0
    browser.open(folder / "passed/audit.html")
    assert browser.evaluate("document.querySelector('h1').textContent") == "The audit passed"
    assert browser.evaluate("document.querySelectorAll('.failed').length") == 0
