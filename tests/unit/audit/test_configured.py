"""Systems of a manifest, compared with those of a later catalogue."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from beirflow.audit.chain import Chain
from beirflow.audit.configured import definition
from beirflow.config.systems import catalogue_systems

FINNISH = "miracl.fi"


def test_analyzers_of_datasets_that_the_catalogue_got_later_are_no_difference_and_those_of_these_results_are() -> None:
    bm25 = catalogue_systems()["bm25"]
    whole: dict[str, Any] = json.loads(json.dumps(asdict(bm25)))
    analyzers = whole["settings"]["analyzers"]
    assert len(analyzers) > 1

    def stated(found: dict[str, str]) -> dict[str, Any]:
        return {**whole, "settings": {**whole["settings"], "analyzers": found}}

    chain = Chain(Path(), {"datasets": {FINNISH: [{"name": FINNISH, "row": FINNISH}]}})
    earlier = stated({FINNISH: analyzers[FINNISH]})
    assert definition(chain, bm25, earlier) == earlier
    for forged in ({}, {FINNISH: "lucene-english"}, {**earlier["settings"]["analyzers"], "miracl.sw": "lucene-english"}):
        assert definition(chain, bm25, stated(forged)) != stated(forged)
