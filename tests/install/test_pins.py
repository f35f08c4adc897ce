"""`gpulab platform pin`: the digests of an overlay's images, asked of a registry over HTTP."""

import os
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from gpulab.errors import InputError, PlatformError
from gpulab.rendering.documents import read_documents
from gpulab.rendering.kustomize import build
from gpulab.upgrade.pins import images_of, pin, pinned
from typer.testing import CliRunner

from .conftest import GITOPS

DIGEST = f"sha256:{'b' * 64}"


class Answers(BaseHTTPRequestHandler):
    """A registry that has every tag but `gone`."""

    def do_HEAD(self) -> None:
        self.send_response(404 if self.path.endswith("/gone") else 200)
        self.send_header("Docker-Content-Digest", DIGEST)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Be silent."""


@pytest.fixture
def registry() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def overlay(folder: Path, registry: str, steps: str = "0.1.0") -> Path:
    """An own overlay with every image in one registry."""
    folder /= "own"
    folder.mkdir()
    base = os.path.relpath(GITOPS / "overlays" / "production", folder)
    names = {"quay.io/argoproj/workflow-controller": "controller", "quay.io/argoproj/argocli": "argocli"}
    names |= {"quay.io/argoproj/argoexec": "argoexec", "gpulab.local/buildkit": "buildkit"}
    images = "".join(f"  - name: {old}\n    newName: {registry}/{new}\n" for old, new in names.items())
    lane = f"[GPULAB_LANE_CPU={registry}/runtime-cpu:0.1.0]"
    merged = "name: gpulab-platform, namespace: gpulab, behavior: merge, options: {disableNameSuffixHash: true}"
    generator = f"configMapGenerator:\n  - {{{merged}, literals: {lane}}}\n"
    images += f"  - name: gpulab.local/steps\n    newName: {registry}/steps\n    newTag: {steps}\n"
    (folder / "kustomization.yaml").write_text(f"resources:\n  - {base}\nimages:\n{images}{generator}")
    return folder


def test_every_image_of_an_overlay_is_pinned(tmp_path: Path, registry: str) -> None:
    lines = list(pin(overlay(tmp_path, registry), insecure=True))
    found = set(images_of(read_documents(build(tmp_path / "own-pinned", "pinned"))))
    assert len(found) == 6
    assert {image.partition("@")[2] for image in found} == {DIGEST}
    assert f"{registry}/argoexec:v4.0.10-nonroot@{DIGEST}" in found
    assert f"{registry}/controller:v4.0.10@{DIGEST}" in lines


def test_pinning_twice_gives_the_same_bytes(tmp_path: Path, registry: str) -> None:
    list(pin(overlay(tmp_path, registry), insecure=True))
    first = (tmp_path / "own-pinned" / "kustomization.yaml").read_bytes()
    list(pin(tmp_path / "own", insecure=True))
    assert (tmp_path / "own-pinned" / "kustomization.yaml").read_bytes() == first


def test_a_tag_that_does_not_exist_is_the_users_mistake(tmp_path: Path, registry: str) -> None:
    with pytest.raises(InputError, match="steps:gone: the registry has no such tag"):
        list(pin(overlay(tmp_path, registry, steps="gone"), insecure=True))
    assert not (tmp_path / "own-pinned").exists()


def test_a_registry_that_does_not_answer_is_the_platforms_trouble(tmp_path: Path) -> None:
    with pytest.raises(PlatformError, match="cannot be asked"):
        list(pin(overlay(tmp_path, "127.0.0.1:1"), insecure=True))


def test_a_digest_is_left_as_it_is_and_a_placeholder_is_left_out() -> None:
    images = [f"a/b@{DIGEST}", "gpulab.local/steps:0.1.0", "host:5000/x:1.2"]
    assert pinned(images, lambda *asked: DIGEST) == [{"name": "host:5000/x", "newTag": "1.2", "digest": DIGEST}]


def test_a_folder_without_kustomization_is_refused_in_one_line(tmp_path: Path) -> None:
    from gpulab.cli.app import app

    result = CliRunner().invoke(app(["platform"]), ["platform", "pin", "--overlay", str(tmp_path)])
    assert isinstance(result.exception, InputError)
    assert "has no kustomization.yaml" in str(result.exception)
