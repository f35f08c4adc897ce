"""`gpulab project connect` and its reverse: an API server in memory, and a real Gitea when there is one."""

import base64
import hashlib
import hmac
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from gpulab.errors import InputError, PlatformError
from gpulab.events import PRODUCTION, PROMOTION_CHECK, TEACHING
from gpulab.forges import Status
from gpulab.forges.clone import Clone
from gpulab.forges.connected import hosted_forge
from gpulab.forges.contents import new_commit
from gpulab.forges.hosted import HostedForge
from gpulab.forges.start import START
from gpulab.tenants.cluster import Cluster
from gpulab.tenants.connect import connect, disconnect, webhook_secret
from gpulab.tenants.forge_plan import Tokens
from gpulab.tenants.gitea_admin import GiteaAdmin, gitea_admin
from gpulab.tenants.plan import CLIENTS
from gpulab.tenants.project import Tenant
from gpulab.tenants.settings import Platform, environment

if TYPE_CHECKING:
    from conftest import ApiServer, Gitea


class Receiver:
    """Where events arrive."""

    def __init__(self) -> None:
        self.events: list[tuple[str, bytes, dict[str, str]]] = []
        self.came = threading.Condition()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                with outer.came:
                    outer.events.append((self.path, body, dict(self.headers)))
                    outer.came.notify_all()
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def of(self, kind: str, text: str) -> tuple[str, bytes, dict[str, str]]:
        """The first event of a kind whose body holds a text."""
        with self.came:
            assert self.came.wait_for(lambda: self._found(kind, text), timeout=60)
            return self._found(kind, text)[0]

    def _found(self, kind: str, text: str) -> list[tuple[str, bytes, dict[str, str]]]:
        return [one for one in self.events if one[2].get("X-GitHub-Event") == kind and text.encode() in one[1]]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.server.shutdown()
    receiver.server.server_close()


class Place:
    """A project on a real Gitea, and a cluster in memory."""

    def __init__(
        self, gitea: "Gitea", repository: str, cluster: Cluster, platform: Platform, receiver: Receiver
    ) -> None:
        self.gitea, self.cluster, self.receiver = gitea, cluster, receiver
        self.project = Tenant("gpu-lab-1", repository)
        hook = f"http://127.0.0.1:{receiver.server.server_port}"
        more = {"GPULAB_FORGE_API": gitea.api, "GPULAB_FORGE_URL": gitea.url, "GPULAB_WEBHOOK_URL": hook}
        self.platform = replace(platform, settings=dict(platform.settings) | more)
        self.said: list[str] = []

    @property
    def admin(self) -> GiteaAdmin:
        return gitea_admin(self.gitea.api, self.project.repository, self.gitea.token)

    def connect(self) -> None:
        connect(self.cluster, self.admin, self.platform, self.project, self.said.append)

    def tokens(self) -> Tokens:
        ci, build = self.project.namespace("ci"), self.project.namespace("build")
        found = (self.cluster.secret(one, "gpulab-forge")["token"] for one in (ci, build))
        return Tokens(*found)

    def forge(self, token: str) -> HostedForge:
        return hosted_forge(environment(self.platform, self.project), token)


@pytest.fixture
def place(gitea: "Gitea", repository: str, cluster: Cluster, platform: Platform, receiver: Receiver) -> Iterator[Place]:
    place = Place(gitea, repository, cluster, platform, receiver)
    yield place
    place.admin.remove_bot(place.project.bot)


@pytest.mark.cluster
def test_connecting_twice_changes_nothing(place: Place, server: "ApiServer") -> None:
    place.connect()
    hooks, before = place.gitea.call("GET", f"repos/{place.project.repository}/hooks").json(), dict(server.objects)
    place.connect()
    assert server.objects == before
    again = place.gitea.call("GET", f"repos/{place.project.repository}/hooks").json()
    assert [one["id"] for one in again] == [one["id"] for one in hooks] and len(hooks) == 1
    rules = place.gitea.call("GET", f"repos/{place.project.repository}/branch_protections").json()
    assert sorted(one["rule_name"] for one in rules) == [PRODUCTION, TEACHING]
    assert place.forge(place.tokens().bot).clone.heads(TEACHING, PRODUCTION) == {TEACHING: START, PRODUCTION: START}
    secrets = [*vars(place.tokens()).values(), *place.cluster.secret("gpu-lab-1-ci", CLIENTS).values()]
    assert not any(secret in line for secret in secrets for line in place.said)


@pytest.mark.cluster
def test_an_event_is_signed_with_the_clusters_secret(place: Place) -> None:
    place.connect()
    commit = place.forge(place.tokens().bot).commit(TEACHING, {"a": b"1"}, "one", None)
    path, body, headers = place.receiver.of("push", f'"after": "{commit}"')
    secret = webhook_secret(place.cluster.secret("gpu-lab-1-ci", CLIENTS)["gpulab-webhook"])
    wanted = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    assert len(secret) == 64
    assert headers["X-Hub-Signature-256"] == f"sha256={wanted}"
    assert headers["Content-Type"] == "application/json"
    assert headers["Authorization"] == "Bearer of-the-account"
    assert path == "/api/v1/events/gpu-lab-1-ci/gpulab"
    assert f'"ref": "refs/heads/{TEACHING}"'.encode() in body


@pytest.mark.cluster
def test_who_may_push_where(place: Place) -> None:
    place.connect()
    bot, clone = place.tokens().bot, place.tokens().clone
    first = place.forge(bot).commit(TEACHING, {"a": b"1"}, "one", None)
    for token in (place.gitea.token, clone):  # the forge's administrator, too
        with pytest.raises(PlatformError):
            place.forge(token).commit(TEACHING, {"a": b"2"}, "by hand", first)
    with pytest.raises(PlatformError):
        place.forge(clone).commit("promote/x", {"a": b"2"}, "reads only", None)
    assert place.forge(clone).read(first, "a") == b"1"
    for token in (place.gitea.token, bot):
        with pytest.raises(PlatformError, match="protected branch"):
            place.forge(token).commit(PRODUCTION, {"a": b"2"}, "by hand", None)
    forge = place.forge(bot)
    with pytest.raises(PlatformError, match="force push"):
        forge.clone.push(TEACHING, new_commit(forge.clone.git, {"a": b"9"}, "rewritten", None), first)
    assert (forge.head(TEACHING), forge.head(PRODUCTION)) == (first, None)


@pytest.mark.cluster
def test_production_changes_by_a_checked_pull_request_alone(place: Place) -> None:
    place.connect()
    forge = place.forge(place.tokens().bot)
    head = forge.commit("promote/1", {"a": b"1"}, "one", None)
    number = forge.open_pull_request(PRODUCTION, "promote/1", "title", "body").number
    path = f"repos/{place.project.repository}/pulls/{number}/merge"
    with pytest.raises(AssertionError, match="405"):
        place.gitea.call("POST", path, Do="merge", force_merge=True)  # an administrator, without the check
    forge.set_status(head, Status(PROMOTION_CHECK, "success", "yes", "promotion-1"))
    assert forge.merge(number) == head == forge.head(PRODUCTION)
    assert head.encode() in place.receiver.of("pull_request", '"action": "opened"')[1]
    moved = f'"ref": "refs/heads/{PRODUCTION}",\n  "before": "{START}",\n  "after": "{head}"'
    assert place.receiver.of("push", moved)


@pytest.mark.cluster
def test_a_token_that_was_revoked_is_made_again_and_a_hook_that_was_changed_is_mended(place: Place) -> None:
    place.connect()
    old = place.tokens()
    hooks = f"repos/{place.project.repository}/hooks"
    known = place.gitea.call("GET", hooks).json()[0]
    place.gitea.call("PATCH", f"{hooks}/{known['id']}", active=False, events=["push"])
    copy = {"type": "gitea", "config": known["config"], "events": ["push"], "active": True}
    place.gitea.call("POST", hooks, **copy)
    bot, password = place.project.bot, "x" * 20
    place.gitea.call("PATCH", f"admin/users/{bot}", login_name=bot, source_id=0, password=password)
    place.admin._token(bot, password, "bot")  # a new one of this name: the kept one stops working
    place.connect()
    assert place.tokens().bot != old.bot
    place.forge(place.tokens().bot).commit(TEACHING, {"a": b"1"}, "one", None)
    mended = place.gitea.call("GET", hooks).json()
    assert [(one["active"], "pull_request" in one["events"]) for one in mended] == [(True, True)]


@pytest.mark.cluster
def test_disconnecting_leaves_the_repository_and_nothing_else(place: Place, server: "ApiServer") -> None:
    before = dict(server.objects)
    place.connect()
    old = place.tokens()
    first = place.forge(old.bot).commit(TEACHING, {"a": b"1"}, "one", None)
    for _ in range(2):
        disconnect(place.cluster, place.admin, place.platform, place.project, place.said.append)
    assert server.objects == before
    assert place.gitea.call("GET", f"repos/{place.project.repository}/hooks").json() == []
    assert place.gitea.call("GET", f"repos/{place.project.repository}/branch_protections").json() == []
    with pytest.raises(PlatformError):
        place.forge(old.bot).head(TEACHING)
    assert place.forge(place.gitea.token).head(TEACHING) == first
    place.connect()
    assert place.forge(place.tokens().bot).head(TEACHING) == first


@pytest.mark.cluster
def test_a_repository_that_is_not_there_is_said(place: Place) -> None:
    place.project = Tenant("gpu-lab-1", "teacher/none")
    with pytest.raises(InputError, match="teacher/none: it is not there"):
        place.connect()


class NoForge:
    """The forge must not be asked."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(name)


def test_a_name_that_is_taken_is_refused_before_anything_is_done(
    cluster: Cluster, server: "ApiServer", platform: Platform, project: Tenant
) -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "gpu-lab-1-ci", "labels": {"team": "x"}}}
    server.objects["/api/v1/namespaces/gpu-lab-1-ci"] = namespace
    for verb in (connect, disconnect):
        with pytest.raises(InputError, match="gpu-lab-1-ci is there and is not gpulab's"):
            verb(cluster, NoForge(), platform, project, print)
    namespace["metadata"]["labels"] = {"gpulab/project": "gpu-lab-1", "app.kubernetes.io/managed-by": "gpulab"}  # type: ignore[index]
    metadata = {"namespace": "gpu-lab-1-ci", "name": "gpulab"}
    settings = {"GPULAB_FORGE_REPOSITORY": "other/lab"}
    server.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": settings})
    with pytest.raises(InputError, match="gpu-lab-1 is the project of other/lab"):
        connect(cluster, NoForge(), platform, project, print)
    assert {method for method, _ in server.asked} == {"GET"}


def test_the_cluster_tells_its_settings_and_addresses(cluster: Cluster, server: "ApiServer") -> None:
    found = cluster.platform()
    assert [(one.ip, one.port) for one in found.api_servers] == [("10.96.0.1", 443), ("192.0.2.7", 6443)]
    assert found["FORGE_KIND"] == "gitea"
    del server.objects["/api/v1/namespaces/gpulab/configmaps/gpulab-platform"]
    with pytest.raises(PlatformError, match="Install the platform first"):
        cluster.platform()


def test_a_platform_without_a_store_key_says_which_secret(
    cluster: Cluster, server: "ApiServer", platform: Platform, project: Tenant
) -> None:
    del server.objects["/api/v1/namespaces/gpulab/secrets/gpulab-artifacts"]

    class Forge:
        def look(self) -> None:
            pass

    with pytest.raises(PlatformError, match="gpulab-artifacts-gpu-lab-1, or gpulab-artifacts for all"):
        connect(cluster, Forge(), platform, project, print)  # type: ignore[arg-type]


def test_a_projects_own_store_key_wins(cluster: Cluster, server: "ApiServer") -> None:
    own = {"accesskey": base64.b64encode(b"own").decode(), "secretkey": ""}
    metadata = {"namespace": "gpulab", "name": "gpulab-artifacts-gpu-lab-1"}
    server.put({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": own})
    assert cluster.of_platform("gpulab-artifacts", "gpu-lab-1")["accesskey"] == "own"
    assert cluster.of_platform("gpulab-artifacts", "gpu-lab-2")["accesskey"] == "seen-access"


def test_a_clone_without_token_sends_none(tmp_path: Path) -> None:
    assert "extraHeader" not in str(Clone("https://forge.example/o/n.git").git.environment)
