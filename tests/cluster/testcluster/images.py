"""The images that the cluster's registry starts with: which layers each has, and how they get there."""

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from testcluster import oci, registry, requirements
from testcluster.pythonimages import USER, VENV, Workshop
from testcluster.rootfs import debian, kept, key, run
from testcluster.versions import ImageBase, Versions

NOBODY = "8737:8737"  # Argo's own images run as this user
PYTHON = oci.Settings(
    user=f"{USER}:{USER}",
    environment=(
        ("PATH", f"/{VENV}/bin:{oci.PATH}"),
        ("PYTHONUNBUFFERED", "1"),
        ("PYTHONDONTWRITEBYTECODE", "1"),
    ),
)
BUILD_PROGRAMS = tuple(sorted((requirements.REPOSITORY / "images" / "buildkit").glob("gpulab-*")))
PAUSE_SOURCE = Path(__file__).with_name("pause.c")
Program = Callable[[str], Path]


@dataclass(frozen=True)
class Image:
    """An image that is ready to be pushed."""

    name: str
    layers: list[oci.Layer]
    settings: oci.Settings


def make(versions: Versions, tools: Path, program: Program) -> list[Image]:
    """Every image, its layers from the cache or made now (the first Debian takes minutes)."""
    folder = tools / "images"
    folder.mkdir(parents=True, exist_ok=True)
    shop = Workshop(versions.image, folder)
    static = [
        Image(name, [_programs(folder, name, {f"bin/{name}": program(name)})], oci.Settings(NOBODY, (name,)))
        for name in ("argoexec", "workflow-controller", "argo")
    ]
    below = shop.debian()
    python = [
        Image("runtime-cpu", [below, shop.packages("runtime", requirements.RUNTIME)], PYTHON),
        Image("steps", [below, shop.packages("steps", requirements.STEPS), _code(shop)], PYTHON),
    ]
    return [_pause(folder), *static, *python, _buildkit(versions.image, folder, program)]


def estimate(versions: Versions, tools: Path) -> int:
    """Seconds that `make` takes: minutes for a new Debian, else little."""
    return 60 if Workshop(versions.image, tools / "images").root.with_suffix(".tar").exists() else 600


def push(images: list[Image]) -> dict[str, str]:
    """Send them to the registry; the answer has each image's reference by digest."""
    return {image.name: registry.push(f"gpulab/{image.name}", "1", image.layers, image.settings) for image in images}


def _code(shop: Workshop) -> oci.Layer:
    return shop.code("gpulab", requirements.OURS)


def _buildkit(base: ImageBase, folder: Path, program: Program) -> Image:
    """BuildKit as an ordinary user, with the platform's two programs of images/buildkit."""
    below = kept(folder, f"builder-{key(repr((base.suite, base.builder)).encode())}", lambda file: _builder(base, file))
    built = {f"usr/bin/{name}": program(name) for name in ("buildctl", "buildkitd")}
    return Image("buildkit", [below, _programs(folder, "buildkit", built, BUILD_PROGRAMS)], oci.Settings("1000:1000"))


def _builder(base: ImageBase, file: Path) -> None:
    with tempfile.TemporaryDirectory(dir=file.parent) as made:
        root = Path(made, "root")
        debian(base, base.builder, root)
        run("chroot", str(root), "useradd", "--uid", "1000", "--create-home", "user")
        for name in ("subuid", "subgid"):
            (root / "etc" / name).write_text("user:100000:65536\n")
        oci.pack(root, file, lambda _: None)


def _programs(folder: Path, name: str, built: dict[str, Path], ours: tuple[Path, ...] = ()) -> oci.Layer:
    """Some programs, and a /tmp; a built program's path has its cache key, ours are told apart by content."""
    identity = key(repr(sorted(built.items())).encode(), *(file.read_bytes() for file in ours))
    files = {**built, **{f"usr/local/bin/{file.name}": file for file in ours}}
    return kept(folder, f"{name}-{identity}", lambda out: _pack_programs(files, out))


def _pack_programs(files: dict[str, Path], out: Path) -> None:
    with tempfile.TemporaryDirectory(dir=out.parent) as made:
        root = Path(made)
        (root / "tmp").mkdir()
        (root / "tmp").chmod(0o1777)
        for place, file in files.items():
            (root / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, root / place)
            (root / place).chmod(0o755)
        oci.pack(root, out)


def _pause(folder: Path) -> Image:
    layer = kept(folder, f"pause-{key(PAUSE_SOURCE.read_bytes())}", _compile_pause)
    return Image("pause", [layer], oci.Settings("65535:65535", ("/pause",)))


def _compile_pause(file: Path) -> None:
    with tempfile.TemporaryDirectory(dir=file.parent) as made:
        run("gcc", "-Os", "-static", "-o", f"{made}/pause", str(PAUSE_SOURCE))
        oci.pack(Path(made), file)
