"""The metadata of a Workflow Run RO-Crate: every file, its inputs, tools and authors."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rocrate.model import ContextEntity, File
from rocrate.model.entity import Entity
from rocrate.rocrate import ROCrate

from beirflow.audit.chain import Chain
from beirflow.audit.checks import RecordError
from beirflow.audit.folder.reading import part
from beirflow.core import layout
from beirflow.core.digests import file_digest
from beirflow.core.extensions import extensions
from beirflow.data.catalogue.catalogue import load_catalogue
from beirflow.extensions.exchange.layout import CRATE_CODE, CRATE_README

PROFILES = (
    ("Process Run Crate", "https://w3id.org/ro/wfrun/process/0.5"),
    ("Workflow Run Crate", "https://w3id.org/ro/wfrun/workflow/0.5"),
    ("Workflow RO-Crate", "https://w3id.org/workflowhub/workflow-ro-crate/1.0"),
)

KINDS = {".csv": "text/csv", ".json": "application/json", ".parquet": "application/vnd.apache.parquet"}

SNAKEMAKE = "https://w3id.org/workflowhub/workflow-ro-crate#snakemake"

BIOSCHEMAS = "https://bioschemas.org/profiles/ComputationalWorkflow/1.0-RELEASE"
MIT = "https://spdx.org/licenses/MIT"

PAGES = {
    str(layout.REPORT_RECORD): (str(layout.REPORT), "The report"),
    **{str(record): (str(page.path), page.title) for each in extensions() for record, page in each.pages.items() if page.title},
}
"""Records of pages that a crate describes where they are there, with the page and what it is."""


def crate_of(chain: Chain, pages: Sequence[str]) -> str:
    """Return the metadata of a crate, as JSON, with some pages, keys of :data:`PAGES`."""
    return json.dumps(_Describer(chain).describe(pages).metadata.generate(), indent=2, ensure_ascii=False) + "\n"


def check_pages(chain: Chain, pages: Sequence[str]) -> None:
    """Raise RecordError for a page, a key of :data:`PAGES`, that was made from other results or lacks a file."""
    for record in pages:
        record_json = chain.read_whole(record)
        if part(record_json, "inputs", layout.MANIFEST) != file_digest(chain.file(layout.MANIFEST)):
            raise RecordError(f"is of {PAGES[record][0]}, which was made from other results", record)
        if missing := sorted(part(record_json, "outputs", kind=dict).keys() - chain.listing.files):
            raise RecordError(f"names {missing[0]}, which is not there", record)


def words_of(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Return name and description of results, by the names of the properties."""
    systems, datasets = (", ".join(part(manifest, key, kind=dict)) for key in ("systems", "datasets"))
    about = "Runs, measures and their summary, with the digests of everything that they were computed from"
    return {"name": f"Retrieval results of {systems} on {datasets}", "description": about}


class _Describer:
    """Fills a crate with what the records of some results say."""

    def __init__(self, chain: Chain) -> None:
        self.chain, self.manifest = chain, chain.manifest
        self.crate = ROCrate(version="1.1")
        self.crate.metadata.extra_terms["sha256"] = "http://schema.org/sha256"  # the context of 1.1 is older than the term
        self.files: dict[str, Entity] = {}

    def describe(self, pages: Sequence[str]) -> ROCrate:
        """Fill the whole crate, with some pages, and return it."""
        made_by = self.manifest.get("made_by") or {}
        self.agent = self._thing("#agent", "Person", name=made_by.get("user") or "unknown")
        self._root()
        workflow = self._workflow()
        self._code()
        for path in (str(layout.MANIFEST), *sorted(self.chain.claims)):
            if (self.chain.folder / path).is_file():
                self._file(path)
        parameters = [self._parameter(workflow, key, value) for key, value in part(self.manifest, "configuration").items()]
        corpora = self.chain.corpora  # the mean of forums has no metrics of its own
        evaluated = [pair for pair in layout.METRICS.pairs_in(self.chain.claims) if pair[1] in corpora]
        actions = [self._action(workflow, *pair) for pair in evaluated]
        whole = self._thing(
            "#evaluation",
            "CreateAction",
            name="The evaluation of all systems on all datasets",
            description=made_by.get("command") or "All jobs up to the summary, by Snakemake",
            startTime=made_by.get("started"),
            endTime=part(self.manifest, "written"),
            actionStatus="http://schema.org/CompletedActionStatus",
        )
        whole["agent"], whole["instrument"] = self.agent, workflow
        made_from = [*self._of(layout.MODEL.folder()), *self._of(layout.CORPUS.folder()), *self._sources()]
        whole["object"] = [*parameters, *made_from]
        whole["result"] = [self.files[layout.SUMMARY], *self._of(layout.METRICS.folder()), *self._of(layout.RUN.folder())]
        self.crate.root_dataset["mentions"] = [whole, *actions, *(self._page(workflow, record) for record in pages)]
        return self.crate

    def _of(self, start: str) -> list[Entity]:
        return [entity for path, entity in self.files.items() if path.startswith(start)]

    def _thing(self, identifier: str, kind: str | list[str], **properties: Any) -> Entity:
        known = {"@type": kind, **{key: value for key, value in properties.items() if value is not None}}
        return self.crate.add(ContextEntity(self.crate, identifier, properties=known))

    def _values(self, about: str, values: Mapping[str, Any]) -> list[Entity]:
        """Add named values of a thing; what is not text or a number as JSON."""
        return [
            self._thing(f"#{about}/{key}", "PropertyValue", name=key, value=_plain(value))
            for key, value in values.items()
            if value is not None
        ]

    def _root(self) -> None:
        root = self.crate.root_dataset
        root["name"], root["description"] = words_of(self.manifest).values()
        root["datePublished"] = part(self.manifest, "written")
        root["author"] = self.agent
        self.crate.add(ContextEntity(self.crate, MIT, properties={"@type": "CreativeWork", "name": "MIT License", "url": MIT}))
        licences = "; ".join(f"{corpus['name']}: {corpus.get('licence') or 'unknown'}" for corpus in self.chain.corpora.values())
        words = f"The licences of datasets ({licences}) and models apply to everything derived from them"
        words += f", the MIT licence to {CRATE_CODE}/"
        root["license"] = self._thing("#licences", "CreativeWork", name="Licences of data, models and code", description=words)
        root["conformsTo"] = [
            self._thing(url, "CreativeWork", name=name, version=url.rpartition("/")[2]) for name, url in PROFILES
        ]

    def _workflow(self) -> Entity:
        """Add the Snakefile, with its commit and the packages that it ran with."""
        repository, environment = part(self.manifest, "repository"), part(self.manifest, "environment")
        kinds = {"@type": ["File", "SoftwareSourceCode", "ComputationalWorkflow"]}
        workflow = self.crate.add(File(self.crate, dest_path=f"{CRATE_CODE}/workflow/Snakefile", properties=kinds))
        workflow["name"], workflow["encodingFormat"] = "beirflow", "text/plain"
        workflow["conformsTo"] = self._thing(BIOSCHEMAS, "CreativeWork", name="Bioschemas ComputationalWorkflow", version="1.0")
        workflow["license"] = {"@id": MIT}
        workflow["version"] = repository["commit"] or f"digest of the code {self.manifest['code']}"
        language = {
            "name": "Snakemake",
            "url": "https://snakemake.readthedocs.io",
            "version": environment["packages"].get("snakemake"),
        }
        workflow["programmingLanguage"] = self._thing(SNAKEMAKE, "ComputerLanguage", **language)
        state = {"commit": repository["commit"], "working tree clean": repository["clean"], "code": self.manifest["code"]}
        workflow["additionalProperty"] = self._values("code", state)
        versions = {"python": environment["python"], **environment["packages"]}
        workflow["softwareRequirements"] = [self._software(name, version) for name, version in versions.items() if version]
        workflow["operatingSystem"] = environment["platform"]
        machine = {"processor": environment.get("processor"), "cores": environment.get("cores")}
        workflow["processorRequirements"] = ", ".join(f"{name} {value}" for name, value in machine.items() if value)
        self.crate.root_dataset["mainEntity"] = workflow
        return workflow

    def _software(self, name: str, version: str) -> Entity:
        """Add a package, or Python itself, by its address."""
        release = f"https://pypi.org/project/{name}/{version.partition('+')[0]}/"
        address = f"https://docs.python.org/release/{version}/" if name == "python" else release
        return self._thing(address, "SoftwareApplication", name=name, softwareVersion=version, url=address)

    def _code(self) -> None:
        """Add every file that makes the results again, with its digest, and the instructions."""
        folder = self.chain.folder
        for path in sorted(path for path in (folder / CRATE_CODE).rglob("*") if path.is_file() and not path.name.startswith(".")):
            name = path.relative_to(folder).as_posix()
            if name == f"{CRATE_CODE}/workflow/Snakefile":
                self.crate.mainEntity["sha256"] = file_digest(path)
                continue
            kind = {".md": "text/markdown", ".json": "application/json"}.get(path.suffix, "text/plain")
            self._described(name, kind, file_digest(path))
        readme = self.crate.add(File(self.crate, dest_path=str(CRATE_README), properties={"encodingFormat": "text/markdown"}))
        readme["name"], readme["about"] = "How to reproduce these results", self.crate.root_dataset
        self.crate.metadata["conformsTo"] = [{"@id": f"{self.crate.metadata.profile}"}, {"@id": PROFILES[-1][1]}]

    def _sources(self) -> list[Entity]:
        """Return the addresses of the official archives, and their licences."""
        host, entities = load_catalogue().host, {}
        for corpus in self.chain.corpora.values():
            if corpus["archive"] is not None:
                address = f"{host}/{corpus['archive']}.zip"
                facts = {"name": corpus["archive"], "url": address, "license": corpus.get("licence")}
                entities[address] = self._thing(address, "Dataset", **facts)
        return list(entities.values())

    def _file(self, path: str, sha256: str | None = None) -> None:
        """Add a file of the results; for a record, with what it says of things outside."""
        kind, claims = KINDS.get(Path(path).suffix, "application/octet-stream"), self.chain.claims.get(path, {})
        self.files[path] = entity = self._described(path, kind, next(iter(claims), sha256))
        if record := self.chain.records.get(path):
            entity["additionalProperty"] = self._values(f"about/{path}", _outside(path, record, self.chain))

    def _described(self, path: str, kind: str, sha256: str | None) -> Entity:
        size = str((self.chain.folder / path).stat().st_size)
        properties = {"name": path, "contentSize": size, "encodingFormat": kind, **({"sha256": sha256} if sha256 else {})}
        return self.crate.add(File(self.crate, dest_path=path, properties=properties))

    def _parameter(self, workflow: Entity, key: str, value: Any) -> Entity:
        """Add a key of the configuration: what may be set, and what was."""
        formal = self._thing(f"#parameter/{key}", "FormalParameter", name=key, additionalType="PropertyValue")
        given = self._thing(f"#configuration/{key}", "PropertyValue", name=key, value=_plain(value))
        formal["workExample"], given["exampleOfWork"] = given, formal
        workflow.append_to("input", formal)
        return given

    def _action(self, workflow: Entity, system: str, dataset: str) -> Entity:
        """Add one system on one corpus: from what, with what, how long."""
        names = {"system": system, "dataset": dataset}
        run = self.chain.record(layout.RUN_RECORD(**names))
        made = part(run, "made", kind=dict) | {key: run[key] for key in ("seconds", "counts", "code")}
        action = self._thing(
            f"#run/{system}/{dataset}",
            "CreateAction",
            name=f"{system} on {dataset}",
            description="Retrieval and evaluation",
            endTime=part(self.manifest, "written"),
        )
        needed = {path for path, results in self.chain.results.items() if any(of == system for of, _ in results)}
        models = [path for path in self.files if layout.MODEL.names_in(path) and path in needed]
        models += [path for path in self.files if layout.MODEL_OF_DATASET_RECORD.names_in(path) == names]
        action["agent"] = self.agent
        action["instrument"] = workflow
        action["object"] = [*self._of(layout.CORPUS.folder(dataset=dataset)), *(self.files[path] for path in models)]
        results = (layout.RUN(**names), layout.RUN_RECORD(**names), layout.METRICS(**names), layout.PER_QUERY(**names))
        action["result"] = [self.files[path] for path in results if path in self.files]
        action["additionalProperty"] = self._values(f"run/{system}/{dataset}", made)
        return action

    def _page(self, workflow: Entity, record: str) -> Entity:
        """Add a page with its record and the files that it shows."""
        page, name = PAGES[record]
        digests = {record: file_digest(self.chain.file(record)), **part(self.chain.read_whole(record), "outputs", kind=dict)}
        for path, digest in digests.items():
            if path not in self.files and path in self.chain.listing.files:
                self._file(path, digest)
        action = self._thing(f"#page/{page}", "CreateAction", name=name, endTime=part(self.manifest, "written"))
        action["agent"], action["instrument"], action["object"] = self.agent, workflow, self.files[layout.MANIFEST]
        action["result"] = [self.files[path] for path in digests if path in self.files]
        return action


def _outside(path: str, record: Mapping[str, Any], chain: Chain) -> dict[str, Any]:
    """Return the things outside the results that a record names: a model and its files, or the source of a corpus."""
    corpus = layout.CORPUS.names_in(path)
    facts = {"md5 of the archive": chain.corpora[corpus["dataset"]]["md5"]} if corpus else {}
    facts |= {key: record[key] for key in ("model", "revision", "split") if key in record and not layout.METRICS.names_in(path)}
    sources = record.get("source_sha256", {})
    digests = {**record.get("files", {}), **({"the source": sources} if isinstance(sources, str) else sources)}
    return facts | {f"sha256 of {key}": digest for key, digest in digests.items()}


def _plain(value: Any) -> Any:
    return (
        value if isinstance(value, str) or (isinstance(value, int | float) and not isinstance(value, bool)) else json.dumps(value)
    )
