"""What the local engine runs when a pod names `name@sha256:…`: the image's files from the project's OCI layout."""

from collections.abc import Callable, Mapping
from pathlib import Path

from gpulab.engines.local.images import LocalImage
from gpulab.errors import PlatformError
from gpulab.home import Home
from gpulab.images.layout import Layout
from gpulab.images.unpack import environment, unpack, working_directory


def resolver(settings: Mapping[str, str]) -> Callable[[str], LocalImage]:
    """The resolver over the image store of `settings["home"]`."""
    home = Home(Path(settings["home"]))
    layout = Layout(home.images)

    def resolve(image: str) -> LocalImage:
        digest = image.rsplit("@", 1)[-1]
        try:
            root = unpack(layout, digest, home.unpacked(digest))
            return LocalImage(root, working_directory(layout, digest), environment(layout, digest))
        except PlatformError as error:
            raise LookupError(str(error)) from None

    return resolve
