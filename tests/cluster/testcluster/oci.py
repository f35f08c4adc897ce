"""OCI images as bytes: layers, configuration and manifest. The same files give the same digest."""

import hashlib
import json
import os
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

LAYER = "application/vnd.oci.image.layer.v1.tar"  # not compressed: it never leaves the machine
CONFIG = "application/vnd.oci.image.config.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True)
class Layer:
    """A layer's file and what identifies it."""

    file: Path
    digest: str
    size: int


@dataclass(frozen=True)
class Settings:
    """How a container of the image starts when nothing else is said."""

    user: str = "0:0"
    entrypoint: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()


def configuration(layers: list[Layer], settings: Settings) -> bytes:
    """The image's configuration."""
    variables = {"PATH": PATH, **dict(settings.environment)}
    started = {
        "User": settings.user,
        "Env": [f"{name}={value}" for name, value in variables.items()],
        "Entrypoint": list(settings.entrypoint) or None,
    }
    filled = {key: value for key, value in started.items() if value}
    roots = {"type": "layers", "diff_ids": [layer.digest for layer in layers]}
    return _json({"architecture": "amd64", "os": "linux", "config": filled, "rootfs": roots})


def manifest(layers: list[Layer], config: bytes) -> bytes:
    """The manifest; its digest is the image's."""
    listed = [{"mediaType": LAYER, "digest": layer.digest, "size": layer.size} for layer in layers]
    described = {"mediaType": CONFIG, "digest": digest(config), "size": len(config)}
    return _json({"schemaVersion": 2, "mediaType": MANIFEST, "config": described, "layers": listed})


def digest(data: bytes) -> str:
    """As OCI writes it."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def pack(root: Path, file: Path, owner: Callable[[str], int | None] = lambda _: 0, prefix: str = "") -> Layer:
    """A folder as a layer: sorted, without times; `owner` gives a path's user, or None to keep the file's own."""
    fresh = file.with_name(f".{file.name}.new")
    fresh.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(fresh, "w", format=tarfile.PAX_FORMAT) as archive:
        for path in _sorted(root):
            name = prefix + str(path.relative_to(root))
            entry = archive.gettarinfo(path, name)
            if entry is None:  # a socket
                continue
            entry.mtime, entry.uname, entry.gname = 0, "", ""
            user = owner(name)
            if user is not None:
                entry.uid = entry.gid = user
            if entry.isreg():
                with path.open("rb") as content:
                    archive.addfile(entry, content)
            else:
                archive.addfile(entry)
    fresh.replace(file)
    return measured(file)


def measured(file: Path) -> Layer:
    """A layer's digest and size, read from its file."""
    with file.open("rb") as content:
        return Layer(file, f"sha256:{hashlib.file_digest(content, 'sha256').hexdigest()}", file.stat().st_size)


def _sorted(root: Path) -> list[Path]:
    found = []
    for folder, folders, files in os.walk(root):
        found += [Path(folder, name) for name in (*folders, *files)]
    return sorted(found)


def _json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
