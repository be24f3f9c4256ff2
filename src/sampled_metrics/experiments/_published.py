"""Files of a publisher: found in a folder of the user's, or downloaded by checksum."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sampled_metrics._arguments import as_flag, as_path, shown

FOLDER_VARIABLE = "SAMPLED_METRICS_DATA"


@dataclass(frozen=True)
class Published:
    """The files of a data set at one address.

    `checksums` has the checksum of each file (see `download`), and `choices` the names that a local
    copy of each may have, the first that is there being taken.
    """

    address: str
    checksums: Mapping[str, str]
    choices: Sequence[tuple[str, ...]]

    def get(
        self, folder: str | os.PathLike[str] | None, base_url: str | None, *, progress: bool
    ) -> list[Path]:
        """Return the paths of the files in `folder` or in the user's cache, in their order."""
        show = as_flag("progress", progress)
        if base_url is not None and not isinstance(base_url, str):
            raise ValueError(f"base_url is {shown(base_url)}; base_url must be an address")
        local = folder if folder is not None else os.environ.get(FOLDER_VARIABLE) or None
        if local is not None:
            return self._find(as_path("folder", local, "folder").expanduser())
        return [
            self._download(name, base_url or self.address, progress=show) for name in self.checksums
        ]

    def _find(self, folder: Path) -> list[Path]:
        if not folder.is_dir():
            raise FileNotFoundError(f"{folder} is not a folder; it should hold {self._files}")
        paths = []
        for names in self.choices:
            there = [folder / name for name in names if (folder / name).is_file()]
            if not there:
                missing = " or ".join(names)
                raise FileNotFoundError(f"{folder} has no {missing}; get it from {self.address}")
            paths.append(there[0])
        return paths

    def _download(self, name: str, base_url: str, *, progress: bool) -> Path:
        # Imported here: slow, and needed only by those who download.
        from sampled_metrics.experiments._download import cache_folder, download

        path = cache_folder() / name
        by_hand = (
            f"To do it by hand, get {self.address}{name} and save it as {path}; or save "
            f"{self._files} in a folder of your own, and pass folder=... or set the "
            f"environment variable {FOLDER_VARIABLE} to it."
        )
        url = f"{base_url.rstrip('/')}/{name}"
        download(url, path, self.checksums[name], by_hand, progress=progress)
        return path

    @property
    def _files(self) -> str:
        return " and ".join(self.checksums)


def check_counts(
    paths: Sequence[Path], found: Mapping[str, int], expected: Mapping[str, int]
) -> None:
    """Refuse files that have not as many events, users or items as the published ones."""
    for name, count in expected.items():
        if found[name] != count:
            where = " and ".join(map(str, paths))
            raise ValueError(f"{where}: {found[name]:,} {name} found, {count:,} expected")
