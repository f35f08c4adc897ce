"""Exit codes and messages of cluster.py."""

import cluster as program
import pytest


@pytest.fixture
def state(tmp_path):
    return ["--state", str(tmp_path / "state")]


def test_an_unknown_group_is_answered_with_the_known_ones(capsys):
    assert program.main(["build", "--only", "docker"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: --only docker: nothing is called so; choose one of gitea, ")
    assert "images" in said


def test_status_of_no_cluster_names_every_part_and_fails(state, capsys):
    assert program.main(["status", *state]) == 3
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 10
    assert all(line.endswith(" not running") for line in lines)


def test_logs_are_listed_shown_and_asked_for_by_name(state, tmp_path, capsys):
    assert program.main(["logs", *state]) == 0
    assert "type up first" in capsys.readouterr().out
    (tmp_path / "state" / "logs").mkdir(parents=True)
    (tmp_path / "state" / "logs" / "etcd.log").write_text("one\ntwo\n")
    assert program.main(["logs", "etcd", *state]) == 0
    assert capsys.readouterr().out == "one\ntwo\n"
    assert program.main(["logs", "docker", *state]) == 2
    assert "no log of 'docker'; there are: etcd" in capsys.readouterr().err


def test_without_root_the_error_says_so(state, monkeypatch, capsys):
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert program.main(["up", *state]) == 2
    assert "needs root" in capsys.readouterr().err
