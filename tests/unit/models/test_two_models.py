"""The pair of the page of own encoders, typed as it is there: queries and documents by models in two folders."""

import re
import shutil
from pathlib import Path

import numpy as np
import yaml
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Normalize

from beirflow.config.load import load_experiment
from encoding import encoded
from refusals import problems_of
from workflow_runs import REPOSITORY
from zoo import of_bert

HEADING = "## Queries and documents by two models"
TEXTS = ["w1 w2 w3", "w4"]


def typed(pair: dict[str, Path]) -> tuple[str, dict[str, str]]:
    """The system of the page, with the folders of models here."""
    page = (REPOSITORY / "docs/own-encoders.md").read_text()
    block = re.findall(r"```yaml\n(.*?)```", page.partition(HEADING)[2], re.DOTALL)[0]
    for name, path in pair.items():
        block = block.replace(f"/models/dpr-{name}", str(path))
    ((name, entry),) = yaml.safe_load(block).items()
    return name, entry


def test_the_pair_of_the_page_encodes_each_kind_of_text_with_its_own_model(tmp_path: Path) -> None:
    pair = {"context": of_bert("mean", Normalize)(tmp_path / "context"), "question": of_bert("cls")(tmp_path / "question")}
    name, entry = typed(pair)
    config = {"systems": [name], "datasets": ["scifact"], "custom": {"systems": {name: entry}}}
    settings = load_experiment(config).systems[name].settings
    for kind, place in (("documents", "context"), ("queries", "question")):
        alone = SentenceTransformer(str(pair[place]), device="cpu").encode(TEXTS)
        np.testing.assert_allclose(encoded(settings.encoding, TEXTS, kind), alone, atol=1e-5)
    shutil.rmtree(pair["question"])
    assert [problem for problem in problems_of(config) if problem.startswith("custom.systems.dpr.model: found ")]
