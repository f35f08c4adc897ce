"""The layers of images with Python: a Debian with PyTorch for CPUs, packages of the lock file, our own code."""

import configparser
import shutil
from dataclasses import dataclass
from pathlib import Path

from testcluster import oci, requirements
from testcluster.rootfs import debian, kept, key, run
from testcluster.versions import ImageBase

USER = 10001  # as in images/: the environment belongs to the user who runs in it
VENV = "opt/venv"


@dataclass(frozen=True)
class Workshop:
    """Where layers are made and kept."""

    base: ImageBase
    folder: Path  # of the cache

    @property
    def site(self) -> str:
        """The environment's packages, relative to the image's root."""
        return f"{VENV}/lib/python{self.base.python}/site-packages"

    @property
    def root(self) -> Path:
        """The Debian that the layers stand on."""
        made_of = (self.base.suite, self.base.mirror, self.base.python, self.base.packages)
        return self.folder / f"debian-{key(repr(made_of).encode())}"

    def debian(self) -> oci.Layer:
        """Debian's Python, NumPy and PyTorch for CPUs, with an empty environment above them."""
        return kept(self.folder, self.root.name, self._debian)

    def packages(self, name: str, files: tuple[Path, ...]) -> oci.Layer:
        """What `files` (requirements or pyproject.toml) ask for, in the versions of the lock file."""
        lock = requirements.LOCK.read_bytes()
        identity = key(self.root.name.encode(), lock, *(file.read_bytes() for file in files))
        words = [word for file in files for word in ("--requirements", str(file))]
        return kept(self.folder, f"{name}-{identity}", lambda file: self._install(words, file))

    def code(self, name: str, projects: tuple[Path, ...]) -> oci.Layer:
        """Our own packages, without what they depend on: a change of code costs seconds."""
        identity = key(self.root.name.encode(), *(requirements.tree(project) for project in projects))
        words = ["--no-deps", *(str(project) for project in projects)]
        return kept(self.folder, f"{name}-{identity}", lambda file: self._install(words, file))

    def _debian(self, file: Path) -> None:
        if not (self.root / VENV).exists():
            debian(self.base, self.base.packages, self.root)
            run("chroot", str(self.root), "python3", "-m", "venv", "--system-site-packages", f"/{VENV}")
            run("chroot", str(self.root), "chown", "-R", f"{USER}:{USER}", f"/{VENV}")
        shutil.rmtree(self.root / "build", ignore_errors=True)
        oci.pack(self.root, file, lambda _: None)

    def _install(self, words: list[str], file: Path) -> None:
        """Install into a folder of the Debian, so that its own Python can compile what was installed."""
        self.debian()
        work = self.root / "build"
        shutil.rmtree(work, ignore_errors=True)
        target = work / self.site
        run(*requirements.install_line(self.base, target, work, words))
        for trace in target.glob("*.dist-info/direct_url.json"):
            trace.unlink()
        (target / "bin").mkdir(exist_ok=True)
        (target / "bin").rename(work / VENV / "bin")
        _launchers(target, work / VENV / "bin")
        compiled = ["-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash"]
        run("chroot", str(self.root), "python3", *compiled, "-s", "/build", "-p", "/", f"/build/{self.site}")
        for name in ("constraints.txt", "excludes.txt"):
            (work / name).unlink()
        oci.pack(work, file, lambda path: USER if path.startswith(VENV) else 0)
        shutil.rmtree(work)


def launcher(place: str) -> str:
    """A command for an entry point `module:function`."""
    module, _, function = place.partition(":")
    return f"#!/{VENV}/bin/python3\nimport sys\nfrom {module} import {function}\nsys.exit({function}())\n"


def _launchers(site: Path, folder: Path) -> None:
    """The packages' commands with the image's interpreter, not with that of the machine that installed them."""
    for file in sorted(site.glob("*.dist-info/entry_points.txt")):
        found = configparser.ConfigParser(delimiters=("=",))
        found.optionxform = str  # type: ignore[assignment,method-assign]
        found.read_string(file.read_text())
        for name, place in found.items("console_scripts") if found.has_section("console_scripts") else []:
            (folder / name).write_text(launcher(place.split("[")[0].strip()))
            (folder / name).chmod(0o755)
