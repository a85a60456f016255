"""A name for a user who has none, as in a container that runs with the number of a user of its host."""

import getpass
import os


def name_the_user() -> None:
    """Call a user without a name after the number, for this process and its jobs: Snakemake does not start without a name."""
    try:
        getpass.getuser()
    except (KeyError, OSError):  # OSError since Python 3.13
        os.environ["USER"] = f"uid-{os.getuid()}"
