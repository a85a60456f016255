"""How many jobs that may compute on a GPU run at once."""

from itertools import accumulate
from pathlib import Path

from workflow_runs import Workflow

# In the place of encode_chunk. The first two wait for each other, and then a while for a third, which must not come.
JOB = """
import time
from pathlib import Path

def note(line):
    with open("events", "a") as events:
        events.write(line)

note(f"+1 {snakemake.threads}\\n")
deadline = time.monotonic() + 600
while Path("events").read_text().count("+1") < 2:
    assert time.monotonic() < deadline, "no other job began"
    time.sleep(0.01)
if "-1" not in Path("events").read_text():
    time.sleep(2)
note(f"-1 {snakemake.threads}\\n")
for path in snakemake.output:
    Path(path).touch()
"""


def test_as_many_jobs_as_gpus_are_allowed_run_at_once_and_share_the_cores(finished: Workflow, own_copy: Path) -> None:
    (own_copy / "workflow/scripts/run.py").write_text(JOB)
    finished.repository = own_copy
    finished.config["device"] = "auto"
    vectors = [f"results/embeddings/tiny/small/chunk-{i}.npy" for i in range(3)]
    finished.run("--forcerun", "encode_chunk", "--allowed-rules", "encode_chunk", "--resources", "gpu=2", "--", *vectors, cores=3)
    events = [line.split() for line in (finished.folder / "events").read_text().splitlines()]
    assert len(events) == 6
    assert max(accumulate(int(change) for change, _ in events)) == 2
    assert {threads for _, threads in events} == {"1"}
