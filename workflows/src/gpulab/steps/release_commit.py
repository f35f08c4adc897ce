"""The commit on a deploy branch that makes an environment run a release."""

from pathlib import Path
from tempfile import TemporaryDirectory

from gpulab.forges.protocol import Forge
from gpulab.rendering.overlays import render_release
from gpulab.steps.release_file import MANIFESTS, RELEASE, Release


def commit_release(forge: Forge, new: Release, branch: str, parent: str | None, message: str) -> str:
    """Render the release's overlay from its source and commit it; the new commit."""
    with TemporaryDirectory() as folder:
        source = Path(folder) / "source"
        forge.checkout(new.source, source)
        manifests = render_release(source, new.environment, new.repository, new.digest)
    files = {MANIFESTS: manifests.encode(), RELEASE: new.to_json()}
    return forge.commit(branch, files, f"{message}\n\nRun: {new.run}\nDigest: {new.digest}\n", parent)
