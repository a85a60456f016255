"""Downloads from real servers on the loopback, good and bad."""

import hashlib
import itertools
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from beirflow.core.errors import DownloadError
from beirflow.data.sources import download as module
from beirflow.data.sources.download import download_dataset
from http_servers import Answer, FileServer, dead_url
from refusals import refused

BODY = np.random.default_rng(0).bytes(3 << 20)
OTHER = np.random.default_rng(1).bytes(len(BODY))
HALF = len(BODY) // 2
MD5 = hashlib.md5(BODY, usedforsecurity=False).hexdigest()
FILES = {"/a.zip": BODY}


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(module, "FIRST_PAUSE", 0.01)


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "data" / "a.zip"


def part_of(output: Path, content: bytes = b"") -> Path:
    """The partial file, with some content if there is any."""
    part = output.with_name("a.zip.part")
    if content:
        part.parent.mkdir(parents=True)
        part.write_bytes(content)
    return part


def download(output: Path, *servers: FileServer, urls: Sequence[str] = (), attempts: int = 3, body: bytes = BODY) -> None:
    all_urls = [*urls, *(f"{server.url}/a.zip" for server in servers)]
    md5 = hashlib.md5(body, usedforsecurity=False).hexdigest()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "ATTEMPTS", attempts)
        download_dataset(urls=all_urls, md5=md5, size=len(body), output_path=str(output))


def assert_whole(output: Path) -> None:
    """The archive is right, and nothing else is left in its folder."""
    assert output.read_bytes() == BODY
    assert [file.name for file in output.parent.iterdir()] == ["a.zip"]


def test_an_archive_is_fetched_with_one_request_and_once_verified_never_again(output: Path) -> None:
    with FileServer(FILES) as server, FileServer(FILES) as mirror:
        for _ in range(2):
            download(output, server, mirror)
            assert_whole(output)
    assert (server.ranges, mirror.asked) == ([None], [])


def test_an_archive_that_nobody_serves_is_an_error_that_names_every_url_and_leaves_what_was_there(output: Path) -> None:
    output.parent.mkdir()
    output.write_bytes(OTHER)
    with (
        FileServer({"/a.zip": OTHER}) as one,
        FileServer(FILES, [Answer(404)]) as two,
        refused(
            DownloadError,
            f"{one.url}/a.zip: served a file with md5 {hashlib.md5(OTHER, usedforsecurity=False).hexdigest()}, expected {MD5}",
            f"{two.url}/a.zip: HTTP status 404",
            "http:///a.zip",
            "check the network, name a mirror in 'mirrors'",
        ),
    ):
        download(output, one, two, urls=["http:///a.zip"])
    assert len(two.asked) == 1
    assert [file.read_bytes() for file in output.parent.iterdir()] == [OTHER]
    part_of(output).mkdir()
    with refused(DownloadError, "a.zip.part: a folder is in the place of the partial download"):
        download(output)


def test_a_cut_connection_is_resumed_where_it_broke_now_or_in_the_next_run(output: Path) -> None:
    cuts = [Answer(cut_after=1 << 20), Answer(cut_after=0)]
    with FileServer(FILES, cuts) as server:
        with pytest.raises(DownloadError, match="2 attempts failed"):
            download(output, server, attempts=2)
        assert not output.exists()
        assert part_of(output).read_bytes() == BODY[: 1 << 20]
        download(output, server, attempts=1)
    assert server.ranges == [None, f"bytes={1 << 20}-", f"bytes={1 << 20}-"]
    assert server.asked[-1].sent == len(BODY) - (1 << 20)
    assert_whole(output)


OTHER_RANGES = [f"bytes 0-{len(BODY) - 1}/{len(BODY)}", f"bytes {HALF + 1}-", "nonsense", ""]


@pytest.mark.parametrize("answer", [Answer(ranges=False), *(Answer(content_range=sent) for sent in OTHER_RANGES)])
def test_a_server_without_ranges_or_with_another_starts_over(output: Path, answer: Answer) -> None:
    part_of(output, BODY[:HALF])
    with FileServer(FILES, [answer]) as server:
        download(output, server)
    assert server.ranges == [f"bytes={HALF}-", None][: 2 if answer.ranges else 1]
    assert_whole(output)


@pytest.mark.parametrize("stale", [OTHER[:HALF], OTHER, OTHER + BODY], ids=["shorter", "as long", "longer"])
def test_a_partial_file_of_something_else_is_fetched_afresh_from_the_same_url(output: Path, stale: bytes) -> None:
    part_of(output, stale)
    with FileServer(FILES) as server:
        download(output, server)
    assert server.ranges == ([f"bytes={len(stale)}-", None] if len(stale) <= len(BODY) else [None])
    assert_whole(output)


def test_an_archive_that_the_user_puts_in_the_place_of_the_partial_file_needs_no_network(output: Path) -> None:
    with dead_url() as nobody:
        with pytest.raises(DownloadError, match=rf"3,145,728 bytes, md5 {MD5}.*\n  mkdir -p .* && cp a.zip {part_of(output)}\n"):
            download(output, urls=[nobody], attempts=1)
        part_of(output).write_bytes(OTHER[:7])
        with pytest.raises(DownloadError, match=rf"{part_of(output)} has 7 bytes, md5 [0-9a-f]+: the beginning .* 'data_dir'\n"):
            download(output, urls=[nobody], attempts=1)
        part_of(output).write_bytes(BODY)
        download(output, urls=[nobody], attempts=1)
    assert_whole(output)


def test_a_machine_without_a_network_is_told_once_and_in_one_line(output: Path, caplog: pytest.LogCaptureFixture) -> None:
    with dead_url() as nobody, pytest.raises(DownloadError, match=r"\n  .*: 3 attempts failed, the last: Connection refused$"):
        download(output, urls=[nobody])
    assert [each.getMessage().partition("; ")[0] for each in caplog.records if each.levelname == "WARNING"][:-1] == [
        f"{nobody}: Connection refused"
    ]


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_server_is_asked_again_but_not_more_often_than_that(output: Path, status: int) -> None:
    with FileServer(FILES, [Answer(status)] * 5) as server:
        with pytest.raises(DownloadError, match=rf"3 attempts.*{status}"):
            download(output, server)
        assert len(server.asked) == 3
        download(output, server)
    assert server.ranges == [None] * 6
    assert_whole(output)


def test_no_secret_of_a_mirror_is_shown(output: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setenv("TOKEN_OF_MINE", "t0ken0")
    echo = Answer(302, headers={"Location": "http://[::t0ken0 pa55@word k3y123 czNjcg"})
    answers = [Answer(announced="t0ken0 pa55@word k3y123"), echo, Answer(503), Answer(503)]
    with FileServer({"/t0ken0/a.zip": BODY}, answers) as bad, caplog.at_level("INFO"):
        address = bad.url.replace("//", "//bob:pa55@word@") + "/${TOKEN_OF_MINE}/a.zip?key=k3y123"
        with pytest.raises(DownloadError) as caught:
            download(output, urls=[address] * 3, attempts=2)
    assert [asked.path for asked in bad.asked] == ["/t0ken0/a.zip"] * 4
    said = f"{caught.value}{caplog.text}"
    assert not [secret for secret in ("t0ken0", "pa55", "word", "k3y123") if secret in said]
    assert f"{bad.url}/…/a.zip?key=…: " in said
    with pytest.raises(DownloadError) as caught:
        download(output, urls=["http://user:pa55@[::bad/a.zip"])
    with FileServer(FILES) as good, caplog.at_level("INFO"):
        download(output, urls=[good.url.replace("//", "//user:pa55@") + "/a.zip"])
    assert good.url in caplog.text
    assert "pa55" not in f"{caught.value}{caplog.text}"


NONSENSE = {
    "no such file": Answer(404),
    "a redirect to a server that is down": Answer(302, headers={"Location": "http://127.0.0.1:1/a.zip"}),
    "a length in letters": Answer(announced="abc"),
    "a negative length": Answer(announced="-1"),
    "another range than was asked for": Answer(content_range="bytes 7-"),
    "redirects forever": Answer(302, headers={"Location": "/a.zip"}),
    "a bad redirect": Answer(302, headers={"Location": "http://[::bad"}),
    "a redirect to a long label": Answer(302, headers={"Location": f"http://{'x' * 70}.example/a.zip"}),
}


@pytest.mark.parametrize("answer", NONSENSE.values(), ids=NONSENSE)
def test_a_server_that_always_answers_nonsense_is_passed_over(output: Path, answer: Answer) -> None:
    with FileServer(FILES, itertools.repeat(answer)) as bad, FileServer(FILES) as good:
        download(output, bad, good, attempts=1)
    assert len(good.asked) == 1
    assert_whole(output)


def test_a_file_of_another_size_is_refused_before_it_is_fetched_and_a_redirect_followed(output: Path) -> None:
    part_of(output, BODY[:HALF])
    redirect = Answer(302, headers={"Location": "/b.zip"})
    with (
        FileServer({"/a.zip": BODY + b"x"}) as longer,
        FileServer({"/a.zip": BODY[:-1]}) as shorter,
        FileServer({"/b.zip": BODY}, [redirect]) as good,
    ):
        download(output, longer, shorter, good)
    assert good.ranges == [f"bytes={HALF}-"] * 2
    assert_whole(output)


def test_an_endless_file_is_cut_at_the_bytes_that_were_expected(output: Path) -> None:
    with FileServer({"/a.zip": OTHER * 10}, itertools.repeat(Answer(announced=""))) as endless:
        with pytest.raises(DownloadError, match=f"sent more than the {len(BODY):,} bytes"):
            download(output, endless)
        assert list(output.parent.iterdir()) == []
        with FileServer(FILES) as good:
            download(output, endless, good)
    assert_whole(output)
