"""Systems of a manifest, compared with those of a later catalogue."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from beirflow.audit.chain import Chain
from beirflow.audit.configured import comparable
from beirflow.config.load import load_experiment
from beirflow.config.systems import catalogue_systems

FINNISH = "miracl.fi"


def test_only_analyzers_of_the_datasets_of_results_are_written_and_compared() -> None:
    whole: dict[str, Any] = json.loads(json.dumps(asdict(catalogue_systems()["bm25"])))
    analyzers = whole["settings"]["analyzers"]
    assert len(analyzers) > 1
    written = load_experiment({"systems": "bm25", "datasets": [FINNISH, "scifact"]}).configured["systems"]["bm25"]["settings"]
    assert written["analyzers"] == {FINNISH: analyzers[FINNISH]}
    chain = Chain(Path(), {"datasets": {FINNISH: [{"name": FINNISH, "row": FINNISH}]}})

    def compared(found: dict[str, str]) -> dict[str, Any]:
        return comparable(chain, {**whole, "settings": {**whole["settings"], "analyzers": found}})

    for earlier in (written["analyzers"], {**written["analyzers"], "miracl.sw": "lucene-swahili"}):
        assert compared(earlier) == comparable(chain, whole)
    for forged in ({}, {FINNISH: "lucene-english"}):
        assert compared(forged) != comparable(chain, whole)
