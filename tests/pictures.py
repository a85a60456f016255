"""Take the README's pictures of a report: python tests/pictures.py <report.html> <folder>."""

import sys
from pathlib import Path

from chromium import Chromium


def show(browser: Chromium, selector: str) -> None:
    """Scroll so that an element stands a little below the upper edge."""
    browser.evaluate(f"scrollTo(0, document.querySelector({selector!r}).getBoundingClientRect().y + scrollY - 16)")
    browser.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def main(report: Path, folder: Path) -> None:
    """Write ``report.png``, ``report-dark.png``, ``report-query.png`` and ``report-phone.png``."""
    folder.mkdir(parents=True, exist_ok=True)
    browser = Chromium()
    try:
        browser.size(1120, 760, scale=2)
        browser.media()
        browser.open(report)
        browser.wait_for("document.querySelector('.query') !== null")
        browser.picture(folder / "report.png")
        browser.media(scheme="dark")
        show(browser, "#figures")
        browser.picture(folder / "report-dark.png")
        browser.media()
        browser.click(".query summary")
        browser.wait_for("document.querySelector('.detail') !== null")
        show(browser, ".query")
        browser.picture(folder / "report-query.png")
        browser.size(360, 740, phone=True, scale=2)
        show(browser, "h1")
        browser.picture(folder / "report-phone.png")
    finally:
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
