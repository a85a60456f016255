"""The core without this extension: what needs it is refused by name."""

import json
from pathlib import Path

from without_extension import without_extension

REFUSED = """
from beirflow.config.load import load_experiment
from beirflow.core.errors import ConfigError
said = []
for config in json.loads(sys.argv[3]):
    try:
        load_experiment(config)
        said.append("")
    except ConfigError as error:
        said.append(str(error))
print(json.dumps(said))
"""

NEEDS = "found 'genq-tas-b'; this system of the catalogue needs the extension 'genq', which is not installed here"


def test_a_system_of_the_catalogue_that_needs_the_extension_is_refused_by_name(tmp_path: Path) -> None:
    own = {
        "variation": {"base": "genq-tas-b", "seeds": [1, 2]},
        "fused": {"family": "fusion", "of": ["bm25", "genq-tas-b"], "method": "rrf"},
        "genq-tas-b": {"model": "a/b", "revision": "0" * 40},
        "trained": {"base": "tas-b", "train": {"generator": "/t5"}},
        "begun": {"base": {"model": "a/b", "revision": "0" * 40}},
    }
    configs = [{"systems": "tas-b"}, {"systems": "genq-tas-b"}]
    configs += [{"systems": name, "custom": {"systems": {name: entry}}} for name, entry in own.items()]
    said = without_extension("genq", tmp_path / "extensions", REFUSED, json.dumps(configs))
    assert said[0] == ""
    assert [NEEDS in each for each in said[1:4]] == [True] * 3
    assert "or define it under custom.systems" not in said[1]
    assert "the catalogue has a system of this name" in said[4]
    assert "custom.systems.trained.train: found 'train'; no such key here" in said[5]
    assert "custom.systems.begun.base: " in said[6]
    assert "expected the name of a system" in said[6]
