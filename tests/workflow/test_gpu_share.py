"""How many jobs that may compute on a GPU run at once."""

import re

from workflow_runs import Workflow


def test_as_many_jobs_as_gpus_are_allowed_run_at_once_and_share_the_cores(finished: Workflow) -> None:
    finished.config["device"] = "auto"
    vectors = [f"results/embeddings/tiny/small/chunk-{i}.npy" for i in range(3)]
    again = ["--forcerun", "encode_chunk", "--benchmark-extended"]
    output = finished.run(*again, "--resources", "gpu=2", "--", *vectors, cores=3)
    steps = re.findall(r"^Job \d+: (encode) chunk|^(Finished) jobid", output, re.MULTILINE)
    assert ["".join(step) for step in steps[:3]] == ["encode", "encode", "Finished"]
    assert len(steps) == 6
    benchmark = finished.result("benchmarks/encode_chunk/tiny/small/chunk-0.tsv").read_text()
    header, row = (line.split("\t") for line in benchmark.splitlines())
    assert dict(zip(header, row, strict=True))["threads"] == "1"
