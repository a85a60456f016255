"""Take the README's pictures: python tests/pictures.py <results> <folder> <configuration> …, from the root of the repository."""

import io
import shutil
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml
from PIL import Image

from chromium import Chromium

sys.path.append("src")
from beirflow.audit.audit import audit
from beirflow.config.load import load_experiment
from beirflow.core.errors import DataError

WIDTH, SCALE = 960, 1.25
"""Of the page in CSS pixels, and how many pixels of the picture each is."""


def take(browser: Chromium, path: Path, selector: str = "h1", height: int = 720) -> None:
    """Write what is seen once an element stands a little below the upper edge, in 128 colours, which need half the bytes."""
    browser.size(WIDTH, height, scale=SCALE)
    browser.evaluate(f"scrollTo(0, document.querySelector({selector!r}).getBoundingClientRect().y + scrollY - 24)")
    browser.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    browser.picture(path)
    picture = Image.open(io.BytesIO(path.read_bytes())).convert("RGB")
    picture.quantize(128, dither=Image.Dither.NONE).save(path, optimize=True)


def edited(results: Path, configuration: dict[str, Any]) -> Path:
    """The page of an audit of a copy in which one number of the summary is another."""
    copy = results.with_name("edited")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(results, copy)
    head, first, *others = (copy / "summary.csv").read_text(encoding="utf-8").splitlines()
    values, column = first.split(","), head.split(",").index("NDCG@10")
    values[column] = f"{float(values[column]) + 0.01:.4f}"
    (copy / "summary.csv").write_text("\n".join([head, ",".join(values), *others, ""]), encoding="utf-8")
    with suppress(DataError):  # that it fails is what the picture shows
        audit(folder=str(copy), experiment=load_experiment(configuration))
    return copy / "audit.html"


def main(results: Path, folder: Path, configuration: dict[str, Any]) -> None:
    """Write ``report.png``, ``report-query.png`` and ``audit.png``."""
    folder.mkdir(parents=True, exist_ok=True)
    page = edited(results, configuration)
    browser = Chromium()
    try:
        browser.media()
        browser.open(results / "report.html")
        browser.wait_for("document.querySelector('.query') !== null")
        take(browser, folder / "report.png")
        browser.click(".query summary", 1)
        browser.wait_for("document.querySelector('.detail') !== null")
        take(browser, folder / "report-query.png", "#inspector h3", 860)
        browser.open(page)
        take(browser, folder / "audit.png", height=680)
    finally:
        browser.close()
        shutil.rmtree(page.parent)


if __name__ == "__main__":
    demo, over = (yaml.safe_load(Path(path).read_text(encoding="utf-8")) for path in sys.argv[3:])
    main(Path(sys.argv[1]), Path(sys.argv[2]), demo | over | {"custom": demo["custom"] | over["custom"]})
