"""Folders that are made to hang, crash or misuse the audit: a finding, never a traceback, a wait, or a write elsewhere."""

import gzip
import json
import multiprocessing
import os
import re
import socket
import struct
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import steps
from beirflow.audit import chain
from beirflow.audit.audit import audit
from beirflow.audit.differences import difference
from beirflow.audit.folder import limits
from beirflow.audit.folder.reading import RECORD_BYTES, open_parquet, read_record
from beirflow.core.errors import DataError
from beirflow.core.records import read_json
from beirflow.extensions.vectors.layout import FILES
from beirflow.ranking.run_file import Run
from forger import FAILED, Forger, named
from warm_snakemake import REPOSITORY

RUN = "runs/tiny/small.parquet"
LINKS = (".partial-audit.json", ".partial-audit.html", "audit.json", "audit.html")


def audited(forger: Forger) -> str:
    """Give the output of an audit that fails."""
    with pytest.raises(DataError) as caught:
        audit(folder=str(forger.results), experiment=forger.experiment)
    return str(caught.value)


def test_nothing_is_written_through_a_link(forger: Forger, tmp_path: Path) -> None:
    victims = {name: tmp_path / f"victim-of-{name}" for name in LINKS}
    for name, victim in victims.items():
        victim.write_text("precious")
        forger.path(name).symlink_to(victim)
    words = audited(forger)
    for name, victim in victims.items():
        assert victim.read_text() == "precious"
        assert f"{name} is a link to {victim}" in words


@pytest.mark.timeout(60)
def test_a_pipe_or_a_folder_that_is_a_link_is_not_opened(forger: Forger, tmp_path: Path) -> None:
    names = [RUN, "runs/tiny/more.json", "corpora/stack-tex/documents.parquet", "metrics/second/small.json", "summary.csv"]
    for name in names:
        forger.path(name).unlink()
        os.mkfifo(forger.path(name))
    move_behind_a_link(forger, "corpora/more", tmp_path)
    failed = forger.failed(sample=2)
    assert [name for name in names if not any("is a pipe" in check.found for check in named(failed, name))] == []
    assert any("corpora/more is a link" in check.found for check in failed)
    move_behind_a_link(forger, "runs", tmp_path)
    assert any("runs is a link" in check.found for check in forger.failed(sample=2))


def move_behind_a_link(forger: Forger, name: str, folder: Path) -> None:
    place = folder / name.replace("/", "-")
    forger.path(name).rename(place)
    forger.path(name).symlink_to(place)


@pytest.mark.timeout(60)
def test_a_pipe_in_place_of_the_manifest_is_no_manifest(forger: Forger) -> None:
    forger.path("manifest.json").unlink()
    os.mkfifo(forger.path("manifest.json"))
    with pytest.raises(DataError, match=r"there is no manifest\.json"):
        audit(folder=str(forger.results), experiment=forger.experiment)


@pytest.mark.timeout(120)
def test_a_device_or_a_pipe_that_a_manifest_names_as_a_source_is_not_read(families: Forger, tmp_path: Path) -> None:
    (tmp_path / "small").mkdir()
    for name in FILES:
        os.mkfifo(tmp_path / "small" / name)

    def change(manifest: dict[str, Any]) -> None:
        manifest["systems"]["theirs"]["settings"]["run"] = "/dev/zero"
        manifest["systems"]["far"]["settings"]["path"] = str(tmp_path)
        manifest["systems"]["expanded"]["settings"]["expansion"]["path"] = "/dev/zero"

    families.edit("manifest.json", change)
    found = " ".join(check.found for check in Forger(families.results).checks(sample=2))
    for name in ("theirs", "far"):
        assert f"was not rebuilt: the model or file of {name} is not known here" in found


@pytest.mark.timeout(60)
def test_links_are_named_and_not_followed(forger: Forger) -> None:
    targets = {"outside": "/proc", "broken": "nothing", "here": ".", "above": "..", "loop": "loop"}
    for name, target in targets.items():
        forger.path(name).symlink_to(target)
    start = time.monotonic()
    failed = forger.failed()
    assert {path for check in failed for path in check.files} == targets.keys()
    for name, target in targets.items():
        assert any(f"{name} is a link to {target}" in check.found for check in named(failed, name))
    assert time.monotonic() - start < 30


def test_sockets_and_links_to_the_right_file_which_will_not_be_archived_are_named(
    forger: Forger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    move_behind_a_link(forger, RUN, tmp_path)
    monkeypatch.chdir(forger.results)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("plug")
        failed = forger.failed()
    assert any("is a link" in check.found for check in named(failed, RUN))
    assert any("plug is a socket" in check.found for check in named(failed, "plug"))


NAMES = [b"caf\xe9.txt", b"\xff\xfe", b"two\nlines: passed", b"\x1b[2Jgone", b"x" * 255]


def test_files_of_any_name_are_named_in_one_line_that_can_be_printed(forger: Forger) -> None:
    for name in NAMES:
        Path(os.fsdecode(os.fsencode(forger.results) + b"/" + name)).write_text("x")
    words = audited(forger)
    (line,) = [line for line in words.splitlines() if "beirflow writes no such file" in line]
    assert all(letter.isprintable() for letter in line)
    assert "others" not in line
    words.encode("utf-8")
    assert read_json(forger.path("audit.json"))["verdict"] == FAILED
    assert "\x1b" not in forger.path("audit.html").read_text()


def test_folders_deeper_than_the_system_can_open_are_a_finding(forger: Forger) -> None:
    """A path of more than 4096 letters cannot be opened as a whole."""
    name = "d" * 200
    make = f"for i in $(seq 24); do mkdir {name} && cd {name}; done; touch deep.txt"
    subprocess.run(["bash", "-c", make], cwd=forger.results, check=True)
    (found,) = forger.failed()
    assert "is unreadable" in found.found
    subprocess.run(["rm", "-r", name], cwd=forger.results, check=True)


def test_a_key_that_comes_twice_is_found_and_the_file_named(forger: Forger) -> None:
    for names in (("runs/tiny/small.json", "metrics/second/small.json"), ("manifest.json",)):
        for name in names:
            forger.replace(name, forger.path(name).read_bytes().replace(b'"path":', b'"path": "other",\n  "path":', 1))
        failed = forger.failed()
        for name in names:
            assert any("duplicate key 'path'" in check.found for check in named(failed, name)), name


JUNK = (b'{"inputs": NaN}', b"{" * 100_000, b"\xff", b'{"a": 1e999999}', b'{"a": ' + b"9" * 5000 + b"}", b"[]", b'{"outputs": 3}')


def test_junk_in_place_of_a_record_is_a_finding(forger: Forger) -> None:
    names = [f"runs/{run}.json" for run in ("tiny/small", "tiny/more", "tiny/stack-tex", "second/small")]
    names += ["metrics/second/more.json", "metrics/tiny/stack-android.json", "models/second.json"]
    for name, junk in zip(names, JUNK, strict=True):
        forger.replace(name, junk)
    failed = forger.failed(sample=2)
    assert [name for name in names if not any("says" not in check.found for check in named(failed, name))] == []
    for junk in JUNK:
        forger.replace("manifest.json", junk)
        assert named(forger.failed(sample=2), "manifest.json")


def of_many_rows(forger: Forger) -> str:
    """Equal rows, far more than bytes."""
    return write_table(forger, RUN, 2 << 18, "q")


def of_long_values(forger: Forger) -> str:
    """A dictionary of one long text, which every row repeats: 45 GB."""
    return write_table(
        forger, "runs/tiny/more.parquet", 112_500, "".join(map(chr, np.random.default_rng(0).integers(97, 122, 400_000)))
    )


def write_table(forger: Forger, name: str, rows: int, text: str) -> str:
    """Put a small file of many equal rows in the place of a table."""
    schema = pq.read_schema(forger.path(name))
    values = [pa.array([text if pa.types.is_string(field.type) else 1], field.type) for field in schema]
    places = pa.array(np.zeros(rows, np.int32))
    many = pa.table([pa.DictionaryArray.from_arrays(places, value) for value in values], names=schema.names)
    pq.write_table(many, forger.results / "x", compression="zstd", store_schema=False, row_group_size=1 << 18)
    return put_in(forger, name)


def of_objects(forger: Forger) -> str:
    """Small in a file and large in memory."""
    return put_in(forger, "metrics/second/small.json", b'{"path": [' + b"{}," * (6 << 20) + b"{}]}")


def of_one_line(forger: Forger) -> str:
    """Nothing but a hole in a file."""
    with (forger.results / "x").open("wb") as stream:
        stream.truncate(9 << 25)
    return put_in(forger, "summary.csv")


def of_packed_zeros(forger: Forger) -> str:
    packed = gzip.compress(bytes(1 << 26), mtime=0)
    return put_in(forger, "runs/tiny/small.trec.gz", packed * 10)


def of_aliases(forger: Forger) -> str:
    """The YAML that unpacks to billions."""
    lines = ["a0: &a0 x", *(f"a{n + 1}: &a{n + 1} [{', '.join([f'*a{n}'] * 10)}]" for n in range(12))]
    return put_in(forger, "code/configuration.yaml", "\n".join(lines).encode())


def of_tensors(forger: Forger) -> str:
    """Weights whose header is longer than the file."""
    return put_in(forger, "models/tiny/small/model.safetensors", struct.pack("<Q", 1 << 40) + b"{}")


def of_a_zip(forger: Forger) -> str:
    with zipfile.ZipFile(forger.results / "x", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros", bytes(1 << 27))
    return put_in(forger, "candidates/tiny/small/chunk-0.arrow")


def put_in(forger: Forger, name: str, content: bytes | None = None) -> str:
    """Put a content, or what was written to ``x``, in the place of a file."""
    forger.path(name).parent.mkdir(parents=True, exist_ok=True)
    forger.path(name).unlink(missing_ok=True)
    if content is None:
        forger.path("x").rename(forger.path(name))
    else:
        forger.path(name).write_bytes(content)
    return name


BOMBS = [of_many_rows, of_long_values, of_one_line, of_packed_zeros, of_aliases, of_tensors, of_a_zip]
MEMORY, SPARE = limits.MEMORY // 8, 1 << 28
"""Bytes that reading may take in these tests, an eighth of those elsewhere, so that small bombs do; and that the process may."""

NOT_READ = ("models/tiny/small/model.safetensors", "candidates/tiny/small/chunk-0.arrow")
"""Files that no record names and no number depends on."""


@pytest.mark.timeout(120)
@pytest.mark.parametrize("bombs", [BOMBS, [of_objects]], ids=["several", "objects"])
def test_what_unpacks_to_more_than_its_size_is_named_and_takes_little_memory(
    forger: Forger, bombs: list[Callable[[Forger], str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MEMORY", MEMORY)
    names = [bomb(forger) for bomb in bombs]
    if bombs == BOMBS:  # else this process would read the record
        forger.digest_again()
    found, taken = in_a_child(forger)
    # Of a run, what could not be made of it is named.
    seen = {name.removesuffix("/configuration.yaml").removeprefix("runs/"): name for name in names}
    named = {name for part, name in seen.items() if any(part in text for text in found)}
    assert {*names} - {*NOT_READ} - named == set(), found
    assert taken < SPARE, "audit each of them alone to see which takes it"


def in_a_child(forger: Forger) -> tuple[list[str], int]:
    """Audit in another process; return what failed, and the bytes of memory that it took at most."""

    def status(key: str) -> int:
        (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(f"{key}:")]
        return int(line.split()[1]) << 10

    def child() -> None:
        Path("/proc/self/clear_refs").write_text("5")  # forgets the peak
        before = status("VmRSS")
        failed = [f"{' '.join(check.files)} {check.found}" for check in forger.failed()]
        sender.send((failed, status("VmHWM") - before))

    receiver, sender = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    sender.close()
    found: tuple[list[str], int] = receiver.recv()
    process.join()
    return found


def test_a_folder_of_hundreds_of_megabytes_has_room_for_what_it_holds(forger: Forger) -> None:
    """The gigabyte that Arrow reserves for Parquet files took all of it."""
    (variable,) = re.findall(r'os.environ.setdefault\("(\w+)", "0"\)', (REPOSITORY / "workflow/rules/audit.smk").read_text())
    program = """if True:
        import sys
        import numpy as np, pyarrow.parquet as pq
        from beirflow.audit.folder.limits import Limits
        with Limits(400 << 20):
            pq.read_table(sys.argv[1])
            np.ones(400 << 20, np.uint8)
    """
    command = [sys.executable, "-c", program, str(forger.path(RUN))]
    environment = os.environ | {variable: "0", "PYTHONPATH": str(REPOSITORY / "src")}
    subprocess.run(command, check=True, env=environment)


def test_reading_that_takes_too_long_ends_the_audit(forger: Forger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SECONDS", 0.01)
    (found,) = [check for check in forger.failed() if check.name == "files can be read"]
    assert "of processor time" in found.found


def test_a_manifest_of_too_many_metrics_is_not_followed(forger: Forger) -> None:
    further = {f"metrics/tiny/x{number}.json": "0" * 64 for number in range(20_000)}
    forger.edit("manifest.json", lambda manifest: manifest["inputs"].update(further))
    start = time.monotonic()
    (found,) = forger.failed()
    assert "names 20,006 metrics, but at most 10,000 are read" in found.found
    assert time.monotonic() - start < 10


def test_cutoffs_beyond_all_limits_are_findings_and_not_measured(forger: Forger) -> None:
    forger.edit("manifest.json", lambda manifest: manifest["configuration"].update(cutoffs=[10, 10**12]))
    assert any("has the cutoffs [10, 1000000000000], expected numbers from 1" in check.found for check in forger.failed())
    forger.edit("manifest.json", lambda manifest: manifest["configuration"].update(top_k=10**12))
    assert any("has the top_k 1000000000000, expected at most 100,000" in check.found for check in forger.failed())


def test_records_that_name_too_many_files_are_not_followed(forger: Forger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chain, "MOST_FILES", 3000)
    further = {f"logs/x{number}.log": "0" * 64 for number in range(4000)}
    forger.edit("runs/tiny/small.json", lambda record: record["inputs"].update(further))
    forger.digest_again()
    found = [check.found for check in forger.failed()]
    assert any("but at most 3,000 files are read" in text for text in found), found[:5]
    assert any("further files are missing" in text for text in found)
    assert len(found) < 1500


def test_a_record_that_is_larger_than_any_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "x.json").open("wb") as stream:
        stream.truncate(RECORD_BYTES + 1)
    with pytest.raises(ValueError, match=f"but a record has less than {RECORD_BYTES:,}"):
        read_record(tmp_path / "x.json")


def test_a_page_that_is_much_longer_than_the_same_made_again_is_not_read(tmp_path: Path) -> None:
    here, made = tmp_path / "here.csv", tmp_path / "made.csv"
    made.write_text("a,b\n1,2\n")
    with here.open("wb") as stream:
        stream.truncate(1 << 40)
    assert difference("cost.csv", here, made).problem.startswith("1,099,511,627,776 bytes, expected ")


def test_results_in_the_results_are_left_alone_and_said_and_a_file_of_that_name_hides_nothing(forger: Forger) -> None:
    for name in ("manifest.json", "hidden.txt"):
        forger.replace(f"demo/{name}", forger.path("manifest.json").read_bytes())
    left = [check for check in forger.checks() if check.found.startswith("files of other results: ")]
    assert [check.status for check in left] == ["not checked"]
    forger.replace("metrics/manifest.json", b"{}")
    forger.replace("metrics/evil.sh", b"rm -r ~")
    assert {path for check in forger.failed() for path in check.files} == {"metrics/manifest.json", "metrics/evil.sh"}


def test_scripts_that_hide_where_nobody_looks_are_found_and_an_empty_file_that_keeps_a_folder_is_nothing(forger: Forger) -> None:
    names = ["logs/run-me.sh", "figures/evil.sh", "evil.gitkeep", "benchmarks/x.exe", "a/.gitkeep.sh"]
    for name in names:
        forger.replace(name, b"rm -r ~")
    forger.replace("data/.gitkeep", b"")
    noticed = forger.noticed()
    assert sorted(path for check in noticed for path in check.files) == sorted(names)
    assert {check.status for check in noticed} == {FAILED}


def test_a_manifest_of_a_newer_format_is_said_and_nothing_else(forger: Forger) -> None:
    forger.edit("manifest.json", format=99, invention={"deep": [1]})
    (found,) = forger.checks(sample=2)
    assert found.status == FAILED
    assert "has the format 99" in found.found
    assert found.found.endswith("use the one that wrote it, or a newer one")
    assert json.dumps(found.files) == '["manifest.json"]'


def test_a_run_that_ranks_all_queries_alike_is_read(tmp_path: Path) -> None:
    queries, depth = 1000, 100
    columns = (
        pa.array(np.repeat([f"{query:04}" for query in range(queries)], depth)),
        pa.array([f"{place:03}" for place in reversed(range(depth))] * queries),
        np.ones(queries * depth, np.float32),
        np.tile(np.arange(1, depth + 1, dtype=np.int32), queries),
    )
    steps.write(Run, tmp_path / "a.parquet", [columns])
    open_parquet(tmp_path / "a.parquet", "a.parquet").close()
