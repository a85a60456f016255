"""Describe a folder of results as a Workflow Run RO-Crate, so that archives and other tools understand where they come from."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rocrate.model import ContextEntity, File
from rocrate.model.entity import Entity
from rocrate.rocrate import ROCrate

from beirflow.audit.chain import Chain, part, read_record
from beirflow.audit.checks import UNREADABLE, RecordError
from beirflow.files.errors import DataError
from beirflow.files.layout import CORPUS, CRATE_CODE, MANIFEST, METRICS, MODEL, PER_QUERY, RUN, RUN_RECORD, SUMMARY
from beirflow.files.writing import atomic_path
from beirflow.jobs.provenance import REPOSITORY

PROFILES = (
    ("process", "Process Run Crate", "https://w3id.org/ro/wfrun/process/0.5"),
    ("workflow", "Workflow Run Crate", "https://w3id.org/ro/wfrun/workflow/0.5"),
    ("workflow-ro-crate", "Workflow RO-Crate", "https://w3id.org/workflowhub/workflow-ro-crate/1.0"),
)

KINDS = {
    ".csv": "text/csv",
    ".json": "application/json",
    ".parquet": "application/vnd.apache.parquet",
}

SNAKEMAKE = "https://w3id.org/workflowhub/workflow-ro-crate#snakemake"


def export_crate(*, manifest_path: str, crate_path: str, code_folder: str) -> None:
    """Write the metadata of a crate whose root is the folder of the results.

    Args:
        manifest_path: ``manifest.json`` of the results.
        crate_path: ``ro-crate-metadata.json`` to write.
        code_folder: Folder to copy the workflow to, since a crate holds the workflow that it is about.

    Raises:
        DataError: The results lack a record, or one cannot be read.
    """
    folder = Path(manifest_path).parent
    shutil.rmtree(code_folder, ignore_errors=True)
    without = shutil.ignore_patterns("__pycache__", ".*")
    shutil.copytree(REPOSITORY / "workflow", Path(code_folder, "workflow"), ignore=without)
    shutil.copy(REPOSITORY / "Snakefile", code_folder)
    try:
        chain = Chain(folder, str(folder), read_record(Path(manifest_path)))
        chain.follow()
        if chain.problems:
            raise RecordError(chain.problems[0].found)
        crate = _Describer(chain).describe()
    except UNREADABLE as error:
        found = f"{folder} cannot be described: {type(error).__name__}: {error}"
        raise DataError(f"{found}; see what is wrong with: snakemake --cores 1 audit") from error
    with atomic_path(crate_path) as partial:
        partial.write_text(json.dumps(crate.metadata.generate(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


class _Describer:
    """Fills a crate with what the records of some results say."""

    def __init__(self, chain: Chain) -> None:
        self.chain, self.manifest = chain, chain.manifest
        self.crate = ROCrate(version="1.1")
        self.crate.metadata.extra_terms["sha256"] = "http://schema.org/sha256"  # the context of 1.1 is older than the term
        self.files: dict[str, Entity] = {}

    def describe(self) -> ROCrate:
        """The whole crate."""
        self._root()
        workflow = self._workflow()
        for path in (str(MANIFEST), *sorted(self.chain.claims)):
            if (self.chain.folder / path).is_file():
                self._file(path)
        parameters = [self._parameter(workflow, key, value) for key, value in part(self.manifest, "configuration").items()]
        actions = [self._action(workflow, *pair) for pair in self.chain.evaluated]
        whole = self._thing(
            "#evaluation",
            "CreateAction",
            name="The evaluation of all systems on all datasets",
            description="All jobs up to the summary, by Snakemake",
            endTime=part(self.manifest, "written"),
            actionStatus="http://schema.org/CompletedActionStatus",
        )
        whole["instrument"], whole["object"] = workflow, [*parameters, *self._of(MODEL.folder()), *self._of(CORPUS.folder())]
        whole["result"] = [self.files[SUMMARY], *self._of(METRICS.folder()), *self._of(RUN.folder())]
        self.crate.root_dataset["mentions"] = [whole, *actions]
        return self.crate

    def _of(self, start: str) -> list[Entity]:
        return [entity for path, entity in self.files.items() if path.startswith(start)]

    def _thing(self, identifier: str, kind: str | list[str], **properties: Any) -> Entity:
        found = {"@type": kind, **{key: value for key, value in properties.items() if value is not None}}
        return self.crate.add(ContextEntity(self.crate, identifier, properties=found))

    def _values(self, about: str, values: Mapping[str, Any]) -> list[Entity]:
        """Named values of a thing; what is not text or a number as JSON."""
        return [
            self._thing(f"#{about}/{key}", "PropertyValue", name=key, value=_plain(value))
            for key, value in values.items()
            if value is not None
        ]

    def _root(self) -> None:
        root = self.crate.root_dataset
        systems, datasets = (", ".join(part(self.manifest, key, kind=dict)) for key in ("systems", "datasets"))
        root["name"] = f"Retrieval results of {systems} on {datasets}"
        root["description"] = "Runs, measures and their summary, with the digests of everything that they were computed from"
        root["datePublished"] = part(self.manifest, "written")
        root["license"] = f"The licences of the datasets and models apply; the code in {CRATE_CODE}/ is under the MIT licence"
        root["conformsTo"] = [
            self._thing(url, "CreativeWork", name=name, version=url.rpartition("/")[2]) for _, name, url in PROFILES
        ]

    def _workflow(self) -> Entity:
        """The Snakefile, with its commit and the packages that it ran with."""
        repository, environment = part(self.manifest, "repository"), part(self.manifest, "environment")
        kinds = {"@type": ["File", "SoftwareSourceCode", "ComputationalWorkflow"]}
        workflow = self.crate.add(File(self.crate, dest_path=f"{CRATE_CODE}/Snakefile", properties=kinds))
        workflow["name"] = "beirflow"
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
        workflow["softwareRequirements"] = [
            self._thing(f"#package/{name}", "SoftwareApplication", name=name, softwareVersion=version)
            for name, version in versions.items()
            if version
        ]
        workflow["operatingSystem"] = environment["platform"]
        self.crate.root_dataset["mainEntity"] = workflow
        return workflow

    def _file(self, path: str) -> None:
        """A file of the results; for a record, with what it says of things outside."""
        size, kind = (self.chain.folder / path).stat().st_size, KINDS.get(Path(path).suffix, "application/octet-stream")
        claims = self.chain.claims.get(path)
        digest = {"sha256": claims[0].sha256} if claims else {}
        properties = {"name": path, "contentSize": str(size), "encodingFormat": kind, **digest}
        self.files[path] = entity = self.crate.add(File(self.crate, dest_path=path, properties=properties))
        if record := self.chain.records.get(path):
            entity["additionalProperty"] = self._values(f"about/{path}", _outside(path, record, self.chain))

    def _parameter(self, workflow: Entity, key: str, value: Any) -> Entity:
        """A key of the configuration: what may be set, and what was."""
        formal = self._thing(f"#parameter/{key}", "FormalParameter", name=key, additionalType="PropertyValue")
        given = self._thing(f"#configuration/{key}", "PropertyValue", name=key, value=_plain(value))
        formal["workExample"], given["exampleOfWork"] = given, formal
        workflow.append_to("input", formal)
        return given

    def _action(self, workflow: Entity, system: str, dataset: str) -> Entity:
        """One system on one corpus: from what, with what, how long."""
        names = {"system": system, "dataset": dataset}
        run = self.chain.record(RUN_RECORD(**names))
        made = part(run, "made", kind=dict) | {key: run[key] for key in ("seconds", "counts", "code")}
        action = self._thing(
            f"#run/{system}/{dataset}",
            "CreateAction",
            name=f"{system} on {dataset}",
            description="Retrieval and evaluation",
            endTime=part(self.manifest, "written"),
        )
        models = [path for path in self.files if MODEL.names_in(path) and self._depends(path, system)]
        action["instrument"] = workflow
        action["object"] = [*self._of(CORPUS.folder(dataset=dataset)), *(self.files[path] for path in models)]
        results = (RUN(**names), RUN_RECORD(**names), METRICS(**names), PER_QUERY(**names))
        action["result"] = [self.files[path] for path in results if path in self.files]
        action["additionalProperty"] = self._values(f"run/{system}/{dataset}", made)
        return action

    def _depends(self, path: str, system: str) -> bool:
        """Whether a system needs a file."""
        return any(result[0] == system for result in self.chain.results.get(path, ()))


def _outside(path: str, record: Mapping[str, Any], chain: Chain) -> dict[str, Any]:
    """What a record says of things outside the results: a model and its files, or the source of a corpus."""
    corpus = CORPUS.names_in(path)
    found = {"md5 of the archive": chain.corpora[corpus["dataset"]]["md5"]} if corpus else {}
    found |= {key: record[key] for key in ("model", "revision", "split") if key in record and not METRICS.names_in(path)}
    return found | {
        f"sha256 of {key}": digest for kind in ("files", "source_sha256") for key, digest in record.get(kind, {}).items()
    }


def _plain(value: Any) -> Any:
    return (
        value if isinstance(value, str) or (isinstance(value, int | float) and not isinstance(value, bool)) else json.dumps(value)
    )
