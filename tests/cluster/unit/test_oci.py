"""Layers and manifests: the same content has the same digest."""

import hashlib
import json
import tarfile

from testcluster import oci


def fill(root):
    (root / "bin").mkdir(parents=True)
    (root / "bin" / "tool").write_bytes(b"x" * 1000)
    (root / "bin" / "tool").chmod(0o755)
    (root / "bin" / "alias").symlink_to("tool")
    return root


def test_two_folders_with_the_same_content_are_one_layer(tmp_path):
    one = oci.pack(fill(tmp_path / "one"), tmp_path / "1.tar")
    two = oci.pack(fill(tmp_path / "two"), tmp_path / "2.tar")
    assert one.digest == two.digest
    assert one.size == (tmp_path / "1.tar").stat().st_size


def test_a_layer_keeps_modes_and_links_and_gets_its_owner(tmp_path):
    oci.pack(fill(tmp_path / "root"), tmp_path / "l.tar", lambda path: 10001 if path.endswith("tool") else 0)
    with tarfile.open(tmp_path / "l.tar") as found:
        assert found.getnames() == ["bin", "bin/alias", "bin/tool"]
        assert found.getmember("bin/tool").mode == 0o755
        assert found.getmember("bin/tool").uid == 10001
        assert found.getmember("bin").uid == 0
        assert found.getmember("bin/alias").linkname == "tool"
        assert {member.mtime for member in found} == {0}


def test_a_manifest_names_its_config_and_layers_by_digest(tmp_path):
    layer = oci.pack(fill(tmp_path / "root"), tmp_path / "l.tar")
    config = oci.configuration([layer], oci.Settings("1:1", ("/bin/tool",), (("A", "b"),)))
    document = json.loads(oci.manifest([layer], config))
    assert document["config"]["digest"] == "sha256:" + hashlib.sha256(config).hexdigest()
    assert document["layers"] == [{"mediaType": oci.LAYER, "digest": layer.digest, "size": layer.size}]
    described = json.loads(config)
    assert described["rootfs"]["diff_ids"] == [layer.digest]
    assert described["config"]["Env"] == [f"PATH={oci.PATH}", "A=b"]
    assert described["config"]["User"] == "1:1"


def test_a_variable_of_the_image_replaces_the_usual_one(tmp_path):
    layer = oci.Layer(tmp_path, "sha256:0", 1)
    config = json.loads(oci.configuration([layer], oci.Settings(environment=(("PATH", "/opt/bin"),))))
    assert config["config"]["Env"] == ["PATH=/opt/bin"]
