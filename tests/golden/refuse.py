"""Print the message of each configuration of a file of JSON lines, as a JSON string per line: ``refuse.py FILE``.

``<this file>`` in a configuration is the path of that file.
"""

import json
import sys
from pathlib import Path

from results_maker import load_experiment


def message_of(configuration: object) -> str:
    """Return why a configuration is refused."""
    try:
        load_experiment(configuration)
    except Exception as error:
        if "BeirflowError" not in {kind.__name__ for kind in type(error).__mro__}:
            return f"{type(error).__name__}: {error}"
        return str(error)
    return "accepted"


if __name__ == "__main__":
    file = Path(sys.argv[1])
    for line in file.read_text(encoding="utf-8").replace("<this file>", str(file)).splitlines():
        sys.stdout.write(f"{json.dumps(message_of(json.loads(line)))}\n")
