"""Replay: run jobs of the workflow again on the stored files, and compare their outputs with the stored ones.

Jobs work in a scratch folder with links to the regular files of the results. Jobs that compute with a model, or read all texts,
are left to the sample (:mod:`beirflow.audit.sample.sample`).
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from beirflow.audit.chain import Chain
from beirflow.audit.checks import FAILED, NOT_CHECKED, PASSED, UNREADABLE, WARNING, Check, RecordError
from beirflow.audit.configured import Configured
from beirflow.audit.differences import Difference, UnsourcedError, difference
from beirflow.audit.folder.reading import part, read_record
from beirflow.audit.replay.plan import CANDIDATES, check_plan
from beirflow.audit.replay.rest import READING, check_rest
from beirflow.config.experiment import Experiment
from beirflow.core import kinds, layout, patterns
from beirflow.core.csv_files import read_named_csv
from beirflow.core.digests import file_digest
from beirflow.core.errors import BeirflowError, DataError
from beirflow.core.extensions import extensions
from beirflow.core.layout import SUMMARY
from beirflow.core.progress import Progress
from beirflow.data.sources.forms import HubForm
from beirflow.data.sources.hub_source import HubSource, pinned
from beirflow.run.provenance import code_state
from beirflow.run.scratch import Scratch, scratch

NAME = "files are what their jobs make of the results"

SOURCES = "data and models are those that were used"  # name of the checks of jobs that read files outside the results

NOT_REBUILT = (
    *(layout.MATCHES, layout.LATENCY, layout.REFERENCES, layout.HUB_DATASET),
    *(layout.FIGURE_PDF, layout.FIGURE_SVG),
    *(pattern for extension in extensions() for pattern in extension.not_rebuilt),
)
"""Files that depend on a model, a clock, people or a network, or take minutes to draw."""

TEXTS = (".csv", ".json", ".html", ".md", ".tex")  # suffixes of files that may name the place of a model


def check_replay(chain: Chain, configured: Configured) -> Iterator[Check]:
    """Rebuild files from the stored ones, and compare.

    Files of pages of earlier results are left out.
    """
    compared, passed, paths = set[str](), Counter[tuple[str, str]](), _compared_files(chain)
    with scratch(_configured(chain, configured.experiment)) as place, Progress("replay", len(paths), "files") as progress:
        place.link(chain.folder, (path for path in _linked(chain) if path not in chain.earlier))
        yield from check_plan(chain, configured, place)
        replay = Replay(chain, configured, place)
        for path in paths:
            progress.advance(1)
            for check in replay.check(path):
                compared |= set() if check.status == NOT_CHECKED else {path}
                if check.status == PASSED:
                    passed[check.name, check.found] += 1
                else:
                    yield replace(check.renamed(place.folder, chain.folder), cause=replay.cause(path))
    yield from (Check(name, PASSED, f"{rule}: {number} files") for (name, rule), number in sorted(passed.items()))
    # New tables may have followed a page of earlier results, whose record does not name them.
    for path in sorted(chain.changed.keys() - compared):
        found = f"{path} does not match {chain.changed[path]}, and cannot be compared with the results"
        yield Check(READING, FAILED, found, "the file that was written", (path,), (), chain.repair_command(path, goal=path))
    yield from check_rest(chain, {*compared, *chain.changed})


def _compared_files(chain: Chain) -> list[str]:
    """List the stored files that a job may rebuild: those of the chain, runs in TREC form, and derived files."""
    others = [path for path in chain.listing.files if kinds.is_derived(path) or kinds.exported_run(path)]
    own = (layout.AUDIT, layout.AUDIT_RECORD, *chain.earlier)
    return [path for path in sorted({*chain.claims, *others}) if path in chain.listing.files and path not in own]


def _linked(chain: Chain) -> Iterator[str]:
    """Yield the files that jobs may look up: no copies, and no page newer than the inventory that would name it."""
    named = set[str]()
    for inventory in kinds.INVENTORIES:
        with suppress(*UNREADABLE):
            named |= inventory.named(read_record(chain.file(inventory.path)))
    pages = kinds.PAGE_RECORDS.keys() - named
    for path in chain.listing.files:
        if patterns.is_safe(path) and path not in pages and not path.startswith((layout.LOG.folder(), *kinds.COPIES)):
            yield path


def _configured(chain: Chain, experiment: Experiment) -> Experiment:
    """Add the keys of the configuration that pages and costs record, which may be newer than the manifest."""
    config = dict(experiment.config)
    with suppress(*UNREADABLE):
        config |= keys_of_costs(chain)
    if layout.REFERENCES() in chain.listing.files:
        config["references"] = [str(chain.folder)]  # any value: tables then have the column
    for record, page in kinds.PAGES.items():
        with suppress(*UNREADABLE):
            if page.configured:
                config |= {key: part(read_record(chain.file(record)), key, kind=dict) for key in page.configured}
    return replace(experiment, config=config)


def keys_of_costs(chain: Chain) -> dict[str, Any]:
    """Return the keys of the configuration with which extensions made the costs; they may be newer than the manifest."""
    costs = read_named_csv(str(chain.file(layout.COST)))
    additions = (extension.additions.get("collect_costs") for extension in extensions())
    keys = [key for addition in additions if addition for key in addition.keys if key in costs]
    return {key: next(iter(costs[key].dropna().tolist()), None) for key in keys}


class Replay:
    """Jobs that are run again, each once, in a scratch folder with links to the stored files."""

    def __init__(self, chain: Chain, configured: Configured, place: Scratch) -> None:
        self._chain, self._configured, self._place = chain, configured, place
        self._made = place.folder.with_name("made")
        self._done: dict[tuple[str, ...], Exception | None] = {}
        self._failed: set[tuple[str, ...]] = set()  # outputs of jobs that were reported as not runnable

    def check(self, path: str) -> Iterator[Check]:
        """Rebuild a file and compare it; skip files of the sample and those of jobs that read temporary files."""
        name, job = NAME, None
        try:
            job = self._job(path)
            if job is None or tuple(job.output) in self._failed:
                return
            name = SOURCES if self._place.opens_files(job) else NAME
            if problem := self._problem(path, job):
                yield self._not_checked(name, path, job, f"was not rebuilt: {problem}")
            else:
                yield self._verdict(name, path, job, self._difference(path, job))
        except (BeirflowError, *UNREADABLE) as error:
            # A job that ran had all its inputs; so one of them is damaged or does not belong to the others.
            ran = job is None or (tuple(job.output) in self._done and isinstance(error, DataError))
            if isinstance(error, UnsourcedError) or (isinstance(error, BeirflowError) and not ran):
                yield self._not_checked(name, path, job, f"could not be rebuilt: {error}")
            else:
                yield self._chain.unreadable(name, path, error)

    def cause(self, path: str) -> str:
        """Return the file that is not as recorded, this one or one that its job reads; empty without one."""
        with suppress(*UNREADABLE):
            job = self._job(path)
            return next((name for name in (path, *(self._place.inputs(job) if job else ())) if name in self._chain.broken), "")
        return ""

    def _not_checked(self, name: str, path: str, job: Any, why: str) -> Check:
        """Return the check of a job that was not run, one for all its files."""
        self._failed.add(tuple(job.output))
        return Check(name, NOT_CHECKED, f"{path} {why}", "", (path,), self._chain.affected(path))

    def _job(self, path: str) -> Any:
        """Return the job that makes a file; None for a file that is skipped without a report."""
        if kinds.is_one_of(path, NOT_REBUILT):
            return None
        target = next((each.copies for each in kinds.INVENTORIES if path.startswith(f"{each.copies}/")), path)
        job = self._place.job(target)
        if job is None or job.computes:
            return None
        inputs, outputs = self._place.inputs(job), self._place.outputs(job)
        # Of what is made from the texts of a whole chunk, the sample makes some rows.
        is_of_texts = any(kinds.is_one_of(name, kinds.CHUNKS_OF_REPRESENTATIONS) for name in outputs)
        if is_of_texts or any(map(layout.INDEX.names_in, inputs)):
            return None
        missing = [name for name in inputs if not (self._place.folder / name).exists()]
        return None if any(kinds.is_one_of(name, CANDIDATES) for name in missing) else job

    def _problem(self, path: str, job: Any) -> str:
        """Return why a job cannot or must not run here; empty if it can."""
        configured, names = self._configured, dict(job.wildcards.items())
        if configured.unknown and (path == SUMMARY or kinds.is_derived(path)):
            return f"this needs the extension of {', '.join(configured.unknown)}"
        if not self._place.opens_files(job) or configured.knows(names):
            return ""
        if whose := names.get("expansion") or names.get("system"):
            return f"the model or file of {whose} is not known here"
        return self._problem_of_source(names["dataset"])

    def _problem_of_source(self, name: str) -> str:
        """Return why a corpus cannot be prepared: its source is missing, or not that of the catalogue; empty if it can."""
        chain, dataset = self._chain, self._configured.experiment.datasets[name]
        if isinstance(dataset.form, HubForm):
            path = layout.HUB_DATASET(dataset=name)
            record = chain.record(path)
            if record.get("files") != HubSource.in_cache(pinned(dataset.form, record), dataset.split).files:
                raise RecordError("names other files than the layout finds in the cache of the hub", path)
            return ""
        if self._configured.auditor.datasets.get(name) and dataset.path:
            return ""
        archive = layout.ARCHIVE(archive=dataset.archive) if dataset.archive else ""
        known = self._configured.auditor.catalogue.known_datasets.get(dataset.whole_row)
        if archive in chain.listing.files and known and file_digest(chain.file(archive), "md5") == known[0].md5:
            return ""
        return f"the source of {name} is not here; name it with data_dir or custom.datasets"

    def make(self, path: str, job: Any) -> Path:
        """Run the job of a file, once for all its outputs, and return the rebuilt file; raise the same error at each call."""
        key = tuple(job.output)
        if key not in self._done:
            self._done[key] = self._run(job)
        if error := self._done[key]:
            raise error
        return self._made / path

    def _run(self, job: Any) -> Exception | None:
        """Run a job and move its outputs away, since later jobs read the stored ones; return the error that ended it."""
        names = self._place.outputs(job)
        linked = [name for name in names if (self._place.folder / name).is_symlink()]  # no record of a later page
        for name in linked:
            (self._place.folder / name).unlink()
        try:
            for name in self._place.inputs(job):
                self._provide(name)
            self._place.run(job)
        except (BeirflowError, *UNREADABLE) as error:
            return error.__cause__ if isinstance(error.__cause__, RecordError) else error
        finally:
            for name in (name for name in names if (self._place.folder / name).exists()):
                (self._made / name).parent.mkdir(parents=True, exist_ok=True)
                (self._place.folder / name).rename(self._made / name)
                self._restate(self._made / name)
            self._place.link(self._chain.folder, linked)
        return None

    def _restate(self, file: Path) -> None:
        """Replace the auditor's places of models by the recorded ones in a rebuilt text."""
        if self._configured.places and file.suffix in TEXTS:
            text = file.read_bytes()
            for own, recorded in self._configured.places.items():
                text = text.replace(own.encode(), recorded.encode())
            file.write_bytes(text)

    def _provide(self, path: str) -> None:
        """Make a missing derived input: deleting it must not prevent the comparison of files made from it."""
        self._chain.refuse_odd(path)
        here = self._place.folder / path
        if here.exists() or not kinds.is_derived(path):
            return
        here.parent.mkdir(parents=True, exist_ok=True)
        if job := self._job(path):
            here.symlink_to(self.make(path, job))
        elif here.suffix == ".pdf":  # pages record its digest and show nothing of it
            here.touch()

    def _difference(self, path: str, job: Any) -> Difference:
        """Return the difference between a file and its rebuilt version.

        Keys of the configuration in the costs may be newer than the manifest; then nothing confirms them.
        """
        here, made, unsourced = self._chain.file(path), self.make(path, job), list[str]()
        if path.startswith(kinds.COPIES):  # of files of the project, which may be of another version
            found = difference(path, here, made) if made.is_file() else Difference("no such file in the code here")
            self._failed |= {tuple(job.output)} if found.problem else set()  # one report per job
            return found._replace(of_form=True)
        if path == layout.COST:
            configured = part(self._chain.manifest, "configuration")
            unsourced = [key for key, value in keys_of_costs(self._chain).items() if value not in (None, configured.get(key))]
        return difference(path, here, made, unsourced)

    def _verdict(self, name: str, path: str, job: Any, found: Difference) -> Check:
        """Return the verdict on a file: another formatting by other code is a warning, another number fails."""
        if not found.problem:
            return Check(name, PASSED, job.rule, files=(path,))
        (recorded, here), problem, is_warning = self._codes(job), f"{path}: {found.problem}", False
        if recorded != here:
            problem, is_warning = f"{problem}; written by code {recorded}, the code here is {here}", found.of_form
        if not is_warning and _made_with_other_catalogue(self._chain, path):
            problem, is_warning = f"{problem}; made with another catalogue than the one here", True
        results = () if is_warning else self._chain.affected(path)
        repair = self._chain.repair_command(path, goal=SUMMARY if path in self._chain.claims else path)
        return Check(name, WARNING if is_warning else FAILED, problem, "", (path,), results, repair)

    def _codes(self, job: Any) -> tuple[str, str]:
        """Return the code that wrote the files of a job, from their record or the manifest, and the code here."""
        for path in self._place.outputs(job):
            with suppress(*UNREADABLE):
                if path.endswith(".json") and (code := read_record(self._chain.file(path)).get("code")):
                    return str(code), str(job.params.code)
        return str(self._chain.manifest["repository"].get("commit")), str(code_state()["commit"])


def _made_with_other_catalogue(chain: Chain, path: str) -> bool:
    """Test whether the page of a file's extension was made with another catalogue of that extension."""
    of_path = (each for each in extensions() if kinds.is_one_of(path, each.patterns))
    for record, page in (entry for extension in of_path for entry in extension.pages.items()):
        with suppress(*UNREADABLE):
            page_record = read_record(chain.file(record))
            if any(page_record.get(key) != value for key, value in page.catalogue().items()):
                return True
    return False
