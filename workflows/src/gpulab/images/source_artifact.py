"""The local engine's image: the files of a commit in an OCI layout, with a real digest.

It is called a *source artifact* because it has no base layers: the machine's own Python stands in for them, so it is
never claimed to be the image that production pulls.
"""

import io
import tarfile
from dataclasses import dataclass
from pathlib import Path

from gpulab.images.layout import Layout
from gpulab.images.protocol import BuildRequest, BuiltImage

WORKDIR = "/app"
CONFIG = {
    "architecture": "amd64",
    "os": "linux",
    "config": {
        "Env": [f"PYTHONPATH={WORKDIR}/src"],
        "WorkingDir": WORKDIR,
        "Labels": {"gpulab.kind": "source artifact"},
    },
    "history": [{"created": "1970-01-01T00:00:00Z", "comment": "the files of a commit"}],
}


@dataclass(frozen=True)
class SourceArtifactBuilder:
    """Packs a commit's tree; see `ImageBuilder`."""

    layout: Layout

    def build(self, request: BuildRequest) -> BuiltImage:
        """Pack the folder `request.source`; the same files give the same digest on any machine."""
        digest = self.layout.put_image(pack(request.source), CONFIG, request.repository)
        return BuiltImage(request.repository, digest, "source artifact")

    def has(self, digest: str) -> bool:
        """See `ImageBuilder.has`."""
        return self.layout.blob(digest).is_file()


def pack(source: Path) -> bytes:
    """A tar of a folder under `app/`, without owners or times."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path in sorted(source.rglob("*"), key=lambda one: one.relative_to(source).as_posix()):
            tar.addfile(*_member(path, source))
    return out.getvalue()


def _member(path: Path, source: Path) -> tuple[tarfile.TarInfo, io.BytesIO | None]:
    member = tarfile.TarInfo(f"{WORKDIR[1:]}/{path.relative_to(source).as_posix()}")
    if path.is_symlink():
        member.type, member.linkname, member.mode = tarfile.SYMTYPE, str(path.readlink()), 0o777
        return member, None
    if path.is_dir():
        member.type, member.mode = tarfile.DIRTYPE, 0o755
        return member, None
    data = path.read_bytes()
    member.size = len(data)
    member.mode = 0o755 if path.stat().st_mode & 0o100 else 0o644
    return member, io.BytesIO(data)
