"""The rendering of a chat template of a model's folder: the program of a process of its own, with little time and memory.

transformers renders templates in a sandbox, which keeps them from the machine, but lets them loop for ever and fill the memory.
"""

import json
import math
import resource
import sys
import time
from contextlib import suppress
from pathlib import Path

SECONDS = 3  # processor time that a template may take; any real one takes less than a thousandth of it
MEMORY = 1 << 29  # bytes that it may take, besides those of Python and its modules
LONGEST = 1 << 22  # characters that it may write


def main() -> None:
    """Render the conversations of a request on standard input, and print a JSON list of texts."""
    request = json.load(sys.stdin)
    from transformers.utils.chat_template_utils import render_jinja_template

    limit_resources()
    try:
        rendered, _ = render_jinja_template(
            conversations=request["conversations"], chat_template=request["template"], **request["variables"]
        )
        if sum(map(len, rendered)) > LONGEST:
            raise ValueError(f"it writes more than {LONGEST} characters")
    except BaseException as error:  # templates raise what they like, and memory runs out
        sys.exit(f"{type(error).__name__}: {' '.join(str(error).split())[:300]}")
    json.dump(rendered, sys.stdout)


def limit_resources() -> None:
    """Limit the processor time and the memory of this process."""
    until = math.ceil(time.process_time()) + SECONDS
    resource.setrlimit(resource.RLIMIT_CPU, (until, until))
    with suppress(OSError, ValueError):  # outside Linux, where the time alone is limited
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        most = pages * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


if __name__ == "__main__":
    main()
