"""Pages: numbers as they are written, text that stays text, and a policy that fits what is on the page."""

import hashlib
import re
from base64 import b64encode
from pathlib import Path

import pytest
from beirflow.report.pages import TEMPLATES, Cell, number, write_page
from report_files import ReportFiles

HOSTILE = "</script><script>alert(1)</script><!-- & \u2028"


@pytest.fixture
def files(tmp_path: Path) -> ReportFiles:
    return ReportFiles(tmp_path, ["contriever", "tas-b"], {"scifact": ["scifact"]}, queries=2, hostile=[HOSTILE])


def test_a_number_is_written_with_fixed_decimals_or_not_at_all() -> None:
    assert number(-0.125, "+.4f") == Cell("−0.1250", -0.125)
    assert number(0.125, "+.4f") == Cell("+0.1250", 0.125)
    assert number(1234567, ",.0f") == Cell("1,234,567", 1234567)
    assert number(None) == number(float("nan")) == Cell("")


def test_the_policy_allows_the_script_and_the_style_of_the_page_and_nothing_else(files: ReportFiles) -> None:
    page = files.write().read_text(encoding="utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy
    directives = dict(part.split(" ", 1) for part in policy[1].replace("&#39;", "'").split("; "))
    assert directives["default-src"] == "'none'"
    for name, tag in (("script", "script"), ("style", "style")):
        content = re.search(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        assert content
        digest = b64encode(hashlib.sha256(content[1].encode()).digest()).decode()
        assert directives[f"{name}-src"] == f"'sha256-{digest}'"
    assert set(directives) == {"default-src", "img-src", "base-uri", "form-action", "script-src", "style-src"}
    # What stands in the data never becomes markup, and the page names nothing outside itself.
    assert HOSTILE not in page
    assert "alert(1)" not in page
    assert page.count("</script>") == 4  # the table of contents, one dataset, what its hits match, the behaviour
    assert re.findall(r'(?:src|href)="(?!#|data:|figures/|paper/)[^"]*"', page) == []
    assert re.findall(r"url\(|@import", page) == []
    assert files.write().read_text(encoding="utf-8") == page


def test_a_text_in_a_template_is_escaped(tmp_path: Path) -> None:
    write_page("page.html.j2", tmp_path / "page.html", {"title": HOSTILE})
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<title>&lt;/script&gt;&lt;script&gt;" in page
    assert "<script" not in page


@pytest.mark.parametrize("name", ["tables.js", "pair.js", "report.js"])
def test_the_script_puts_text_on_the_page_as_text(name: str) -> None:
    script = (TEMPLATES / name).read_text(encoding="utf-8")
    assert re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|eval\(|new Function", script) == []
    assert len(script.splitlines()) <= 300
