"""Describe a folder of results as a Workflow Run RO-Crate, so that archives and other tools know its provenance."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from beirflow import WORKFLOW
from beirflow.audit.chain import Chain
from beirflow.audit.checks import UNREADABLE, RecordError
from beirflow.audit.folder.reading import part, read_record
from beirflow.core.errors import DataError
from beirflow.core.layout import MANIFEST, SUMMARY
from beirflow.core.writing import write_text
from beirflow.extensions.exchange.crate_metadata import check_pages, crate_of, words_of
from beirflow.extensions.exchange.layout import CRATE, CRATE_CODE, CRATE_CONFIGURATION
from beirflow.run.code_version import PACKAGE

COPIED, CONFIGURATION = ("workflow", "extensions", "envs"), Path("config/config.yaml")
"""Folders and a file that a crate holds, next to the package in a checkout and inside an installed one."""

LOGGER = "snakemake_logger_plugin_beirflow"  # chosen by the profile of the workflow, found by Snakemake on Python's path

README = """# {name}

{description}, by [beirflow]({code}/workflow/Snakefile). `{crate}` describes every file;
`{manifest}` names what they were made from.

To check every number without running anything of this folder, with a beirflow and a working folder of your own:

    beirflow audit /path/of/this/folder

To make them again with the code in this folder, which then runs, below a new folder `again`, with Python 3.11 or newer:

    pip install --no-deps --requirement {code}/envs/requirements.txt
    pip install --requirement {code}/envs/requirements-torch.txt
    export PYTHONPATH="$PWD/{code}/src"
    snakemake --snakefile {code}/workflow/Snakefile --directory again --cores 2 --configfile {configuration} -- {goal}
"""


def export_crate(
    *, manifest_path: str, page_paths: Sequence[str] = (), crate_path: str, code_folder: str, readme_path: str
) -> None:
    """Write the metadata of a crate whose root is the folder of the results, with a copy of the workflow and a README.

    ``page_paths`` are records of pages that the crate describes, too, such as ``report.json``. Raises DataError if the results
    lack a record, or one cannot be read.
    """
    folder = Path(manifest_path).resolve().parent  # of the results, also where an audit links their manifest
    try:
        chain = Chain(folder, read_record(Path(manifest_path)))
        chain.follow()
        if chain.problems:
            raise RecordError(chain.problems[0].found)
        if odd := next((each for each in chain.listing.odd if each.startswith(CRATE_CODE) or each in chain.claims), ""):
            raise RecordError("is not a plain file, so no crate can describe it", odd)
        _copy_code(Path(code_folder))
        write_text(Path(code_folder, Path(CRATE_CONFIGURATION).name), configuration_of(chain.manifest))
        write_text(readme_path, readme_of(chain))
        pages = [Path(path).resolve().relative_to(folder).as_posix() for path in page_paths]
        check_pages(chain, pages)
        metadata = crate_of(chain, pages)
    except UNREADABLE as error:
        problem = f"{folder} cannot be described: {type(error).__name__}: {error}"
        raise DataError(f"{problem}; see what is wrong with: snakemake --cores 1 audit") from error
    write_text(crate_path, metadata)


def configuration_of(manifest: Mapping[str, Any]) -> str:
    """Return the configuration that makes results again, as YAML."""
    kept = {
        key: value for key, value in part(manifest, "configuration", kind=dict).items() if key != "pathvars" and value is not None
    }
    return yaml.safe_dump(kept, sort_keys=False, allow_unicode=True)


def readme_of(chain: Chain) -> str:
    """Return the instructions to rebuild the results, in Markdown."""
    places = {"configuration": CRATE_CONFIGURATION, "goal": f"results/{SUMMARY}", "code": CRATE_CODE}
    return README.format(**words_of(chain.manifest), **places, crate=CRATE, manifest=MANIFEST)


def _copy_code(folder: Path) -> None:
    """Copy the files that reproduce the results."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    without = shutil.ignore_patterns("__pycache__", "tests", ".*", "lock.txt", "requirements-[!t]*.txt")

    def left_out(at: str, names: list[str]) -> set[str]:
        """Return the files to skip: those of an installed package are copied from its place in a checkout."""
        copied_apart = {*COPIED} if Path(at) == PACKAGE else {CONFIGURATION.name}
        return without(at, names) | copied_apart & {*names}

    shutil.copytree(PACKAGE, folder / "src/beirflow", ignore=left_out)
    shutil.copytree(PACKAGE.with_name(LOGGER), folder / "src" / LOGGER, ignore=without)
    for name in COPIED:
        shutil.copytree(WORKFLOW.parent / name, folder / name, ignore=without)
    (folder / CONFIGURATION).parent.mkdir()
    shutil.copy(WORKFLOW.parent / CONFIGURATION, folder / CONFIGURATION)
