"""Let a Python process import ``beirflow`` from one checkout alone, wherever the packages lie in it, and whatever is installed.

Audits draw the same sample in all these processes.

Python imports this module when it starts, if its folder is in ``PYTHONPATH``; the processes that it starts do so too.
"""

import os
import secrets
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

CHECKOUT = Path(os.environ["BEIRFLOW_CHECKOUT"])


class OnlyFromCheckout:
    """Finds the package in its checkout, before all other finders; without it there, no other finder is asked."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return where the package lies; None for any other module, and for modules of the package, whose place it decides."""
        if name != "beirflow":
            return None
        if found := PathFinder.find_spec(name, [str(CHECKOUT / folder) for folder in ("src", "workflow")]):
            return found
        raise ImportError(f"there is no beirflow in src or workflow of {CHECKOUT}")


secrets.randbits = lambda bits: 20260101 % 2**bits
sys.meta_path.insert(0, OnlyFromCheckout)
