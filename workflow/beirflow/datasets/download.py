"""Download an archive: from mirrors in order, resuming what is there already, with its digest checked before it gets its name."""

import logging
import os
import time
from collections.abc import Sequence
from pathlib import Path

import requests
import urllib3

from beirflow.files.digests import file_digest
from beirflow.files.disks import written_here
from beirflow.files.errors import DownloadError
from beirflow.files.progress import Progress

logger = logging.getLogger(__name__)

BLOCK_BYTES = 1 << 20
TIMEOUT_SECONDS = (10, 60)
TEMPORARY = {408, 425, 429, 500, 502, 503, 504}
NOT_SATISFIABLE = 416


class _GiveUpError(Exception):
    """This URL will not serve the file, so the next one is tried."""


def download_dataset(*, urls: Sequence[str], md5: str, output_path: str, attempts: int = 6, first_pause: float = 1.0) -> None:
    """Fetch an archive unless it is there already.

    What has arrived is kept in ``<output_path>.part`` until the digest is right, so that the next attempt, or the next run,
    asks for the rest only.

    Args:
        urls: Where to look, in order.
        md5: Digest of the archive.
        output_path: Path of the archive.
        attempts: Attempts for each URL when the connection breaks or the server is busy.
        first_pause: Seconds before the second attempt; each later pause is twice as long.

    Raises:
        DownloadError: No URL serves the archive, or what they serve has another digest.
    """
    output = Path(output_path)
    if output.is_file() and file_digest(output, "md5") == md5:
        logger.info("%s is there already and its md5 is right", output)
        return
    output.parent.mkdir(parents=True, exist_ok=True)
    part = output.with_name(f"{output.name}.part")
    failures = []
    for url in urls:
        try:
            _fetch_verified(url, part, md5, attempts, first_pause)
        except _GiveUpError as error:
            logger.warning("%s: %s", url, error)
            failures.append(f"{url}: {error}")
            continue
        os.replace(part, output)
        logger.info("%s: fetched from %s, md5 %s", output, url, md5)
        return
    todo = f"check the network, name a mirror in 'mirrors', or put the archive there yourself as {output}"
    raise DownloadError("\n  ".join([f"{output.name} could not be downloaded; {todo}", *failures]))


def _fetch_verified(url: str, part: Path, md5: str, attempts: int, first_pause: float) -> None:
    """Complete the partial file and check it; start over once if what was there before was not the beginning of this file."""
    resumed = part.exists()
    _fetch_with_retries(url, part, attempts, first_pause)
    found = file_digest(part, "md5")
    if found == md5:
        return
    part.unlink()
    if resumed:
        logger.warning("%s: what had been downloaded before was not part of this file; starting over", url)
        _fetch_verified(url, part, md5, attempts, first_pause)
    else:
        raise _GiveUpError(f"served a file with md5 {found}, expected {md5}; it was deleted")


def _fetch_with_retries(url: str, part: Path, attempts: int, first_pause: float) -> None:
    """Complete the partial file, trying again after temporary failures with longer and longer pauses."""
    for attempt in range(1, attempts + 1):
        try:
            _fetch(url, part)
            return
        except (requests.ConnectionError, requests.Timeout, urllib3.exceptions.HTTPError) as error:
            if attempt == attempts:
                raise _GiveUpError(f"{attempts} attempts failed, the last with: {error}") from error
            pause = first_pause * 2 ** (attempt - 1)
            logger.warning("%s: %s; attempt %d of %d in %.0f s", url, error, attempt + 1, attempts, pause)
            time.sleep(pause)
        except requests.RequestException as error:
            raise _GiveUpError(f"this address cannot be used: {error}") from error


def _fetch(url: str, part: Path) -> None:
    """Ask for what is missing of the partial file and append it."""
    have = part.stat().st_size if part.exists() else 0
    headers = {"Range": f"bytes={have}-", "Accept-Encoding": "identity"} if have else {"Accept-Encoding": "identity"}
    with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT_SECONDS) as response:
        if have and response.status_code == NOT_SATISFIABLE:
            return
        if response.status_code in TEMPORARY:
            raise requests.ConnectionError(f"HTTP status {response.status_code}")
        if not response.ok:
            raise _GiveUpError(f"HTTP status {response.status_code} {response.reason}")
        resumed = response.status_code == requests.codes.partial_content
        if resumed and not response.headers.get("Content-Range", "").startswith(f"bytes {have}-"):
            part.unlink(missing_ok=True)
            raise requests.ConnectionError("the server sent another range than was asked for")
        have = have if resumed else 0
        length = response.headers.get("Content-Length")
        total = have + int(length) if length else None
        with (
            written_here(part),
            part.open("ab" if resumed else "wb") as stream,
            Progress(f"download {part.stem}", total, "B") as progress,
        ):
            progress.advance(have)
            # read1 hands over what has arrived, so that nothing is lost when the connection breaks.
            while block := response.raw.read1(BLOCK_BYTES):
                stream.write(block)
                progress.advance(len(block))
            stream.flush()
            os.fsync(stream.fileno())
