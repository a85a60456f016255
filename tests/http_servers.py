"""Real HTTP servers on the loopback: they serve files, misbehave when they are told to, and remember what they were asked."""

import hashlib
import json
import socket
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self
from urllib.parse import unquote


@dataclass(frozen=True)
class Answer:
    """The answer to one request; by default that of a good server."""

    status: int = 200  # anything but 200 is sent as it is, without a file
    ranges: bool = True  # whether a Range header is honoured
    cut_after: int | None = None  # bytes of the body after which the connection is closed, although more were announced
    content_range: str | None = None  # sent with status 206 in place of the true one
    announced: str | None = None  # sent as Content-Length in place of the true one; empty: none is sent
    headers: Mapping[str, str] = field(default_factory=dict)  # sent too


class Asked(NamedTuple):
    """A request, and how many bytes of a body it got."""

    method: str
    path: str
    range: str | None
    sent: int


class Server:
    """An HTTP server that runs until the ``with`` block ends; a subclass answers requests of some methods."""

    methods: tuple[str, ...] = ("POST",)

    def __init__(self) -> None:
        methods = {f"do_{method}": lambda request: self.answer(request) for method in self.methods}
        # Head and body are two packets, and the second would wait 40 ms until the first is acknowledged.
        how = {"protocol_version": "HTTP/1.1", "disable_nagle_algorithm": True, "log_message": lambda *_: None}
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (BaseHTTPRequestHandler,), how | methods))
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._http.shutdown()
        self._http.server_close()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        """Answer one request."""
        raise NotImplementedError


def posted(request: BaseHTTPRequestHandler) -> dict[str, Any]:
    """Read the JSON of a request."""
    return json.loads(request.rfile.read(int(request.headers["Content-Length"])))


def send(request: BaseHTTPRequestHandler, content: bytes, status: int = 200) -> None:
    """Answer a request with a content."""
    request.send_response(status)
    request.send_header("Content-Length", str(len(content)))
    request.end_headers()
    request.wfile.write(content)


class FileServer(Server):
    """Serve files from memory until the ``with`` block ends.

    Args:
        files: Contents by path, e.g. ``/a.zip``; any other path is 404.
        answers: How the first requests are answered, in order; those after them as by a good server.
        always: By path, how every GET of it is answered.
        headers: Sent with every answer.
    """

    methods = ("GET", "HEAD")

    def __init__(
        self,
        files: Mapping[str, bytes],
        answers: Iterable[Answer] = (),
        always: Mapping[str, Answer] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__()
        self.files, self.answers, self.always, self.headers = dict(files), iter(answers), always or {}, headers or {}
        self.asked: list[Asked] = []

    @property
    def ranges(self) -> list[str | None]:
        """The Range header of every request so far."""
        return [asked.range for asked in self.asked]

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        path = unquote(request.path.partition("?")[0])
        answer = self.always.get(path) if request.command == "GET" else None
        answer = answer or next(self.answers, Answer())
        asked_range = request.headers.get("Range")
        file = self.files.get(path)
        status, body, headers = self._reply(answer, file, asked_range)
        announced = str(len(body)) if answer.announced is None else answer.announced
        if request.command == "HEAD":
            body = b""
        sent = body if answer.cut_after is None else body[: answer.cut_after]
        self.asked.append(Asked(request.command, path, asked_range, len(sent)))
        request.send_response(status)
        length = {"Content-Length": announced} if announced else {"Connection": "close"}
        for name, value in {**self.headers, **headers, **answer.headers, **length}.items():
            request.send_header(name, value)
        request.end_headers()
        with suppress(ConnectionError):  # who asked may have had enough
            request.wfile.write(sent)
        if len(sent) < len(body):
            request.close_connection = True
            request.connection.shutdown(socket.SHUT_RDWR)

    @staticmethod
    def _reply(answer: Answer, file: bytes | None, asked_range: str | None) -> tuple[int, bytes, dict[str, str]]:
        """Status, body and headers."""
        if answer.status != 200 or file is None:
            return (404 if answer.status == 200 else answer.status), b"", {}
        headers = {"ETag": f'"{hashlib.sha256(file).hexdigest()}"', "Accept-Ranges": "bytes", "Content-Type": _type_of(file)}
        if answer.content_range is not None:
            return 206, file, {**headers, "Content-Range": answer.content_range}
        if asked_range is None or not answer.ranges:
            return 200, file, headers
        start = int(asked_range.removeprefix("bytes=").partition("-")[0])
        if start >= len(file):
            return 416, b"", {"Content-Range": f"bytes */{len(file)}"}
        return 206, file[start:], {**headers, "Content-Range": f"bytes {start}-{len(file) - 1}/{len(file)}"}


def _type_of(file: bytes) -> str:
    return "application/json" if file[:1] in b"[{" else "application/octet-stream"


@contextmanager
def dead_url() -> Iterator[str]:
    """An address that refuses connections: its port is taken, but nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


def hub_files(name: str, revision: str, folder: Path, kind: str = "models") -> dict[str, bytes]:
    """Give the paths that a hub serves for one revision of a model or a dataset: the listing of its files, and the files."""
    files = {file.relative_to(folder).as_posix(): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}
    listing = [
        {"type": "file", "path": path, "size": len(data), "oid": hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()}  # noqa: S324
        for path, data in files.items()
    ]
    about = {"id": name, "sha": revision, "siblings": [{"rfilename": path} for path in files]}
    prefix = "" if kind == "models" else f"/{kind}"
    return {
        **dict.fromkeys((f"/api/{kind}/{name}", f"/api/{kind}/{name}/revision/{revision}"), json.dumps(about).encode()),
        f"/api/{kind}/{name}/tree/{revision}": json.dumps(listing).encode(),
        **{f"{prefix}/{name}/resolve/{revision}/{path}": data for path, data in files.items()},
    }
