"""Import by name: the functions of rules, and code that only some systems need.

No import statement leads to the latter: its digest is a parameter of its own of the rules whose results depend on it.
"""

from importlib import import_module
from typing import Any

FUNCTION = r"beirflow(?:_\w+)?(?:\.\w+)*:\w+"
"""Expression of the name of a function of the package, or of a package ``beirflow_<name>`` with an extension of others."""


def by_name(name: str) -> Any:
    """Return the function or class that ``module:name`` names."""
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)
