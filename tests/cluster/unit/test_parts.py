"""Command lines and configuration files of the parts."""

import json
import tomllib
from pathlib import Path

import yaml
from model_tests.hardware.catalogue import catalogue
from testcluster import configs, down, gpus, parts, pki, rights, settings
from testcluster.layout import NODES, Layout

LAYOUT = Layout.at(Path("/run/gpulab-cluster"))


def every(layout=LAYOUT):
    return [part for stage in parts.stages(layout, lambda name: Path("/tools") / name) for part in stage]


def test_names_are_unique_and_down_knows_them_all():
    names = [part.name for part in every()]
    assert len(names) == len(set(names))
    assert sorted(down.names()) == sorted(names)


def test_kubelets_of_one_machine_share_no_port_folder_or_control_group():
    found = [yaml.safe_load(configs.kubelet(LAYOUT, node)) for node in NODES]
    for key in ("port", "healthzPort", "cgroupRoot", "containerRuntimeEndpoint", "podLogsDir"):
        assert len({kubelet[key] for kubelet in found}) == len(NODES), key
    lines = {part.name: part.line for part in every()}
    roots = {word for name in lines for word in lines[name] if word.startswith("--root-dir=")}
    assert len(roots) == len(NODES)


def test_only_gpu_nodes_are_tainted():
    tainted = {node.name: bool(yaml.safe_load(configs.kubelet(LAYOUT, node))["registerWithTaints"]) for node in NODES}
    assert tainted == {node.name: node.gpus > 0 for node in NODES}


def test_each_containerd_has_its_own_folders():
    found = [tomllib.loads(configs.containerd(LAYOUT, node)) for node in NODES]
    for key in ("root", "state"):
        assert len({config[key] for config in found}) == len(NODES)


def test_large_data_stays_out_of_run():
    assert LAYOUT.data == Path("/var/lib/gpulab-cluster")
    assert Layout.at(Path("/srv/x")).data == Path("/srv/x/data")


def test_every_kubeconfig_has_its_certificate():
    signed = {certificate.name for certificate in pki.CERTIFICATES}
    assert {*pki.USERS, *(node.name for node in NODES)} <= signed
    assert set(rights.RULES) <= signed


def test_a_part_starts_again_when_its_configuration_changes(tmp_path):
    layout = Layout(tmp_path / "run", tmp_path / "data")
    settings.write_all(layout, lambda name: Path("/tools/bin") / name)
    before = {part.name: part.digest for part in every(layout)}
    settings.write_all(layout, lambda name: Path("/tools/bin") / name)
    assert {part.name: part.digest for part in every(layout)} == before
    layout.file("Corefile").write_text("other")
    changed = {part.name for part in every(layout) if part.digest != before[part.name]}
    assert changed == {"coredns"}


def test_configuration_files_are_written_and_secrets_are_the_owners(tmp_path):
    layout = Layout(tmp_path / "run", tmp_path / "data")
    settings.write_all(layout, lambda name: Path("/tools/bin") / name)
    for part in every(layout):
        for config in part.configs:
            assert config.exists(), config
    assert layout.file("s3.json").stat().st_mode & 0o077 == 0
    assert layout.file("gitea.ini").stat().st_mode & 0o077 == 0
    pair = json.loads((layout.run / "secrets/s3.json").read_text())
    assert json.loads(layout.file("s3.json").read_text())["identities"][0]["credentials"] == [pair]


def test_gpu_labels_are_those_that_the_catalogue_selects_by():
    known = {entry.product_label: entry for entry in catalogue().values()}
    for node in NODES:
        if node.gpus:
            labels = gpus.labels(node)
            entry = known[labels["nvidia.com/gpu.product"]]
            assert int(labels["nvidia.com/gpu.memory"]) / 1024 == entry.memory_gib
            capability = f"{labels['nvidia.com/gpu.compute.major']}.{labels['nvidia.com/gpu.compute.minor']}"
            assert capability == entry.compute_capability
