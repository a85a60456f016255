"""Results in a bucket: a server that speaks S3 on this machine, and jobs on nodes that share nothing with it but the server."""

import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from beir_writer import write_beir
from workflow_runs import REPOSITORY, words

pytest.importorskip("moto", reason="needs envs/requirements-bucket.txt and requirements-bucket-server.txt")
pytest.importorskip("snakemake_storage_plugin_s3", reason="needs envs/requirements-bucket.txt and requirements-bucket-server.txt")
pytest.importorskip(
    "snakemake_executor_plugin_cluster_generic", reason="needs envs/requirements-bucket.txt and requirements-bucket-server.txt"
)

pytestmark = pytest.mark.long

BUCKET = "results-of-test"
SECRET = "very-secret"

SUBMIT = """#!/bin/sh
node=$(mktemp -d {nodes}/node-XXXXXX)
for script in "$@"; do cp "$script" $node/job.sh; done
cd $node && mkdir home
export HOME=$node/home
(sh job.sh > out 2>&1 && echo success > status || echo failed > status) > /dev/null 2>&1 < /dev/null &
echo $node
"""

STATUS = "#!/bin/sh\ncat $1/status 2> /dev/null || echo running\n"

OF_A_RUN = ("seconds", "record_sha256", "inputs")
"""Keys of records that differ by run; the digests of inputs are those of other records too."""


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Any]]:
    """The address of a server with an empty bucket, and a client of it."""
    import boto3
    from moto.server import ThreadedMotoServer

    for prefix in ("AWS", "SNAKEMAKE_STORAGE_S3"):
        monkeypatch.setenv(f"{prefix}_ACCESS_KEY" + "_ID" * (prefix == "AWS"), "name")
        monkeypatch.setenv(f"{prefix}_SECRET_" + "ACCESS_" * (prefix == "AWS") + "KEY", SECRET)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    address = "http://{}:{}".format(*server.get_host_and_port())
    client = boto3.client("s3", endpoint_url=address, region_name="us-east-1")
    client.create_bucket(Bucket=BUCKET)
    yield address, client
    server.stop()


def program(path: Path, text: str) -> str:
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def contents(client: Any) -> dict[str, bytes]:
    found = client.list_objects_v2(Bucket=BUCKET)["Contents"]
    return {each["Key"]: client.get_object(Bucket=BUCKET, Key=each["Key"])["Body"].read() for each in found}


def without(record: bytes) -> Any:
    return json.loads(record, object_hook=lambda found: {key: found[key] for key in found.keys() - set(OF_A_RUN)})


def run(folder: Path, configfile: Path, *arguments: str) -> tuple[bool, str]:
    """Run Snakemake in a folder, without --directory, which nodes would get too; whether it went well, and what it said."""
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(REPOSITORY / "Snakefile"), "--cores", "2"]
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    folder.mkdir(exist_ok=True)
    asked = [*command, "--configfile", str(configfile), *arguments]
    done = subprocess.run(asked, cwd=folder, env=environment, **streams, check=False)
    return done.returncode == 0, done.stdout


def test_nodes_without_a_shared_folder_make_the_same_results_in_a_bucket(tmp_path: Path, bucket: tuple[str, Any]) -> None:
    address, client = bucket
    documents = {f"d{i:02}": {"title": words(i, i % 3), "text": words(100 + i, 4 + i % 9)} for i in range(20)}
    queries = {f"q{i}": f"{words(i, 2)} {words(100 + i, 4)}" for i in range(3)}
    texts = write_beir(tmp_path / "texts", documents, queries, {query: {f"d{i:02}": 1} for i, query in enumerate(queries)})
    config = {"systems": ["bm25", "fused"], "datasets": ["small"], "chunk_documents": 10, "top_k": 20, "cutoffs": [1, 10]}
    systems = {"fused": {"family": "fusion", "of": ["bm25", "bm25-multifield"]}}
    config["custom"] = {"systems": systems, "datasets": {"small": {"path": str(texts)}}}
    configfile = tmp_path / "config.yaml"
    configfile.write_text(yaml.safe_dump(config))
    here, host, nodes = (tmp_path / name for name in ("here", "host", "nodes"))
    nodes.mkdir()
    storage = ("--default-storage-provider", "s3", "--default-storage-prefix", f"s3://{BUCKET}")
    storage += ("--storage-s3-endpoint-url", address)
    executor = ("--executor", "cluster-generic", "--jobs", "4", "--seconds-between-status-checks", "1")
    executor += ("--cluster-generic-submit-cmd", program(tmp_path / "submit", SUBMIT.format(nodes=nodes)))
    executor += ("--cluster-generic-status-cmd", program(tmp_path / "status", STATUS))
    for folder, options in ((here, ()), (host, (*storage, *executor, "--shared-fs-usage", "sources", "source-cache"))):
        went_well, said = run(folder, configfile, *options, "--", "results/summary.csv")
        assert went_well, said
        assert "torage: s3://" not in said
    found = contents(client)
    kept = {path: file for path, file in found.items() if not path.startswith(("results/logs/", "results/benchmarks/"))}
    for path, file in kept.items():
        if path.endswith(".json") and path != "results/manifest.json":
            assert without(file) == without((here / path).read_bytes()), path
        elif path.endswith((".parquet", ".arrow")):
            assert file == (here / path).read_bytes(), path
    assert {f"results/runs/{system}/small.parquet" for system in config["systems"]} <= set(kept)
    assert len(list(nodes.glob("node-*/.snakemake"))) >= 10
    assert not (host / "results/runs").exists()
    assert all(SECRET.encode() not in file for file in found.values())
    assert "Nothing to do" in run(host, configfile, *storage, "--", "results/summary.csv")[1]
    went_well, said = run(host, configfile, *storage, "--", "audit")
    assert not went_well
    assert f"audit looks at a folder, but the results are in s3://{BUCKET}: copy them to this machine first" in said
