"""The baked project's service as a process: it starts as the manifests start it, answers, and stops when told to."""

import os
import socket
import subprocess
import sys
import time

import httpx
import pytest


@pytest.fixture
def service(project, tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    variables = {"PYTHONPATH": str(project / "src"), "PORT": port, "HOST": "127.0.0.1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-B", "-m", "gpu_lab_1.serve"]
    process = subprocess.Popen(command, cwd=tmp_path, env=os.environ | variables, stderr=subprocess.PIPE, text=True)
    try:
        yield process, httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=30)
    finally:
        process.kill()
        process.communicate()


def status(client: httpx.Client, path: str) -> int:
    try:
        return client.get(path).status_code
    except httpx.TransportError:
        return 0


def test_it_gets_ready_answers_and_ends_in_order(service):
    process, client = service
    deadline = time.monotonic() + 120
    while status(client, "/readyz") != 200:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.1)
    outputs = client.post("/v1/predict", json={"inputs": {"tokens": [[1, 2, 3]]}}).json()["outputs"]
    assert (len(outputs), len(outputs[0]), len(outputs[0][0])) == (1, 3, 512)
    process.terminate()
    assert "Application shutdown complete" in process.communicate(timeout=30)[1]
