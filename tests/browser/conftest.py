"""A real browser, and pages to open in it."""

from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl
import pytest

from chromium import PATH, Chromium
from report_files import ReportFiles

HOSTILE = (
    "</script><script>window.hacked = 1</script>",
    "<!--<script>",
    "<img src=x onerror='window.hacked = 1'>",
    "\"'><svg onload=window.hacked=1>",
    "{{ 7 * 7 }} ${7 * 7} &lt;b&gt; &amp;",
    "line\u2028separator\u2029paragraph \x00 \x1b \u202e \\u003cb\\u003e",
)


@pytest.fixture(scope="session")
def _browser() -> Iterator[Chromium]:
    if PATH is None:
        pytest.skip("no Chromium on the PATH (Debian: apt-get install chromium)")
    browser = Chromium()
    yield browser
    browser.close()


@pytest.fixture
def browser(_browser: Chromium) -> Chromium:
    """A browser with a window of a desk, in the light."""
    _browser.size(1280, 900)
    _browser.media()
    return _browser


@pytest.fixture(scope="session")
def wide_browser(_browser: Chromium) -> Iterator[Chromium]:
    """A browser in which everything is set in a bold font that is a quarter wider than most: one that matplotlib brings along."""
    browser = Chromium(Path(mpl.get_data_path()) / "fonts/ttf/DejaVuSans-Bold.ttf")
    width = "Object.assign(document.createElement('canvas').getContext('2d'), {font: '100px sans-serif'}).measureText('0').width"
    assert browser.evaluate(width) == pytest.approx(69.6, abs=0.5)
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> ReportFiles:
    """Two systems on four datasets, one of them of forums, with texts and ids that would like to be markup."""
    rows = {"debate": ["debate"], "scifact": ["scifact"], "forums": ["forums-a", "forums-b"], "nfcorpus": ["nfcorpus"]}
    files = ReportFiles(tmp_path_factory.mktemp("results"), ["contriever", "tas-b"], rows, queries=60, hostile=HOSTILE)
    files.write()
    return files


@pytest.fixture(scope="session")
def report(results: ReportFiles) -> Path:
    """The report of these results."""
    return results.folder / "report.html"
