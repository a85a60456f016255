"""YAML from outside: aliases can expand a few lines to more values than fit into memory."""

from typing import Any

import yaml

MOST_VALUES = 1_000_000  # keys and values of a file, with all that its aliases repeat


class TooLargeError(yaml.YAMLError):
    """A text that expands to too many values, or nests them too deeply."""


def parse_yaml(text: str) -> Any:
    """Return the content of a YAML text.

    Raises TooLargeError if it expands to too much, and another YAMLError or ValueError if it is no YAML.
    """
    # Not the parser in C, which crashes on texts that are nested too deeply.
    parser = yaml.SafeLoader(text)
    try:
        node = parser.get_single_node()
        if node is None:
            return None
        if (values := _count(node, {})) > MOST_VALUES:
            raise TooLargeError(f"its aliases (*name) expand to {values:.3g} values, expected at most {MOST_VALUES:,}")
        return parser.construct_document(node)
    except RecursionError:
        raise TooLargeError("its lists and mappings are nested too deeply") from None
    finally:
        parser.dispose()


def _count(node: yaml.Node, counted: dict[int, float]) -> float:
    """Return the number of values in a node with its aliases expanded."""
    if id(node) not in counted:
        counted[id(node)] = float("inf")  # of a node that contains itself
        parts = [part for pair in node.value for part in pair] if isinstance(node, yaml.MappingNode) else node.value
        inner = [] if isinstance(node, yaml.ScalarNode) else parts
        counted[id(node)] = 1.0 + sum(_count(part, counted) for part in inner)
    return counted[id(node)]
