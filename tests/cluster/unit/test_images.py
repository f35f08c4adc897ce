"""What goes into the images."""

from testcluster import pythonimages, requirements, rootfs


def test_constraints_are_the_locks_lines_without_hashes():
    lock = "# head\na==1 \\\n    --hash=sha256:0\n    # via b\nb==2 ; python_version < '3.12' \\\n    --hash=sha256:1\n"
    assert requirements.constraints(lock) == "a==1\nb==2 ; python_version < '3.12'\n"


def test_every_line_of_the_real_lock_is_one_constraint():
    found = requirements.constraints(requirements.LOCK.read_text()).splitlines()
    assert "hera==7.1.0" in found
    assert not [line for line in found if "\\" in line or "--hash" in line]


def test_a_launcher_runs_the_images_python():
    text = pythonimages.launcher("gpulab.cli:main")
    assert text.startswith("#!/opt/venv/bin/python3\n")
    compile(text, "launcher", "exec")


def test_a_projects_identity_changes_with_its_files_but_not_with_bytecode(tmp_path):
    (tmp_path / "src" / "p" / "__pycache__").mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text("[project]")
    (tmp_path / "src" / "p" / "a.py").write_text("1")
    before = requirements.tree(tmp_path)
    (tmp_path / "src" / "p" / "__pycache__" / "a.pyc").write_text("x")
    assert requirements.tree(tmp_path) == before
    (tmp_path / "src" / "p" / "a.py").rename(tmp_path / "src" / "p" / "b.py")
    assert requirements.tree(tmp_path) != before


def test_keys_do_not_mix_up_their_parts():
    assert rootfs.key(b"ab", b"c") != rootfs.key(b"a", b"bc")
