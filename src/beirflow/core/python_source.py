"""Python source, parsed and not run."""

import ast
import gc


def parse_python(source: str | bytes) -> ast.Module:
    """Parse Python source; raises SyntaxError, ValueError or RecursionError for what is none.

    Garbage is collected before or after. CPython 3.11 counts the depth of all its parsers in one place: a finalizer that parses,
    or lets another thread parse, would end this one with a SystemError (python/cpython#106905).
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        return ast.parse(source)
    finally:
        if collects:
            gc.enable()
