"""Files for reading, made again by the rules that make them: jobs of the workflow for the audited experiment, in this process.

Jobs work in a scratch folder whose links lead to the plain files of the results; links in place of their outputs are removed
before. Nothing in the results decides which code runs or where it writes: rules come from the workflow of this checkout, and
paths of outputs from the patterns of :mod:`beirflow.core.layout`.
"""

import tempfile
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from beirflow import SNAKEFILE
from beirflow.audit.chain.chain import Chain
from beirflow.audit.chain.checks import UNREADABLE, RecordError
from beirflow.audit.chain.reading import part, read_record
from beirflow.core import kinds, layout, patterns
from beirflow.core.csv_files import read_named_csv
from beirflow.core.errors import BeirflowError
from beirflow.core.extensions import extensions
from beirflow.core.records import Job
from beirflow.run.entrance import call_entrance
from beirflow.run.undocumented import RuleJobs, rule_jobs

NOT_REBUILT = (
    *(layout.MATCHES, layout.LATENCY, layout.REFERENCES),
    *(layout.FIGURE_PDF, layout.FIGURE_SVG),
    *(pattern for extension in extensions() for pattern in extension.not_rebuilt),
)
"""Files that a model, a clock, people or minutes of drawing make."""

REBUILT = tuple(pattern for pattern in kinds.FOR_READING if pattern not in NOT_REBUILT)


class Rebuilds:
    """Makes files for reading again, by rules for the experiment of the results that place all results in a scratch folder."""

    def __init__(self, chain: Chain, rules: RuleJobs, scratch: Path) -> None:
        self._chain, self._rules, self._scratch = chain, rules, scratch
        self._made = scratch.with_name("made")
        self._done: dict[tuple[str, ...], Exception | None] = {}

    def rebuild(self, path: str) -> tuple[Path, str] | None:
        """Make the file at a path below the results again, and raise what its job raises.

        Returns the new file, and the digest of the code here that made it; None if nothing makes it again.
        """
        target = next((each.copies for each in kinds.INVENTORIES if path.startswith(f"{each.copies}/")), path)
        job = self._rules.job(target) if any(each.names_in(path) is not None for each in REBUILT) else None
        if job is None:
            return None
        if job.output not in self._done:
            self._done[job.output] = self._run(job)
        if error := self._done[job.output]:
            raise error
        return self._made / path, str(job.params.code)

    def _run(self, job: Any) -> Exception | None:
        """Run a job, and put its outputs aside, since later jobs read those of the results; return the error that ended it."""
        for output in map(Path, job.output):
            output.unlink(missing_ok=True)
            output.parent.mkdir(parents=True, exist_ok=True)
        try:
            for path in map(self._name, job.input):
                self._provide(path)
            call_entrance(job, Job(self._scratch, code=job.params.code))
        except (BeirflowError, *UNREADABLE) as error:
            return error.__cause__ if isinstance(error.__cause__, RecordError) else error
        finally:
            names = [self._name(output) for output in job.output]
            for name in (name for name in names if (self._scratch / name).exists()):
                (self._made / name).parent.mkdir(parents=True, exist_ok=True)
                (self._scratch / name).rename(self._made / name)
            _link(self._chain, self._scratch, names)
        return None

    def _name(self, path: str) -> str:
        """Return the path below the results of a file in the scratch folder."""
        return path.removeprefix(f"{self._scratch}/")

    def _provide(self, path: str) -> None:
        """Make an input that is missing and for reading, or deleting it would keep files made from it from being compared."""
        if odd := self._chain.listing.oddity(path):
            raise RecordError(f"{odd[0]} is {odd[1]}, which is not followed or opened; a plain file was expected", path)
        here = self._scratch / path
        if here.exists() or not kinds.is_for_reading(path):
            return
        if rebuilt := self.rebuild(path):
            here.symlink_to(rebuilt[0])
        elif here.suffix == ".pdf":  # pages record its digest and show nothing of it
            here.parent.mkdir(parents=True, exist_ok=True)
            here.touch()


@contextmanager
def rebuilds(chain: Chain, left_out: Collection[str] = ()) -> Iterator[Rebuilds]:
    """Read the rules for the experiment that the results state, and yield what makes their files for reading again.

    Files that are ``left_out`` are of other results, and nothing is made from them.
    """
    documents = {}
    for name in chain.corpora:
        with suppress(*UNREADABLE):
            documents[name] = part(chain.record(layout.CORPUS(dataset=name)), "counts", "documents", kind=int)
    experiment = chain.setup.as_stated(chain.manifest, documents)
    if layout.COST in chain.listing.files:
        with suppress(*UNREADABLE):
            experiment.config.update(stated_keys(chain))
    if layout.REFERENCES() in chain.listing.files:
        experiment.config["references"] = [str(chain.folder)]  # so that tables show it
    for record, page in (entry for extension in extensions() for entry in extension.pages.items()):
        if page.configured and record in chain.listing.files:
            with suppress(*UNREADABLE):
                stated = read_record(chain.file(record))
                experiment.config.update({key: part(stated, key, kind=dict) for key in page.configured})
    with tempfile.TemporaryDirectory(prefix="beirflow-audit-") as folder:
        scratch = Path(folder, "results")
        _link(chain, scratch, (path for path in _shown_files(chain) if path not in left_out))
        with rule_jobs(SNAKEFILE, experiment, scratch) as rules:
            yield Rebuilds(chain, rules, scratch)


def stated_keys(chain: Chain) -> dict[str, Any]:
    """Return the keys of the configuration that extensions made the costs with; it may have changed after the manifest."""
    costs = read_named_csv(str(chain.file(layout.COST)))
    additions = (extension.additions.get("collect_costs") for extension in extensions())
    keys = [key for addition in additions if addition for key in addition.keys if key in costs]
    return {key: next(iter(costs[key].dropna().tolist()), None) for key in keys}


def _shown_files(chain: Chain) -> Iterator[str]:
    """List the plain files that jobs may look up: no copies, and no page that was written after what would name it."""
    named = set[str]()
    for inventory in kinds.INVENTORIES:
        with suppress(*UNREADABLE):
            named |= inventory.named(read_record(chain.file(inventory.path)))
    pages = {layout.REPORT_RECORD, *(record for extension in extensions() for record in extension.pages)} - named
    for path in chain.listing.files:
        if patterns.is_safe(path) and path not in pages and not path.startswith((layout.LOG.folder(), *kinds.COPIES)):
            yield path


def _link(chain: Chain, folder: Path, paths: Iterable[str]) -> None:
    for path in paths:
        if path in chain.listing.files:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).symlink_to((chain.folder / path).absolute())
