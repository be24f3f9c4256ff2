"""Download a file so that it appears whole and verified, or not at all."""

from __future__ import annotations

import hashlib
import io
import re
from pathlib import Path

import pooch
from requests import exceptions


def download(url: str, path: Path, checksum: str, advice: str, *, progress: bool) -> None:
    """Download `url` to `path`, unless the right file is there already.

    The file is received in memory, verified, and only then written, so that a process that is
    killed while it downloads leaves nothing behind. `checksum` is ``sha256:`` and the SHA-256, or
    ``git-blob:`` and the id that git gives to the content. `advice` says what the user can do
    instead, and ends every error message.

    Raises
    ------
    OSError
        If the file cannot be downloaded or not be written.
    ValueError
        If what arrives has another checksum.
    """
    if path.is_file() and _checksum(path.read_bytes(), like=checksum) == checksum:
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        received = io.BytesIO()
        pooch.HTTPDownloader(progressbar=progress, chunk_size=2**16)(url, received, None)
        content = received.getvalue()
        found = _checksum(content, like=checksum)
        if found != checksum:
            page = content.lstrip().startswith(b"<")
            raise ValueError(
                f"What {url} sent is not the published file, it is "
                f"{'a web page' if page else 'a truncated or another file'} of "
                f"{len(content):,} bytes (checksum {found}, expected {checksum}); "
                f"it was not kept. {advice}"
            )
        # Renamed when it is complete. Always the same name: the next download overwrites what a
        # process left that was killed in this moment.
        part = path.with_name(f"{path.name}.part")
        part.write_bytes(content)
        part.replace(path)
    except OSError as error:  # the base class of what requests raises
        if isinstance(error, exceptions.HTTPError) and error.response is not None:
            error.response.close()  # pooch leaves it open
        raise OSError(f"{url} could not be downloaded: {_reason(error)}. {advice}") from error


def cache_folder() -> Path:
    """Return the folder of the user's cache that is ours."""
    return Path(pooch.os_cache("sampled_metrics"))


def _checksum(content: bytes, like: str) -> str:
    """Return the checksum of a file's content, of the same kind as `like`."""
    if like.startswith("sha256:"):
        return f"sha256:{hashlib.sha256(content).hexdigest()}"
    header = b"blob %d\0" % len(content)
    return f"git-blob:{hashlib.sha1(header + content, usedforsecurity=False).hexdigest()}"


def _reason(error: OSError) -> str:
    """Say in plain words why a download failed."""
    if isinstance(error, exceptions.SSLError):
        refused = re.search(r"certificate verify failed: [^(]*[^( ]", str(error))
        return f"the server's TLS certificate was refused ({refused[0] if refused else error})"
    if isinstance(error, exceptions.HTTPError):
        return f"the server answered with an error ({error})"
    if isinstance(error, exceptions.ChunkedEncodingError):
        return f"the connection broke off before the whole file was there ({error})"
    if isinstance(error, exceptions.ConnectionError | exceptions.Timeout):
        return f"no connection to the server; is there a network? ({error})"
    return str(error)
