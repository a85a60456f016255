"""Python source is parsed, whatever a finalizer does meanwhile."""

import ast
import gc

from beirflow.core.python_source import parse_python


def test_a_finalizer_that_parses_does_not_end_a_parser() -> None:
    def parse_too(phase: str, _: object) -> None:
        ast.parse("a + b")

    threshold = gc.get_threshold()
    gc.callbacks.append(parse_too)
    gc.set_threshold(1)
    try:
        tree = parse_python("\n".join(f"x{i} = [{i}, 'a']" for i in range(200)))
    finally:
        gc.set_threshold(*threshold)
        gc.callbacks.remove(parse_too)
    assert len(tree.body) == 200
    assert gc.isenabled()
