"""Download an archive: from mirrors in order, resuming partial files, and renamed once its digest is checked."""

import logging
import os
import re
import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import requests
import urllib3

from beirflow.core.addresses import keep_secrets_of, shown, with_variables, without_credentials
from beirflow.core.digests import file_digest
from beirflow.core.disks import written_here
from beirflow.core.errors import DownloadError, cause_of
from beirflow.core.progress import Progress

logger = logging.getLogger(__name__)

BLOCK_BYTES = 1 << 20
ATTEMPTS = 6  # at each address that bring nothing, when the connection breaks or the server is busy
FIRST_PAUSE = 1.0  # seconds before the second of them; then twice as long each time
TIMEOUT_SECONDS = (10, 60)
TEMPORARY = {408, 425, 429, 500, 502, 503, 504}


class _GiveUpError(Exception):
    """This URL will not serve the file, so the next one is tried."""


def download_dataset(*, urls: Sequence[str], md5: str, size: int, output_path: str) -> None:
    """Fetch an archive from the first of some addresses that serves it, unless it is there already.

    What has arrived is kept in ``<output_path>.part`` until the digest is right, so that the next attempt, or the next run, asks
    for the rest only. No more is kept than the archive has bytes. A complete file in that place, which users may put there, needs
    no network; ``output_path`` is no such place, because Snakemake removes the output of a failed job. Raises DownloadError if no
    address serves the archive, or what they serve has another digest.
    """
    output = Path(output_path)
    if output.is_file() and file_digest(output, "md5") == md5:
        logger.info("%s exists and its md5 is right", output)
        return
    output.parent.mkdir(parents=True, exist_ok=True)
    part = output.with_name(f"{output.name}.part")
    if part.is_dir():
        raise DownloadError(f"{part}: a folder is in the place of the partial download; remove it and run again")
    if part.is_file() and part.stat().st_size == size and file_digest(part, "md5") == md5:
        os.replace(part, output)
        logger.info("%s: %s was complete, md5 %s", output, part, md5)
        return
    failures = []
    for url in map(with_variables, urls):
        keep_secrets_of(url)
        place = shown(url)
        try:
            _Download(url, part, md5, size).fetch()
        except _GiveUpError as error:
            failures.append(f"{place}: {without_credentials(str(error))}")
            logger.warning("%s", failures[-1])
            continue
        os.replace(part, output)
        logger.info("%s: fetched from %s, md5 %s", output, place, md5)
        return
    todo = f"check the network, name a mirror in 'mirrors', or get it ({size:,} bytes, md5 {md5}) in another way and place it:"
    copy = f"mkdir -p {shlex.quote(str(part.parent))} && cp {output.name} {shlex.quote(str(part))}"
    if part.is_file():
        state = f"{part} has {part.stat().st_size:,} bytes, md5 {file_digest(part, 'md5')}"
        other = "to use another copy of the dataset, unpack it and name its folder in 'data_dir'"
        failures.insert(0, f"{state}: the beginning of the archive, or another file; {other}")
    raise DownloadError("\n  ".join([f"{output.name} could not be downloaded; {todo}", copy, *failures]))


@dataclass(frozen=True)
class _Download:
    """An archive from one address."""

    url: str
    part: Path
    md5: str
    size: int

    def fetch(self) -> None:
        """Complete the partial file and check it; start over once if what was there before was not the beginning of this file."""
        resumed = self._bytes_here() > 0
        self._fetch_with_retries()
        md5 = file_digest(self.part, "md5")
        if md5 == self.md5:
            return
        self.part.unlink()
        if not resumed:
            raise _GiveUpError(f"served a file with md5 {md5}, expected {self.md5}; it was deleted")
        logger.warning("%s: the partial download was not part of this file; starting over", self.part)
        self.fetch()

    def _bytes_here(self) -> int:
        """Return the number of bytes that are here already; remove them if they are more than there can be."""
        have = self.part.stat().st_size if self.part.exists() else 0
        if have > self.size:
            logger.warning("%s has %s bytes, the archive %s; it was removed", self.part, f"{have:,}", f"{self.size:,}")
            self.part.unlink()
        return have if have <= self.size else 0

    def _fetch_with_retries(self) -> None:
        """Complete the partial file, trying again after temporary failures, with longer and longer pauses while nothing comes."""
        most, failed = self._bytes_here(), 0
        while True:
            try:
                return self._fetch()
            except (requests.ConnectionError, requests.Timeout, urllib3.exceptions.HTTPError) as error:
                have = self._bytes_here()
                failed = 1 if have > most else failed + 1
                most = max(have, most)
                if failed >= ATTEMPTS:
                    raise _GiveUpError(f"{failed} attempts failed, the last: {cause_of(error)}") from error
                pause = FIRST_PAUSE * 2 ** (failed - 1)
                problem = f"{shown(self.url)}: {without_credentials(cause_of(error))}"
                # The terminal shows one line of the attempts, the log all.
                level = logging.WARNING if failed == 1 else logging.INFO
                logger.log(level, "%s; attempt %d of %d in %.0f s", problem, failed + 1, ATTEMPTS, pause)
                time.sleep(pause)
            except (requests.RequestException, ValueError) as error:  # requests lets some addresses of redirects through
                raise _GiveUpError(f"this address cannot be used: {error}") from error

    def _fetch(self) -> None:
        """Ask for what is missing of the partial file and append it."""
        have = self._bytes_here()
        # Without compression on the way, in which ranges would count other bytes.
        headers = {"Accept-Encoding": "identity", **({"Range": f"bytes={have}-"} if have else {})}
        with requests.get(self.url, headers=headers, stream=True, timeout=TIMEOUT_SECONDS) as response:
            # Nothing is missing; the digest decides whether it is the right file.
            if have and response.status_code == requests.codes.requested_range_not_satisfiable:
                return
            if response.status_code in TEMPORARY:
                raise requests.ConnectionError(f"HTTP status {response.status_code}")
            if not response.ok:
                raise _GiveUpError(f"HTTP status {response.status_code} {response.reason}")
            resumed = response.status_code == requests.codes.partial_content
            if resumed and not response.headers.get("Content-Range", "").startswith(f"bytes {have}-"):
                self.part.unlink(missing_ok=True)
                raise requests.ConnectionError("the server sent another range than was asked for")
            have = have if resumed else 0
            length = response.headers.get("Content-Length", str(self.size - have))
            if not re.fullmatch("[0-9]+", length):
                raise _GiveUpError(f"the server announced {length!r} bytes, which is not a number")
            if have + int(length) != self.size:
                raise _GiveUpError(f"the server has a file of {have + int(length):,} bytes, expected {self.size:,}")
            self._append(response, have)

    def _append(self, response: requests.Response, have: int) -> None:
        """Write what arrives, which may be endless."""
        with (
            written_here(self.part),
            self.part.open("ab" if have else "wb") as stream,
            Progress(f"download {self.part.stem}", self.size, "B") as progress,
        ):
            progress.advance(have)
            # read1 hands over what has arrived, so that nothing is lost when the connection breaks.
            while have <= self.size and (block := response.raw.read1(BLOCK_BYTES)):
                stream.write(block)
                have += len(block)
                progress.advance(len(block))
            stream.flush()
            os.fsync(stream.fileno())
        if have > self.size:
            self.part.unlink()
            raise _GiveUpError(f"the server sent more than the {self.size:,} bytes that were expected; they were deleted")
