"""Download a file so that it appears whole and verified, or not at all."""

from __future__ import annotations

import hashlib
import re
import tempfile
from pathlib import Path

import pooch  # type: ignore[import-untyped]
from requests import exceptions


def verified_download(
    url: str, path: Path, checksum: str, advice: str, progress: bool = True
) -> Path:
    """Download `url` to `path`, unless the right file is there already.

    Parameters
    ----------
    url : str
        Address of the file.
    path : path
        Where to put it. The right file is left as it is, another one is replaced.
    checksum : str
        ``sha256:`` and the SHA-256, or ``git-blob:`` and the id that git gives to the content.
    advice : str
        What the user can do instead; ends every error message.
    progress : bool
        Whether to show a progress bar.

    Returns
    -------
    pathlib.Path
        `path`.

    Raises
    ------
    OSError
        If the file cannot be downloaded, or not be written.
    ValueError
        If what arrives has another checksum.
    """
    if path.is_file() and _checksum(path, like=checksum) == checksum:
        return path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Beside the destination, so that moving is atomic; removed whatever happens.
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            arrived = Path(folder, path.name)
            pooch.HTTPDownloader(progressbar=progress, chunk_size=2**16)(url, str(arrived), None)
            found = _checksum(arrived, like=checksum)
            if found != checksum:
                page = arrived.read_bytes().lstrip().startswith(b"<")
                raise ValueError(
                    f"What {url} sent is not the published file but "
                    f"{'a web page' if page else 'a truncated or another file'} of "
                    f"{arrived.stat().st_size:,} bytes (checksum {found}, expected {checksum}); "
                    f"it was not kept. {advice}"
                )
            arrived.replace(path)
    except OSError as error:  # the base class of what requests raises
        if isinstance(error, exceptions.HTTPError) and error.response is not None:
            error.response.close()  # pooch leaves it open
        raise OSError(f"{url} could not be downloaded: {_reason(error)}. {advice}") from error
    return path


def cache_folder() -> Path:
    """Return the folder of the user's cache that is ours."""
    return Path(pooch.os_cache("sampled_metrics"))


def _checksum(path: Path, like: str) -> str:
    """Return the checksum of a file, of the same kind as `like`."""
    content = path.read_bytes()
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
