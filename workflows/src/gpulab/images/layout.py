"""An OCI image layout on disk: blobs by digest and an index.

See https://github.com/opencontainers/image-spec/blob/main/image-layout.md. Every byte is derived from the content, so
two people who build the same commit get the same digest.
"""

import hashlib
import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpulab.errors import PlatformError
from gpulab.files import locked, read_json, write_json
from gpulab.system import SYSTEM

LAYER = "application/vnd.oci.image.layer.v1.tar"
CONFIG = "application/vnd.oci.image.config.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"


def digest_of(data: bytes) -> str:
    """`sha256:…` of some bytes."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def canonical(document: Any) -> bytes:
    """JSON with one possible spelling."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


@dataclass(frozen=True)
class Layout:
    """One layout that holds all images of a project."""

    root: Path

    def blob(self, digest: str) -> Path:
        """Where a blob lies."""
        return self.root / "blobs" / "sha256" / digest.removeprefix("sha256:")

    def put(self, data: bytes, media_type: str) -> dict[str, Any]:
        """Keep a blob; its descriptor."""
        digest = digest_of(data)
        path = self.blob(digest)
        if not path.is_file():
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=path.parent)
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            SYSTEM.replace(Path(temporary), path)
        return {"mediaType": media_type, "digest": digest, "size": len(data)}

    def get(self, digest: str) -> bytes:
        """The bytes of a blob, checked against their digest.

        Raises:
            PlatformError: it is missing or damaged.
        """
        try:
            data = self.blob(digest).read_bytes()
        except OSError:
            raise PlatformError(f"the image store has no {digest}. Build it again: `gpulab run`.") from None
        if digest_of(data) != digest:
            raise PlatformError(
                f"{digest} in the image store is damaged. Delete {self.blob(digest)}, then `gpulab run`."
            )
        return data

    def put_image(self, layer: bytes, config: dict[str, Any], repository: str) -> str:
        """Keep a one-layer image; its digest."""
        document = config | {"rootfs": {"type": "layers", "diff_ids": [digest_of(layer)]}}
        manifest = {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": self.put(canonical(document), CONFIG),
            "layers": [self.put(layer, LAYER)],
        }
        descriptor = self.put(canonical(manifest), MANIFEST)
        descriptor["annotations"] = {"org.opencontainers.image.ref.name": repository}
        self._index(descriptor)
        return str(descriptor["digest"])

    def _index(self, descriptor: dict[str, Any]) -> None:
        with locked(self.root):
            path = self.root / "index.json"
            index = read_json(path, default={"schemaVersion": 2, "mediaType": INDEX, "manifests": []})
            others = [one for one in index["manifests"] if one["digest"] != descriptor["digest"]]
            index["manifests"] = sorted([*others, descriptor], key=lambda one: str(one["digest"]))
            write_json(path, index)
            (self.root / "oci-layout").write_text('{"imageLayoutVersion":"1.0.0"}', encoding="utf-8")

    def manifest(self, digest: str) -> dict[str, Any]:
        """The manifest of an image."""
        document: dict[str, Any] = json.loads(self.get(digest))
        return document

    def config(self, digest: str) -> dict[str, Any]:
        """The configuration of an image: `Env`, `WorkingDir`, `Cmd`."""
        document: dict[str, Any] = json.loads(self.get(self.manifest(digest)["config"]["digest"]))
        return document
