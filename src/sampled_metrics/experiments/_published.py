"""Files of a publisher: found in a folder of the user's, or downloaded once by pooch."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from sampled_metrics._arguments import as_flag, as_path, shown

FOLDER_VARIABLE = "SAMPLED_METRICS_DATA"


def published_files(
    address: str,
    checksums: Mapping[str, str],
    folder: str | os.PathLike[str] | None = None,
    base_url: str | None = None,
    *,
    progress: bool = True,
    unpacked: Sequence[str] = (),
) -> list[Path]:
    """Return the paths of a data set's files, in the order of `checksums`.

    A local copy of a file may be packed (``.gz``), or be called as one of `unpacked`; pooch never
    gets that folder, as it would replace a copy with another checksum. The checksums are as pooch
    has them, or ``git-blob:`` and the id that git gives to the content.
    """
    show = as_flag("progress", progress)
    if base_url is not None and not isinstance(base_url, str):
        raise ValueError(f"base_url is {shown(base_url)}; base_url must be an address")
    local = folder if folder is not None else os.environ.get(FOLDER_VARIABLE) or None
    if local is not None:
        here = as_path("folder", local, "folder").expanduser()
        return [_find(here, [*unpacked, name, f"{name}.gz"], address) for name in checksums]

    import pooch  # here, as it is slow and needed only by those who download

    known = {x: None if code.startswith("git-blob") else code for x, code in checksums.items()}
    files = pooch.create(pooch.os_cache("sampled_metrics"), base_url or address, registry=known)
    try:
        for name in checksums:
            path = Path(files.fetch(name, progressbar=show))
            if known[name] is None and _git_blob(path) != checksums[name]:
                path.unlink()
                raise ValueError(f"not {checksums[name]}, the published file; it was removed")
    except (OSError, ValueError) as error:
        raise OSError(
            f"{files.get_url(name)} could not be downloaded: {error}. To do it by hand, get "
            f"{address}{name} and save it as {files.abspath / name}; or save "
            f"{' and '.join(checksums)} in a folder of your own, and pass folder=... or set "
            f"the environment variable {FOLDER_VARIABLE} to it."
        ) from error
    return [files.abspath / name for name in checksums]


def _git_blob(path: Path) -> str:
    content = path.read_bytes()
    header = b"blob %d\0" % len(content)
    return f"git-blob:{hashlib.sha1(header + content, usedforsecurity=False).hexdigest()}"


def _find(folder: Path, names: Sequence[str], address: str) -> Path:
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder} is not a folder; it should hold {names[0]}")
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise FileNotFoundError(f"{folder} has no {' or '.join(names)}; get it from {address}")


def check_counts(
    paths: Sequence[Path], found: Mapping[str, int], expected: Mapping[str, int]
) -> None:
    """Refuse files that have not as many events, users or items as the published ones."""
    for name, count in expected.items():
        if found[name] != count:
            where = " and ".join(map(str, paths))
            raise ValueError(f"{where}: {found[name]:,} {name} found, {count:,} expected")
