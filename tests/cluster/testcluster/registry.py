"""Push an image to a plain HTTP registry (the OCI distribution API)."""

from typing import IO

import httpx

from testcluster import oci
from testcluster.errors import PlatformError
from testcluster.layout import NODE_IP, REGISTRY

HOST = f"{NODE_IP}:{REGISTRY}"


def push(name: str, tag: str, layers: list[oci.Layer], settings: oci.Settings) -> str:
    """Send what the registry has not; the answer is `host/name@sha256:…`."""
    config = oci.configuration(layers, settings)
    document = oci.manifest(layers, config)
    with httpx.Client(base_url=f"http://{HOST}", timeout=600, trust_env=False) as client:
        for layer in layers:
            with layer.file.open("rb") as content:
                _upload(client, name, layer.digest, content, layer.size)
        _upload(client, name, oci.digest(config), config, len(config))
        manifest = f"/v2/{name}/manifests/{tag}"
        _checked(client.put(manifest, content=document, headers={"Content-Type": oci.MANIFEST}))
    return f"{HOST}/{name}@{oci.digest(document)}"


def _upload(client: httpx.Client, name: str, digest: str, content: bytes | IO[bytes], size: int) -> None:
    if client.head(f"/v2/{name}/blobs/{digest}").status_code == 200:
        return
    place = httpx.URL(_checked(client.post(f"/v2/{name}/blobs/uploads/")).headers["Location"])
    headers = {"Content-Type": "application/octet-stream", "Content-Length": str(size)}
    _checked(client.put(place.copy_add_param("digest", digest), content=content, headers=headers))


def _checked(answer: httpx.Response) -> httpx.Response:
    if answer.is_success:
        return answer
    raise PlatformError(f"registry: {answer.request.method} {answer.url}: {answer.status_code} {answer.text[:300]}")
