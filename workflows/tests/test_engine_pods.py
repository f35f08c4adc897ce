"""What a container sees and leaves: paths, environment, images, messages, outputs, processes."""

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from gpulab.engines.local.artifacts import ArtifactError, ArtifactStore
from gpulab.engines.local.client import LocalEngine
from gpulab.engines.local.containers import Container, kubelet_changes
from gpulab.engines.local.containerset import ContainerSet
from gpulab.engines.local.paths import PathMap
from gpulab.engines.local.settings import EngineSettings
from gpulab.engines.protocol import NodeStatus, Phase
from hypothesis import given
from hypothesis import strategies as st

IMAGE, DIGEST = "steps:test", "student@sha256:" + "a" * 64
ON_LINUX = pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="only Linux lets a process adopt orphans")
RESOLVER = """
from pathlib import Path
from gpulab.engines.local.images import LocalImage
def resolver(settings):
    def resolve(image):
        if not image.endswith("a" * 64):
            raise LookupError(f"no such digest: {image}")
        return LocalImage(Path(settings["root"]), "/app", {"PYTHONPATH": "/app/src", "FROM_IMAGE": "1"})
    return resolve
"""
VOLUMES = [{"name": name, "emptyDir": {}} for name in ("given", "work", "out")]


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalEngine:
    """An engine whose home has a space in its name; its supervisor finds the resolver by PYTHONPATH."""
    (tmp_path / "laid_out.py").write_text(RESOLVER)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    settings = EngineSettings(
        str(tmp_path / "a home"),
        platform_images=(IMAGE,),
        configmaps={"gpulab": {"COURSE": "gpu {{x}} $(HOME) /tmp/x"}},
        images="laid_out:resolver",
        images_settings={"root": str(tmp_path / "image")},
        limit=2,
        grace_seconds=0.5,
    )
    return LocalEngine(settings)


def sh(script: str, **fields: Any) -> dict[str, Any]:
    return {"image": IMAGE, "command": ["sh", "-c", script], **fields}


def py(code: str, **fields: Any) -> dict[str, Any]:
    return {"image": IMAGE, "command": ["python3", "-c", code], **fields}


def run(engine: LocalEngine, body: dict[str, Any], **fields: Any) -> NodeStatus:
    """Run one pod to its end; its node."""
    kind = "containerSet" if "containers" in body else "script" if "source" in body else "container"
    spec = {"entrypoint": "pod", "volumes": VOLUMES, "templates": [{"name": "pod", kind: body, **fields}]}
    engine.submit("run", {"kind": "WorkflowTemplate", "metadata": {"name": "pod"}, "spec": spec}, {})
    for _ in engine.follow("run"):
        pass
    return engine.results("run").nodes["run"]


def log(engine: LocalEngine, node: NodeStatus) -> str:
    return (engine.folder("run") / node.log).read_text()


def value(node: NodeStatus) -> str:
    return node.outputs["parameters"][0]["value"]


def output(path: str = "/tmp/o") -> dict[str, Any]:
    return {"parameters": [{"name": "o", "valueFrom": {"path": path}}]}


# Paths


def test_declared_paths_are_found_in_arguments_variables_and_lists(tmp_path: Path) -> None:
    paths = PathMap(
        tmp_path / "root", {"/gpulab/given": tmp_path / "v"}, ["/app", "/gpulab/given/harness/deep", "/tmp"]
    )
    root, volume = tmp_path / "root", tmp_path / "v"
    assert paths.text("/gpulab/given/harness:/app/src:/apple") == f"{volume}/harness:{root}/app/src:/apple"
    assert paths.text("--out=/tmp/x --in /gpulab/given") == f"--out={root}/tmp/x --in {volume}"
    assert paths.text("https://host/app file.app x/tmp/y /app.txt") == "https://host/app file.app x/tmp/y /app.txt"
    assert paths.text("/gpulab/given/harness/deep/er") == f"{volume}/harness/deep/er"
    assert paths.real("/gpulab/given/../given/x") == volume / "x"


@given(st.lists(st.sampled_from(["/a", "/a/b", "/ab", "/tmp", "x", ":", "=", " ", "/", "."]), max_size=8).map("".join))
def test_mapping_changes_declared_paths_only(text: str) -> None:
    root = Path("/a/root")
    mapped = PathMap(root, {}, ["/a", "/a/b", "/tmp"]).text(text)
    assert mapped.replace("/a/root", "") == text


def test_a_container_works_in_folders_of_its_own(engine: LocalEngine) -> None:
    body = sh("mkdir -p /tmp/deep && pwd > /tmp/deep/o && ls -A | wc -l", workingDir="/somewhere/else")
    node = run(engine, body, outputs=output("/tmp/deep/o"))
    assert value(node) == str(engine.folder("run") / "pods/run/containers/main/somewhere/else")
    assert log(engine, node).strip() == "0"
    assert not Path("/somewhere").exists()
    assert not Path("/tmp/deep").exists()


# Environment


def test_the_environment_is_small_and_brings_nothing_of_the_caller(
    engine: LocalEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_QUARANTINE_PATH", "SECRET_TOKEN", "SSL_CERT_FILE", "HOSTNAME"):
        monkeypatch.setenv(name, "/leaked")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    code = "import os, json; open('/tmp/o', 'w').write(json.dumps(sorted(os.environ)))"
    node = run(engine, py(code, env=[{"name": "MINE", "value": "1"}]), outputs=output())
    expected = ["HOME", "LANG", "LC_ALL", "MINE", "OMP_NUM_THREADS", "PATH"]
    expected += ["PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "TMPDIR"]
    assert [name for name in json.loads(value(node)) if name != "LC_CTYPE"] == expected
    assert "leaked" not in str(engine.folder("run").joinpath("supervisor.log").read_text())


def test_a_config_map_is_passed_as_it_is(engine: LocalEngine) -> None:
    body = sh('printf %s "$COURSE" > /tmp/o', envFrom=[{"configMapRef": {"name": "gpulab"}}])
    assert value(run(engine, body, outputs=output())) == "gpu {{x}} $(HOME) /tmp/x"


def test_a_missing_config_map_is_named(engine: LocalEngine) -> None:
    node = run(engine, sh("true", envFrom=[{"configMapRef": {"name": "gpulap"}}]))
    assert (node.phase, "there is no ConfigMap 'gpulap'; there are gpulab" in node.message) == (Phase.FAILED, True)


def test_python_is_the_running_interpreter(engine: LocalEngine) -> None:
    node = run(engine, py("import sys; open('/tmp/o', 'w').write(sys.executable)"), outputs=output())
    assert Path(value(node)).parent == Path(sys.executable).parent


@pytest.mark.parametrize(
    ("text", "names", "changes"),
    [
        ("$(TOKEN)", {"TOKEN"}, True),
        ("$(TOKEN)", set(), False),
        ("a$$b", set(), True),
        ("$(ls -l)", {"ls"}, False),
        ("$TOKEN ${TOKEN}", {"TOKEN"}, False),
        ("$(", {""}, False),
    ],
)
def test_what_the_kubelet_would_expand_is_known(text: str, names: set[str], changes: bool) -> None:
    assert kubelet_changes(text, names) == changes


def test_a_branch_name_is_data(engine: LocalEngine) -> None:
    spec = {
        "entrypoint": "pod",
        "arguments": {"parameters": [{"name": "ref"}]},
        "templates": [
            {
                "name": "pod",
                "outputs": output(),
                "container": sh(
                    'printf %s "$REF" > /tmp/o', env=[{"name": "REF", "value": "{{workflow.parameters.ref}}"}]
                ),
            }
        ],
    }
    ref = "refs/heads/$(TOKEN)'; touch /tmp/pwned; `id` %s }} 分支"
    engine.submit("run", {"kind": "WorkflowTemplate", "spec": spec}, {"ref": ref})
    assert [*engine.follow("run")][-1].phase is Phase.SUCCEEDED
    assert value(engine.results("run").nodes["run"]) == ref
    assert not Path("/tmp/pwned").exists()


def test_what_the_kubelet_would_expand_is_refused(engine: LocalEngine) -> None:
    body = sh("true", env=[{"name": "TOKEN", "value": "secret"}, {"name": "REF", "value": "$(TOKEN)"}])
    node = run(engine, body)
    assert node.phase is Phase.FAILED
    assert "the kubelet would expand" in node.message


# Images


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """The files of the image by digest."""
    (tmp_path / "image/app/src").mkdir(parents=True)
    (tmp_path / "image/app/src/student.py").write_text("ANSWER = 42\n")
    return tmp_path / "image"


def test_an_image_by_digest_is_a_private_copy(engine: LocalEngine, image: Path) -> None:
    code = (
        "import student, os; open('/tmp/o', 'w').write(f'{student.ANSWER}:{os.getcwd()}:{os.environ[\"FROM_IMAGE\"]}')"
    )
    node = run(engine, py(f"{code}; open('/app/src/student.py', 'w').write('spoilt')", image=DIGEST), outputs=output())
    assert node.phase is Phase.SUCCEEDED, node.message
    answer, folder, from_image = value(node).split(":")
    assert (answer, from_image) == ("42", "1")
    assert folder == str(engine.folder("run") / "pods/run/containers/main/app")
    assert (image / "app/src/student.py").read_text() == "ANSWER = 42\n"


@pytest.mark.parametrize("unknown", ["alpine:3", DIGEST.replace("a", "b")])
def test_an_unknown_image_is_an_error_that_names_it(engine: LocalEngine, image: Path, unknown: str) -> None:
    node = run(engine, sh("true", image=unknown))
    assert node.phase is Phase.ERROR
    assert unknown in node.message


# Messages, outputs, logs


def test_the_message_of_a_failure_is_what_the_container_left(engine: LocalEngine) -> None:
    node = run(engine, sh("echo '精度 too low' > /gpulab/message; exit 7", terminationMessagePath="/gpulab/message"))
    assert (node.phase, node.message) == (Phase.FAILED, "main: Error (exit code 7): 精度 too low")
    assert node.outputs["exitCode"] == "7"


def test_the_default_message_file_is_read_too(engine: LocalEngine) -> None:
    node = run(engine, sh("printf '精度 too low\\n' > /dev/termination-log; exit 1"))
    assert node.message == "main: Error (exit code 1): 精度 too low"


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("seq 1 2000; echo the end; exit 1", "the end"),
        ("echo noise; printf reason > /dev/termination-log; exit 1", "reason"),
    ],
)
def test_a_container_may_let_its_log_speak_for_it(engine: LocalEngine, script: str, told: str) -> None:
    node = run(engine, sh(script, terminationMessagePolicy="FallbackToLogsOnError"))
    assert node.message.startswith("main: Error (exit code 1): ")
    assert node.message.splitlines()[-1].endswith(told)
    assert len(node.message) < 2100
    assert len(node.message.splitlines()) <= 80


def test_without_that_the_log_stays_a_log(engine: LocalEngine) -> None:
    assert run(engine, sh("echo noise; exit 1")).message == "main: Error (exit code 1)"


def test_an_optional_secret_is_an_empty_folder(engine: LocalEngine) -> None:
    secret = {"name": "forge", "secret": {"secretName": "gpulab-forge", "optional": True}}
    mount = {"name": "forge", "mountPath": "/gpulab/secrets/forge", "readOnly": True}
    script = "test -d /gpulab/secrets/forge && ls -A /gpulab/secrets/forge > /gpulab/out/found"
    outputs = {"parameters": [{"name": "found", "valueFrom": {"path": "/gpulab/out/found"}}]}
    volumes = [secret, {"name": "out", "emptyDir": {}}]
    mounts = [mount, {"name": "out", "mountPath": "/gpulab/out"}]
    node = run(engine, sh(script, volumeMounts=mounts), volumes=volumes, outputs=outputs)
    assert (node.phase, node.outputs["parameters"][0]["value"]) == (Phase.SUCCEEDED, "")


def test_a_killed_command_has_the_code_of_its_signal(engine: LocalEngine) -> None:
    assert run(engine, py("import os; os.kill(os.getpid(), 11)")).message == "main: Error (exit code 139)"


def test_a_script_gets_its_source_as_a_file(engine: LocalEngine) -> None:
    inputs = {"parameters": [{"name": "x", "value": 'a "b" \\ 中 /tmp/x'}]}
    code = "import json, sys; open('/tmp/o', 'w').write(json.load(open(sys.argv[1]))[0]['value'])"
    body = {"image": IMAGE, "command": ["python3", "-c"], "args": [code], "source": "{{inputs.parameters}}"}
    assert value(run(engine, body, inputs=inputs, outputs=output())) == 'a "b" \\ 中 /tmp/x'


def test_a_hera_runner_step_works(engine: LocalEngine, tmp_path: Path) -> None:
    (tmp_path / "my_step.py").write_text(
        "from typing import Annotated\n"
        "from hera.workflows import Parameter\n"
        "from hera.workflows.io import Input, Output\n"
        "class In(Input):\n    sha: str\n    n: int = 1\n"
        "class Out(Output):\n    o: Annotated[str, Parameter(name='o')]\n"
        "def step(given: In) -> Out:\n    return Out(o=given.sha * given.n)\n"
    )
    body = {
        "image": IMAGE,
        "command": ["python3"],
        "args": ["-m", "hera.workflows.runner", "-e", "my_step:step"],
        "source": "{{inputs.parameters}}",
        "env": [
            {"name": "hera__outputs_directory", "value": "/tmp/hera-outputs"},
            {"name": "PYTHONPATH", "value": "{{inputs.parameters.where}}"},
        ],
    }
    given = {"sha": "1e5", "n": "2", "where": str(tmp_path)}
    inputs = {"parameters": [{"name": name, "value": text} for name, text in given.items()]}
    node = run(engine, body, inputs=inputs, outputs=output("/tmp/hera-outputs/parameters/o"))
    assert (node.phase, value(node)) == (Phase.SUCCEEDED, "1e51e5")


def test_an_endless_output_is_cut_and_costs_no_memory(engine: LocalEngine) -> None:
    code = "import sys\nfor _ in range(1600): sys.stdout.write('x' * 65536)\nopen('/tmp/o', 'w').write('done')"
    node = run(engine, py(code), outputs=output())
    assert value(node) == "done"
    size = (engine.folder("run") / node.log).stat().st_size
    assert 16 * 2**20 <= size < 17 * 2**20
    assert log(engine, node).endswith("[output cut after 16 MiB]\n")


def test_output_in_any_encoding_is_kept(engine: LocalEngine) -> None:
    code = "import os; os.write(1, '精度\\n'.encode()); os.write(2, b'\\xff\\n')"
    node = run(engine, py(code))
    assert (engine.folder("run") / node.log).read_bytes() == "精度\n".encode() + b"\xff\n"


def test_a_step_that_closes_its_output_ends_as_it_ends(engine: LocalEngine) -> None:
    node = run(engine, py("import os; os.close(1); os.close(2); open('/tmp/o', 'w').write('x')"), outputs=output())
    assert (node.phase, value(node)) == (Phase.SUCCEEDED, "x")


def test_a_parameter_that_is_too_long_is_an_error(engine: LocalEngine) -> None:
    node = run(engine, py("open('/tmp/o', 'w').write('x' * 300_000)"), outputs=output())
    assert node.phase is Phase.ERROR
    assert "use an artifact" in node.message


# Artifacts


def artifact(path: str, key: str, **fields: Any) -> dict[str, Any]:
    return {"name": "a", "path": path, "s3": {"key": key}, "archive": {"none": {}}, **fields}


def test_an_artifact_is_stored_by_its_key_and_a_folder_as_a_prefix(engine: LocalEngine) -> None:
    outputs = {"artifacts": [artifact("/tmp/out", "p/{{workflow.name}}/all")]}
    run(engine, sh("mkdir -p /tmp/out/sub; echo 1 > /tmp/out/sub/x; ln -s /etc /tmp/out/etc"), outputs=outputs)
    assert engine.artifact("p/run/all/sub/x").read_text() == "1\n"
    assert [path.name for path in engine.artifact("p/run/all").iterdir()] == ["sub"]


def test_a_link_out_of_the_pod_is_no_artifact(engine: LocalEngine) -> None:
    node = run(engine, sh("ln -s /etc/hostname /tmp/out"), outputs={"artifacts": [artifact("/tmp/out", "k")]})
    assert node.phase is Phase.ERROR
    assert "leads out of the pod" in node.message


@pytest.mark.parametrize("key", ["../x", "/x", "", "a/../../b", "a\0b"])
def test_a_key_stays_in_the_store(key: str, tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="is no key"):
        ArtifactStore(tmp_path).path(key)


def test_an_artifact_that_is_stored_again_replaces_the_old(tmp_path: Path) -> None:
    store, source = ArtifactStore(tmp_path / "store"), tmp_path / "s"
    for name in ("one", "two"):
        source.mkdir(exist_ok=True)
        (source / name).write_text(name)
        assert store.save(source, "k/dir", tmp_path)
        (source / name).unlink()
    assert [path.name for path in store.path("k/dir").iterdir()] == ["two"]


# Container sets


def mount(name: str, path: str, read_only: bool = False) -> dict[str, Any]:
    return {"name": name, "mountPath": path, "readOnly": read_only}


def student(script: str) -> dict[str, Any]:
    """The harness is written first, read by the student's container, and used by the judge."""
    return {
        "containers": [
            {"name": "inputs", **sh("mkdir /g/sub; echo harness > /g/sub/h", volumeMounts=[mount("given", "/g")])},
            {
                "name": "produce",
                "dependencies": ["inputs"],
                **sh(script, volumeMounts=[mount("given", "/g", True), mount("work", "/w")]),
            },
            {
                "name": "main",
                "dependencies": ["produce"],
                **sh("cat /g/sub/h > /tmp/o", volumeMounts=[mount("given", "/g"), mount("out", "/out")]),
            },
        ]
    }


def test_a_set_shares_volumes_and_leaves_mains_outputs(engine: LocalEngine) -> None:
    node = run(engine, student("cat /g/sub/h > /w/x"), outputs=output())
    assert (node.phase, value(node)) == (Phase.SUCCEEDED, "harness")


@pytest.mark.parametrize(
    "script",
    [
        "chmod -R u+w /g; echo mine > /g/sub/h",
        "chmod u+w /g; touch /g/new",
        "chmod -R u+w /g; rm -r /g/sub",
        "chmod -R u+w /g; rm /g/sub/h; ln -s /etc/hostname /g/sub/h",
    ],
)
def test_a_harness_edited_by_the_student_is_not_used(engine: LocalEngine, script: str) -> None:
    node = run(engine, student(f"{script}; true"), outputs=output())
    assert node.phase is Phase.FAILED
    produce = engine.results("run").by_display_name("produce")
    main = engine.results("run").by_display_name("main")
    assert produce is not None
    assert main is not None
    assert "it must only read: given" in produce.message
    assert main.phase is Phase.ERROR
    assert "parameters" not in node.outputs


def test_a_volume_that_is_not_mounted_must_not_change_either(engine: LocalEngine) -> None:
    node = run(engine, student("touch /w/../out/forged"), outputs=output())
    assert node.phase is Phase.FAILED


def test_an_input_artifact_of_a_set_is_shown_where_argo_shows_it(engine: LocalEngine, tmp_path: Path) -> None:
    source = tmp_path / "plan.json"
    source.write_text("{}")
    engine.store.save(source, "k/plan.json", tmp_path)
    body = {
        "volumeMounts": [mount("given", "/plan")],
        "containers": [
            {"name": "inputs", **sh("test -f /plan/plan.json && ! test -e /only/plan.json")},
            {"name": "main", "dependencies": ["inputs"], **sh("test -f /plan/plan.json && test -f /only/plan.json")},
        ],
    }
    artifacts = [
        artifact("/plan/plan.json", "k/plan.json"),
        {**artifact("/only/plan.json", "k/plan.json"), "name": "b"},
    ]
    assert run(engine, body, inputs={"artifacts": artifacts}).phase is Phase.SUCCEEDED


def test_containers_without_dependencies_run_at_the_same_time(engine: LocalEngine) -> None:
    wait = "touch /w/{0}; while ! test -e /w/{1}; do sleep 0.05; done"
    body = {
        "containers": [
            {"name": name, **sh(wait.format(name, other), volumeMounts=[mount("work", "/w")])}
            for name, other in (("main", "second"), ("second", "main"))
        ]
    }
    assert run(engine, body, activeDeadlineSeconds=20).phase is Phase.SUCCEEDED


# Processes


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


DAEMON = """
import os, subprocess, sys, time
child = subprocess.Popen(["sleep", "300"], start_new_session=True, env={}, stdout=sys.stdout)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open("/tmp/o", "w").write(f"{child.pid} {os.getpid()}")
        time.sleep(300)
    os._exit(0)
while not os.path.exists("/tmp/o") or not open("/tmp/o").read(): time.sleep(0.01)
"""


@ON_LINUX
def test_processes_left_behind_are_killed(engine: LocalEngine) -> None:
    started = time.monotonic()
    node = run(engine, py(DAEMON), outputs=output())
    assert node.phase is Phase.SUCCEEDED, node.message
    assert time.monotonic() - started < 60
    assert not any(alive(int(pid)) for pid in value(node).split())


@ON_LINUX
def test_a_deadline_ends_children_that_ignore_it(engine: LocalEngine, tmp_path: Path) -> None:
    code = (
        "import os, signal, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "if os.fork() == 0: os.setsid()\n"
        "open('{{inputs.parameters.where}}/' + str(os.getpid()), 'w').close()\n"
        "time.sleep(300)"
    )
    inputs = {"parameters": [{"name": "where", "value": str(tmp_path)}]}
    node = run(engine, py(code), inputs=inputs, activeDeadlineSeconds=1)
    assert (node.phase, "longer than the specified deadline" in node.message) == (Phase.FAILED, True)
    pids = [int(path.name) for path in tmp_path.iterdir() if path.name.isdigit()]
    assert len(pids) == 2
    assert not any(alive(pid) for pid in pids)


def test_a_cancel_after_a_deadline_does_not_make_the_pod_in_time(tmp_path: Path) -> None:
    running = threading.Event()
    code = "import signal, sys, time\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(0))\ntime.sleep(300)"
    argv = [sys.executable, "-c", code]
    container = Container(argv, dict(os.environ), tmp_path, PathMap(tmp_path, {}, []), tmp_path / "message")
    pod = ContainerSet(
        {"main": {}},
        [],
        tmp_path / "volumes",
        prepare=lambda _: container,
        log=lambda _: tmp_path / "log",
        grace=30,
        started=lambda _: running.set(),
        ended=lambda *_: None,
    )
    thread = threading.Thread(target=pod.run)
    thread.start()
    assert running.wait(30)
    pod.stop(late=True)
    pod.stop()
    thread.join(60)
    assert pod.late
