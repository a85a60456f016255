"""The results as a Workflow Run RO-Crate: the public validator accepts it, and it says where everything comes from."""

import io
import json
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import requests
from requests.adapters import HTTPAdapter
from requests_cache import CachedSession
from rocrate_validator.models import Severity
from rocrate_validator.services import ValidationSettings, validate
from urllib3 import HTTPResponse

from beirflow import SNAKEFILE
from beirflow.audit.chain import Chain
from beirflow.audit.folder.reading import read_record
from beirflow.core.digests import file_digest
from beirflow.core.errors import DataError
from beirflow.core.records import read_json, write_json
from beirflow.data.catalogue.catalogue import load_catalogue
from beirflow.extensions.exchange import crate as crate_module
from beirflow.extensions.exchange import crate_metadata
from beirflow.extensions.exchange.crate import export_crate
from beirflow.run.code_version import PACKAGE
from results_maker import Made
from workflow_runs import Workflow

CONTEXT = "https://w3id.org/ro/crate/1.1/context"
SCHEMA_ORG = (
    "ComputerLanguage CreateAction CreativeWork Dataset PropertyValue SoftwareApplication SoftwareSourceCode about"
    " actionStatus additionalProperty additionalType contentSize datePublished description encodingFormat endTime exampleOfWork"
    " hasPart instrument license mainEntity mentions name object operatingSystem programmingLanguage result"
    " softwareRequirements softwareVersion url value version workExample Person author agent startTime processorRequirements"
)
TERMS = {name: f"http://schema.org/{name}" for name in SCHEMA_ORG.split()} | {
    "File": "http://schema.org/MediaObject",
    "conformsTo": "http://purl.org/dc/terms/conformsTo",
    "ComputationalWorkflow": "https://bioschemas.org/ComputationalWorkflow",
    "FormalParameter": "https://bioschemas.org/FormalParameter",
    "input": "https://bioschemas.org/ComputationalWorkflow#input",
}
"""Of RO-Crate's own context, which lies on the network, the terms that these crates use."""


class ContextFromHere(HTTPAdapter):
    """Answers for the host of the context."""

    def send(self, request: requests.PreparedRequest, *_: Any, **__: Any) -> requests.Response:
        body = io.BytesIO(json.dumps({"@context": TERMS}).encode())
        headers = {"Content-Type": "application/ld+json"}
        raw = HTTPResponse(body, headers, 200, preload_content=False, request_url=request.url)
        return self.build_response(request, raw)


@pytest.fixture(scope="module")
def exported_once(results_once: Made, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Not to be changed."""
    results = shutil.copytree(results_once.results, tmp_path_factory.mktemp("exported") / "results")
    export(results)
    return results


@pytest.fixture
def exported(exported_once: Path, tmp_path: Path) -> Path:
    return shutil.copytree(exported_once, tmp_path / "results")


def export(results: Path) -> None:
    export_crate(
        manifest_path=f"{results}/manifest.json",
        crate_path=f"{results}/ro-crate-metadata.json",
        code_folder=f"{results}/code",
        readme_path=f"{results}/README.md",
    )


def entities(results: Path) -> dict[str, dict[str, Any]]:
    graph = json.loads((results / "ro-crate-metadata.json").read_text())["@graph"]
    return {entity["@id"]: entity for entity in graph}


def values_of(crate: dict[str, dict[str, Any]], entity: str) -> dict[str, Any]:
    found = (crate[reference["@id"]] for reference in crate[entity]["additionalProperty"])
    return {value["name"]: value["value"] for value in found}


def numpy_version(crate: dict[str, dict[str, Any]]) -> str:
    (found,) = [each["softwareVersion"] for each in crate.values() if each.get("name") == "numpy"]
    return found


def issues(results: Path, cache: Path) -> list[str]:
    """List what the validator requires or recommends, offline: the context, all that it would fetch, is in its cache."""
    session = CachedSession(cache_name=str(cache), backend="sqlite", expire_after=-1)
    session.mount(CONTEXT, ContextFromHere())
    session.get(CONTEXT)
    session.close()
    settings = ValidationSettings(
        rocrate_uri=str(results),
        profile_identifier="workflow-run-crate-0.5",
        requirement_severity=Severity.RECOMMENDED,
        cache_path=str(cache),
        offline=True,
    )
    return [str(issue.message) for issue in validate(settings).get_issues()]


UNKNOWN = {
    "The Application SHOULD have a url",  # the Snakefile, which is in the crate and has no other address
    "The SoftwareApplication id SHOULD be an absolute URI",
    "The `publisher` property of a `Root Data Entity` SHOULD be an `Organization`",
    "The author SHOULD have an organizational affiliation.",
    "The author SHOULD have a Contextual Entity which specifies the organizational `affiliation`.",
}
"""Recommended properties that no record can fill."""


def test_the_public_validator_misses_what_nobody_knows_alone(
    finished: Workflow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It takes long with each file of the code.
    few = Path(shutil.copytree(PACKAGE / "core", tmp_path / "src/beirflow"))
    shutil.copytree(PACKAGE.with_name(crate_module.LOGGER), few.with_name(crate_module.LOGGER))
    monkeypatch.setattr(crate_module, "PACKAGE", few)
    monkeypatch.setattr(crate_module, "COPIED", ("workflow",))
    exported = finished.result("")
    export(exported)
    assert set(issues(exported, tmp_path / "cache")) == UNKNOWN


def test_it_says_who_ran_what_when_on_which_machine_under_which_licences(results_once: Made, tmp_path: Path) -> None:
    results = tmp_path / "results"
    shutil.copytree(results_once.results, results)
    manifest = read_json(results / "manifest.json")
    made_by = {"command": "snakemake --cores 2", "started": "2026-01-01T00:00:00+00:00", "user": "ada"}
    official = asdict(load_catalogue().datasets["scifact"][0])
    datasets = manifest["datasets"] | {"scifact": [official]}
    write_json(results / "manifest.json", manifest | {"made_by": made_by, "datasets": datasets})
    export(results)
    crate = entities(results)
    whole = crate["#evaluation"]
    assert (whole["description"], whole["startTime"], whole["endTime"]) == (*list(made_by.values())[:2], manifest["written"])
    assert crate[whole["agent"]["@id"]]["name"] == "ada"
    assert f"cores {manifest['environment']['cores']}" in crate["code/workflow/Snakefile"]["processorRequirements"]
    (source,) = [each for each in crate.values() if each.get("name") == "scifact"]
    assert (source["url"].rpartition("/")[2], source["license"]) == ("scifact.zip", official["licence"])
    assert {"@id": source["@id"]} in whole["object"]
    assert f"scifact: {official['licence']}" in crate[crate["./"]["license"]["@id"]]["description"]
    for name in (
        "code/config/config.yaml",
        "code/configuration.yaml",
        "code/envs/requirements.txt",
        "code/workflow/rules/families.smk",
        "code/extensions/exchange/rules/exchange.smk",
    ):
        assert crate[name]["sha256"] == file_digest(results / name)


def test_every_file_of_the_chain_is_in_it_with_its_digest(exported_once: Path) -> None:
    chain = Chain(exported_once, read_record(exported_once / "manifest.json"))
    chain.follow()
    crate = entities(exported_once)
    for path in chain.claims:
        assert crate[path]["sha256"] == file_digest(exported_once / path)
    assert (exported_once / crate["./"]["mainEntity"]["@id"]).read_text() == SNAKEFILE.read_text()


def test_it_says_what_the_results_were_made_from_and_with(exported_once: Path) -> None:
    crate, manifest = entities(exported_once), read_record(exported_once / "manifest.json")
    corpus, model = read_record(exported_once / "corpora/small/corpus.json"), read_record(exported_once / "models/tiny.json")
    assert (
        values_of(crate, "corpora/small/corpus.json").items()
        >= {f"sha256 of {name}": digest for name, digest in corpus["source_sha256"].items()}.items()
    )
    assert (
        values_of(crate, "models/tiny.json").items()
        >= {
            "model": model["model"],
            "sha256 of model.safetensors": model["files"]["model.safetensors"],
        }.items()
    )
    assert {"commit", "working tree clean"} <= set(values_of(crate, "code/workflow/Snakefile")) or manifest["repository"][
        "commit"
    ] is None
    run = values_of(crate, "#run/tiny/small")
    assert run["precision"] == "float32"
    assert {"device", "seconds", "counts", "torch", "python", "code", "search_code"} <= set(run)
    assert numpy_version(crate) == manifest["environment"]["packages"]["numpy"]
    assert crate["#configuration/top_k"]["value"] == manifest["configuration"]["top_k"]
    assert crate["#evaluation"]["endTime"] == manifest["written"]


def test_deleted_vectors_are_left_out_and_the_same_results_give_the_same_crate(exported: Path) -> None:
    before = (exported / "ro-crate-metadata.json").read_bytes()
    export(exported)
    assert (exported / "ro-crate-metadata.json").read_bytes() == before
    (exported / "embeddings/tiny/small/chunk-0.npy").unlink()
    export(exported)
    assert "embeddings/tiny/small/chunk-0.npy" not in entities(exported)


def test_results_with_a_damaged_record_are_not_described(exported: Path) -> None:
    (exported / "runs/tiny/small.json").write_text("{}")
    with pytest.raises(DataError, match=r"runs/tiny/small.json: is the record of None.*snakemake --cores 1 audit"):
        export(exported)


def test_an_imported_run_has_the_digest_of_its_one_source() -> None:
    assert crate_metadata._outside("runs/theirs/small.json", {"source_sha256": "a" * 64}, None) == {  # type: ignore[arg-type]
        "sha256 of the source": "a" * 64
    }
