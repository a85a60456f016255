"""The page of the choice in a browser: no network, accessible, as wide as the window, with plots that can be read."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from beirflow.core.records import Job
from beirflow.extensions.choice.page import write_choice
from beirflow.extensions.choice.table import ChoiceFiles, Prices
from chromium import Chromium
from latencies import latency, write_latency
from results_writer import write_metrics

DATASETS = [f"dataset-{number}" for number in range(15)]
SYSTEMS = [*(f"a-system-of-long-name-{number}" for number in range(9)), "bge", "bge-int8", "bge-binary"]
HOSTILE = "<svg onload=hacked=1>"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve systems on fifteen datasets, two of them variants; one name would like to be markup."""
    folder = tmp_path_factory.mktemp("choice")
    random, paths, latencies, costs = np.random.default_rng(1), [], [], []
    for system in [*SYSTEMS, HOSTILE]:
        level, ms, size = random.random() / 2, 10 ** random.uniform(0, 3), 10 ** random.uniform(6, 10)
        for dataset in DATASETS:
            paths.append(write_metrics(folder, system, dataset, {"NDCG@10": level + random.random(10) / 2}))
            latencies.append(str(write_latency(folder, system, dataset, devices={"cpu": latency(ms)})))
            cost = {"documents": 1000, "documents_reused": 0, "index_seconds": random.random(), "index_bytes": size}
            costs.append({"system": system, "dataset": dataset, **cost})
    pd.DataFrame(costs).to_csv(folder / "cost.csv", index=False)
    (folder / "manifest.json").write_text("{}")
    rows, encoders = {name: [name] for name in DATASETS}, {"bge-int8": ("bge", "all"), "bge-binary": ("bge", "all")}
    means, per_query = zip(*paths, strict=True)
    write_choice(
        files=ChoiceFiles(means, per_query, latencies, str(folder / "cost.csv"), rows, encoders),
        table_path=str(folder / "choice.csv"),
        page_path=str(folder / "choice.html"),
        manifest_path=str(folder / "manifest.json"),
        prices=Prices(2.1, 0.02),
        choice={"milliseconds": 50.0, "gigabytes": 10.0},
        job=Job(folder),
    )
    return folder / "choice.html"


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_the_choice_fits_a_desk_and_a_phone_and_axe_finds_nothing(browser: Chromium, page: Path, width: int, scheme: str) -> None:
    browser.size(width, 900, phone=width == 390)
    browser.media(scheme=scheme)
    browser.open(page)
    assert browser.evaluate("document.documentElement.scrollWidth") == width
    assert browser.evaluate("[...document.querySelectorAll('.scroll')].some((e) => e.scrollWidth > e.clientWidth + 1)") == (
        width < 1280
    )
    assert browser.evaluate("document.querySelectorAll('.chart').length") == 5
    # Letters of a plot are as large as those of its caption would be.
    scale = (
        "document.querySelector('.chart').getBoundingClientRect().width / document.querySelector('.chart').viewBox.baseVal.width"
    )
    assert 11 * browser.evaluate(scale) > 9.5
    outside = (
        "[...document.querySelectorAll('.chart')].some((chart) => [...chart.querySelectorAll('text')].some((text) => {"
        " const box = text.getBoundingClientRect(); return box.left < 0 || box.right > innerWidth }))"
    )
    assert browser.evaluate(outside) is False
    assert browser.evaluate("window.hacked") is None
    assert browser.violations() == []
    assert browser.requested() == [page.as_uri()]
    assert browser.complaints() == []
