"""Folders that are made to hang, crash or misuse the audit: a finding, never a traceback, a wait, or a write elsewhere."""

import json
import os
import socket
import subprocess
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from beirflow.audit.audit import audit
from beirflow.audit.digests import chain
from beirflow.audit.rebuild.differences import difference
from beirflow.files.errors import DataError
from beirflow.files.records import read_json
from forger import FAILED, Forger, named

RUN = "runs/tiny/small.parquet"
LINKS = (".partial-audit.json", ".partial-audit.html", "audit.json", "audit.html")


def audited(forger: Forger) -> str:
    """What the terminal shows of an audit that fails."""
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
def test_a_pipe_in_place_of_a_file_is_not_opened(forger: Forger) -> None:
    names = [RUN, "runs/tiny/more.json", "corpora/stack-tex/documents.parquet", "metrics/second/small.json", "summary.csv"]
    for name in names:
        forger.path(name).unlink()
        os.mkfifo(forger.path(name))
    failed = forger.failed(sample=2)
    assert [name for name in names if not any("is a pipe" in check.found for check in named(failed, name))] == []


@pytest.mark.timeout(60)
def test_a_pipe_in_place_of_the_manifest_is_no_manifest(forger: Forger) -> None:
    forger.path("manifest.json").unlink()
    os.mkfifo(forger.path("manifest.json"))
    with pytest.raises(DataError, match=r"there is no manifest\.json"):
        audit(folder=str(forger.results), experiment=forger.experiment)


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "targets",
    [{"link": "/proc", "large": "/usr/share", "broken": "nothing"}, {"here": ".", "above": "..", "loop": "loop"}],
    ids=["outside", "inside"],
)
def test_links_are_named_and_not_followed(forger: Forger, targets: dict[str, str]) -> None:
    for name, target in targets.items():
        forger.path(name).symlink_to(target)
    start = time.monotonic()
    failed = forger.failed()
    assert {path for check in failed for path in check.files} == targets.keys()
    for name, target in targets.items():
        assert any(f"{name} is a link to {target}" in check.found for check in named(failed, name))
    assert time.monotonic() - start < 30


@pytest.mark.parametrize("folder", ["runs", "corpora/small"])
def test_a_folder_of_results_that_is_a_link_is_not_followed(forger: Forger, tmp_path: Path, folder: str) -> None:
    forger.path(folder).rename(tmp_path / "elsewhere")
    forger.path(folder).symlink_to(tmp_path / "elsewhere")
    assert any(f"{folder} is a link" in check.found for check in forger.failed(sample=2))


def test_a_file_that_is_a_link_to_the_right_one_is_found_since_it_will_not_be_archived(forger: Forger, tmp_path: Path) -> None:
    forger.path(RUN).rename(tmp_path / "run.parquet")
    forger.path(RUN).symlink_to(tmp_path / "run.parquet")
    assert any("is a link" in check.found for check in named(forger.failed(), RUN))


def test_sockets_and_broken_links_are_named(forger: Forger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(forger.results)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("plug")
        (found,) = forger.failed()
    assert "plug is a socket" in found.found


NAMES = [
    b"caf\xe9.txt",
    b"\xff\xfe",
    b"two\nlines: passed",
    b"\x1b[2Jgone",
    b"$(touch PWNED)",
    b"; touch PWNED #",
    b"a b",
    b"x" * 255,
    b"<b>",
]


@pytest.mark.parametrize("names", [NAMES[:5], NAMES[5:]], ids=["unprintable", "strange"])
def test_a_file_of_any_name_is_named_in_one_line_that_can_be_printed(forger: Forger, names: list[bytes]) -> None:
    for name in names:
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
    assert "cannot be" in found.found
    subprocess.run(["rm", "-r", name], cwd=forger.results, check=True)


@pytest.mark.parametrize("name", ["manifest.json", "runs/tiny/small.json", "metrics/tiny/small.json"])
def test_a_key_that_comes_twice_is_found_and_the_file_named(forger: Forger, name: str) -> None:
    content = forger.path(name).read_bytes()
    forger.replace(name, content.replace(b'"path":', b'"path": "other",\n  "path":', 1))
    forger.digest_again(but=name)
    assert any("the key 'path' comes twice" in check.found for check in named(forger.failed(), name))


JUNK = (b'{"inputs": NaN}', b"{" * 100_000, b"\xff", b'{"a": 1e999999}', b'{"a": ' + b"9" * 5000 + b"}")


def test_junk_in_place_of_a_record_is_a_finding(forger: Forger) -> None:
    names = [f"runs/{run}.json" for run in ("tiny/small", "tiny/more", "tiny/stack-tex", "second/small", "second/more")]
    for name, junk in zip(names, JUNK, strict=True):
        forger.replace(name, junk)
    failed = forger.failed(sample=2)
    assert [name for name in names if not any("says" not in check.found for check in named(failed, name))] == []
    for junk in JUNK:
        forger.replace("manifest.json", junk)
        assert named(forger.failed(sample=2), "manifest.json")


BOMBS = (RUN, "corpora/more/qrels.parquet", "metrics/second/small.parquet", "corpora/stack-tex/documents.parquet")


@pytest.mark.timeout(60)
def test_a_table_that_would_fill_memory_is_not_read(forger: Forger, tmp_path: Path) -> None:
    for name in BOMBS:
        write_bomb(forger, name, tmp_path / "bomb.parquet")
    forger.digest_again()
    texts = [check.found for check in forger.failed(sample=2) if "would unpack to 2,097,152 rows" in check.found]
    assert [name for name in BOMBS if not any(name in text for text in texts)] == []


def write_bomb(forger: Forger, name: str, bomb: Path) -> None:
    """Put a small file of many rows in the place of a table."""
    schema = pq.read_schema(forger.path(name))
    rows = 1 << 18
    columns = [pa.array([b"q" if pa.types.is_binary(field.type) else None], field.type) for field in schema]
    many = pa.table([column.take(pa.array(np.zeros(rows, np.int64))) for column in columns], schema=schema)
    with pq.ParquetWriter(bomb, schema, compression="zstd") as writer:
        for _ in range(8):
            writer.write_table(many, row_group_size=rows)
    forger.replace(name, bomb.read_bytes())


def test_a_manifest_of_too_many_metrics_is_not_followed(forger: Forger) -> None:
    further = {f"metrics/tiny/x{number}.json": "0" * 64 for number in range(20_000)}
    forger.edit("manifest.json", lambda manifest: manifest["inputs"].update(further))
    start = time.monotonic()
    (found,) = forger.failed()
    assert "names 20,006 metrics, but at most 10,000 are read" in found.found
    assert time.monotonic() - start < 10


def test_records_that_name_too_many_files_are_not_followed(forger: Forger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chain, "MOST_FILES", 3000)
    further = {f"logs/x{number}.log": "0" * 64 for number in range(4000)}
    forger.edit("runs/tiny/small.json", lambda record: record["inputs"].update(further))
    forger.digest_again()
    found = [check.found for check in forger.failed()]
    assert any("but at most 3,000 files are looked at" in text for text in found), found[:5]
    assert any("further files are missing" in text for text in found)
    assert len(found) < 1500


def test_a_page_that_is_much_longer_than_the_same_made_again_is_not_read(tmp_path: Path) -> None:
    here, made = tmp_path / "here.csv", tmp_path / "made.csv"
    made.write_text("a,b\n1,2\n")
    with here.open("wb") as stream:
        stream.truncate(1 << 40)
    assert difference("cost.csv", here, made).startswith("1,099,511,627,776 bytes, expected ")


HEADERS = {"shape": (1 << 50, 32), "objects": (4, 32)}


@pytest.mark.parametrize("kind", HEADERS)
def test_vectors_that_promise_more_than_they_hold_or_objects_are_not_read(forger: Forger, kind: str) -> None:
    name = "embeddings/tiny/small/chunk-0.npy"
    header = {"descr": "<f4" if kind == "shape" else "|O", "fortran_order": False, "shape": HEADERS[kind]}
    with (forger.results / "x").open("wb") as stream:
        np.lib.format.write_array_header_1_0(stream, header)
    forger.replace(name, forger.path("x").read_bytes())
    forger.path("x").unlink()
    forger.digest_again()
    assert named(forger.failed(sample=2), name) or named(forger.failed(sample=2), "embeddings/tiny/small/chunk-0.json")


def test_results_in_the_results_are_left_alone_and_said_and_a_file_of_that_name_hides_nothing(forger: Forger) -> None:
    for name in ("manifest.json", "hidden.txt"):
        forger.replace(f"demo/{name}", forger.path("manifest.json").read_bytes())
    left = [check for check in forger.checks() if "demo/ are other results" in check.found]
    assert [check.status for check in left] == ["not checked"]
    forger.replace("metrics/manifest.json", b"{}")
    forger.replace("metrics/evil.sh", b"rm -r ~")
    assert {path for check in forger.failed() for path in check.files} == {"metrics/manifest.json", "metrics/evil.sh"}


def test_scripts_that_hide_where_nobody_looks_are_found(forger: Forger) -> None:
    names = ["logs/run-me.sh", "figures/evil.sh", "evil.gitkeep", "benchmarks/x.exe", "a/.gitkeep.sh"]
    for name in names:
        forger.replace(name, b"rm -r ~")
    assert sorted(path for check in forger.failed() for path in check.files) == sorted(names)


def test_an_empty_file_that_keeps_a_folder_is_nothing(forger: Forger) -> None:
    forger.replace("data/.gitkeep", b"")
    assert forger.noticed() == []


def test_a_manifest_of_a_newer_format_is_said_and_nothing_else(forger: Forger) -> None:
    forger.edit("manifest.json", format=99, invention={"deep": [1]})
    (found,) = forger.checks(sample=2)
    assert (found.status, found.repair) == (FAILED, "audit it with the beirflow that wrote it")
    assert "has the format 99" in found.found
    assert json.dumps(found.files) == '["manifest.json"]'
