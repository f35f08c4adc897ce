"""Does a registry hold an image: with and without a login, with tokens, and when it does not say."""

import base64
import json
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from gpulab.errors import PlatformError
from gpulab.images.registry import Registry, credentials, split

DIGEST = f"sha256:{'a' * 64}"
LOGIN = ("robot", "a:b")
Handler = Callable[[httpx.Request], httpx.Response]


def registry(handler: Handler, login: tuple[str, str] | None = None, insecure: bool = False) -> Registry:
    return Registry(httpx.Client(transport=httpx.MockTransport(handler)), "registry.example:5000/lab", login, insecure)


@pytest.mark.parametrize(("insecure", "scheme"), [(True, "http"), (False, "https")])
def test_it_asks_for_the_manifest_only(insecure: bool, scheme: str) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        assert str(request.url) == f"{scheme}://registry.example:5000/v2/lab/manifests/{DIGEST}"
        assert request.method == "HEAD"
        assert "application/vnd.oci.image.manifest.v1+json" in request.headers["Accept"]
        return httpx.Response(200)

    assert registry(answer, insecure=insecure).has(DIGEST)


def test_a_missing_image_is_missing() -> None:
    assert not registry(lambda request: httpx.Response(404)).has(DIGEST)


def test_a_token_is_fetched_where_the_registry_says() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.host == "auth.example":
            assert dict(request.url.params) == {"service": "r", "scope": "repository:lab:pull"}
            assert request.headers["Authorization"] == f"Basic {base64.b64encode(b'robot:a:b').decode()}"
            return httpx.Response(200, json={"token": "t"})
        if request.headers.get("Authorization") == "Bearer t":
            return httpx.Response(200)
        challenge = 'Bearer realm="https://auth.example/token",service="r",scope="repository:lab:pull"'
        return httpx.Response(401, headers={"WWW-Authenticate": challenge})

    assert registry(answer, LOGIN).has(DIGEST)


@pytest.mark.parametrize("status", [401, 403, 500, 503, 429])
def test_an_answer_that_says_nothing_is_the_platforms_trouble(status: int) -> None:
    with pytest.raises(PlatformError, match=f"answers {status}"):
        registry(lambda request: httpx.Response(status)).has(DIGEST)


def test_no_answer_is_the_platforms_trouble() -> None:
    def fail(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    with pytest.raises(PlatformError, match=r"registry registry\.example:5000 cannot be asked"):
        registry(fail).has(DIGEST)


@pytest.mark.parametrize(
    ("repository", "expected"),
    [
        ("registry.example:5000/a/b", ("registry.example:5000", "a/b")),
        ("ghcr.io/a/b", ("ghcr.io", "a/b")),
        ("localhost/a", ("localhost", "a")),
        ("a/b", ("registry-1.docker.io", "a/b")),
        ("a", ("registry-1.docker.io", "library/a")),
    ],
)
def test_host_and_path(repository: str, expected: tuple[str, str]) -> None:
    assert split(repository) == expected


@pytest.mark.parametrize(
    "name", ["registry.example:5000", "https://registry.example:5000", "https://registry.example:5000/v2/"]
)
@pytest.mark.parametrize(
    "entry", [{"auth": base64.b64encode(b"robot:a:b").decode()}, {"username": "robot", "password": "a:b"}]
)
def test_the_login_of_a_registry(tmp_path: Path, name: str, entry: dict[str, str]) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"auths": {"other": {"auth": ""}, name: entry}}))
    assert credentials(config, "registry.example:5000") == LOGIN
    assert credentials(config, "elsewhere") is None


def test_no_file_is_no_login(tmp_path: Path) -> None:
    assert credentials(tmp_path / "missing", "registry.example") is None


@pytest.mark.parametrize(
    "text", ["", "[]", '{"auths": {"r": {"auth": "%"}}}', '{"auths": {"r": {"user": "x"}}}', '{"auths": 1}']
)
def test_a_damaged_file_names_the_secret(tmp_path: Path, text: str) -> None:
    config = tmp_path / "config.json"
    config.write_text(text)
    with pytest.raises(PlatformError, match="Secret gpulab-registry"):
        credentials(config, "r")
