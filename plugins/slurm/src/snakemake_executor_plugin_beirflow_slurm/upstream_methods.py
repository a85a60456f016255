"""The test of methods of snakemake-executor-plugin-slurm that this package extends."""

import inspect
from types import FunctionType


def has_method(plugin: type, name: str, parameters: str = "", *uses: str) -> bool:
    """Test whether a class has a method with exactly these parameters behind ``self``, whose code has all of ``uses``.

    Each of these is a name, or part of a text.
    """
    method = getattr(plugin, name, None)
    if not isinstance(method, FunctionType) or [*inspect.signature(method).parameters] != ["self", *parameters.split()]:
        return False
    names, texts = method.__code__.co_names, [each for each in method.__code__.co_consts if isinstance(each, str)]
    return all(use in names or any(use in text for text in texts) for use in uses)
