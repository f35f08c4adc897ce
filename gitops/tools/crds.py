"""Write Argo's CustomResourceDefinitions to `gitops/crds`, from the module that `gitops/crds/source.toml` pins.

The Go module proxy serves what GitHub serves (GOPROXY names another; GOMODCACHE is looked into first), and the module's
sum is that of the public checksum database, so that a file changed on the way is refused. Texts are left out: with
them the eight files weigh 11 MB, and more than the 1.5 MB that etcd takes of one object is near.

See https://go.dev/ref/mod#goproxy-protocol and https://go.dev/ref/mod#go-sum-files.
"""

import argparse
import base64
import hashlib
import io
import json
import os
import sys
import tomllib
import urllib.request
import zipfile
from pathlib import Path
from typing import Any

import yaml

CRDS = Path(__file__).parents[1] / "crds"
PROXY = "https://proxy.golang.org"
Source = dict[str, str]


def archive(source: Source) -> bytes:
    """The module's zip, from the cache of Go or its proxy."""
    path = f"{source['module']}/@v/{source['version']}.zip"
    cached = Path(os.environ.get("GOMODCACHE", Path.home() / "go/pkg/mod")) / "cache/download" / path
    if cached.is_file():
        return cached.read_bytes()
    proxy = os.environ.get("GOPROXY", PROXY).replace("|", ",").split(",")[0]
    with urllib.request.urlopen(f"{proxy}/{path}", timeout=120) as answer:  # noqa: S310  the user's own proxy
        data: bytes = answer.read()
    return data


def module_sum(data: bytes) -> str:
    """Go's `h1:` hash of a module's zip: the hash of the sorted list of its files' hashes."""
    with zipfile.ZipFile(io.BytesIO(data)) as opened:
        hashes = {name: hashlib.sha256(opened.read(name)).hexdigest() for name in opened.namelist()}
    lines = "".join(f"{hashes[name]}  {name}\n" for name in sorted(hashes))
    return "h1:" + base64.b64encode(hashlib.sha256(lines.encode()).digest()).decode()


def without_texts(value: Any, names: bool = False) -> Any:
    """A schema without its descriptions; a property that is called `description` stays."""
    if isinstance(value, list):
        return [without_texts(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        key: without_texts(one, names=key == "properties" and not names)
        for key, one in value.items()
        if names or key != "description" or not isinstance(one, str)
    }


def wanted(source: Source) -> dict[str, str]:
    """The files of `gitops/crds` by name.

    Raises:
        SystemExit: the module is not the pinned one.
    """
    data = archive(source)
    if (found := module_sum(data)) != source["sum"]:
        raise SystemExit(f"{source['module']} {source['version']}: sum is {found}, source.toml says {source['sum']}")
    prefix = f"{source['module']}@{source['version']}/{source['folder']}/argoproj.io_"
    with zipfile.ZipFile(io.BytesIO(data)) as opened:
        found_files = {name: opened.read(name) for name in opened.namelist() if name.startswith(prefix)}
    files = {}
    for name, text in sorted(found_files.items()):
        document = without_texts(yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader)))  # noqa: S506  safe
        short = name.rsplit("/", 1)[-1].removeprefix("argoproj.io_").removesuffix(".yaml")
        files[f"{short}.json"] = json.dumps(document, sort_keys=True, separators=(",", ":")) + "\n"
    resources = "".join(f"  - {name}\n" for name in files)
    header = "# Made by gitops/tools/crds.py\napiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"
    return {**files, "kustomization.yaml": f"{header}resources:\n{resources}"}


def main() -> int:
    """Write the files, or with `--check` name those that differ."""
    parser = argparse.ArgumentParser(description="Write Argo's CustomResourceDefinitions to gitops/crds.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a file differs")
    check = parser.parse_args().check
    source = tomllib.loads((CRDS / "source.toml").read_text(encoding="utf-8"))
    files = wanted(source)
    present = {file.name: file.read_text(encoding="utf-8") for file in CRDS.iterdir() if file.name != "source.toml"}
    changed = sorted(name for name in files.keys() | present.keys() if files.get(name) != present.get(name))
    for name in changed:
        print(f"{name} {'differs' if check else 'written'}")
        if not check:
            (CRDS / name).write_text(files[name], encoding="utf-8") if name in files else (CRDS / name).unlink()
    return int(check and bool(changed))


if __name__ == "__main__":
    sys.exit(main())
