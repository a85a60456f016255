"""The package that the rules call: that of the checkout or installation which holds this workflow, else the installed one."""

import sys
from pathlib import Path


def import_package():
    """Import the package; return the folder that has it in a checkout. Stop in one sentence where there is none, or another."""
    around = Path(HERE).resolve().parents
    own = [
        folder
        for folder in (around[0] / "src", *around[1:2])
        if (folder / "beirflow/__init__.py").is_file()
    ]
    sys.path[:0] = [str(folder) for folder in own if str(folder) not in sys.path]
    try:
        import beirflow
    except ModuleNotFoundError:
        sys.exit(
            f"{HERE} is the workflow of beirflow {VERSION}, but {sys.executable} finds no package of this name;"
            f" install beirflow {VERSION} for this Python"
        )
    found = getattr(beirflow, "__version__", "of an unknown version")
    place = Path(beirflow.__file__).resolve().parent
    if found != VERSION or (own and place.parent not in own):
        sys.exit(
            f"{HERE} is the workflow of beirflow {VERSION}{f' in {own[0]}' if own else ''}, but Python has imported"
            f" beirflow {found} from {place.parent}; install the version of the workflow, or use the Snakefile that"
            f" belongs to this package: {place}/workflow/Snakefile"
        )
    return [folder for folder in own if folder.name == "src"]


sources = import_package()

from beirflow import WORKFLOW
from beirflow.core.errors import BeirflowError
from beirflow.run.provenance import check_version, search_first

try:
    newer = check_version("snakemake")
except BeirflowError as error:
    sys.exit(str(error))

# Jobs that are not forked from this process search their Python's own packages first, which may hold another beirflow.
search_first(sources)
