"""The service: every answer and every refusal, without a network."""

import threading
import time

import pytest
import torch
from fastapi.testclient import TestClient

from {{ cookiecutter.__package }}.predictor import Predictor, read_lab
from {{ cookiecutter.__package }}.serve import create_app


def wait_until_ready(client: TestClient) -> None:
    for _ in range(600):
        if client.get("/readyz").status_code == 200:
            return
        time.sleep(0.05)
    pytest.fail(client.get("/readyz").text)


@pytest.fixture(scope="module")
def predictor() -> Predictor:
    return Predictor(read_lab())


@pytest.fixture(scope="module")
def client(predictor: Predictor):
    with TestClient(create_app(lambda: predictor)) as client:
        wait_until_ready(client)
        yield client


DECLARED = read_lab()["inputs"]
FIRST = DECLARED[0]["name"]


def rows(declared: dict, count: int = 2) -> torch.Tensor:
    """What a request may hold for one table of [[inputs]]."""
    shape, numbers = [count, *declared["shape"][1:]], torch.Generator().manual_seed(0)
    if declared["dtype"] == "int64":
        return torch.randint(declared["low"], declared["high"], shape, generator=numbers)
    return torch.randn(shape, generator=numbers)


def filled(value: object) -> list:
    """Two rows of the first input that hold one value throughout."""
    nested = value
    for size in reversed([2, *DECLARED[0]["shape"][1:]]):
        nested = [nested] * size
    return nested


def ask(client: TestClient, **changed: object):
    """A request that can be answered, but for what is changed."""
    return client.post("/v1/predict", json={"inputs": {one["name"]: rows(one).tolist() for one in DECLARED} | changed})


def test_the_answer_is_the_models_output(client, predictor):
    answer = ask(client)
    assert answer.status_code == 200
    expected = predictor.model(*map(rows, DECLARED))
    torch.testing.assert_close(torch.tensor(answer.json()["outputs"]), expected)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([*filled(1)[:1], [1]], "not a regular nested list"),
        (filled(1)[0], f"expected {len(DECLARED[0]['shape'])} nested lists"),
        ([], "none empty"),
        (filled("a"), "not a regular nested list"),
        (filled(1) * 17, "at most 32 rows"),
{% if cookiecutter.model == "resnet50" %}
        (filled(True), "expected finite numbers"),
        (filled(1e39), "expected finite numbers"),
{% else %}
        (filled(10**30), "not a regular nested list"),
        (filled(0.5), "expected whole numbers"),
        (filled(True), "expected whole numbers"),
        (filled(-1), "expected numbers from 0"),
        (filled(10**9), "expected numbers from 0"),
{% endif %}
{% if cookiecutter.model == "llama" %}
        ([[0] * 1000], "context"),
{% endif %}
    ],
)
def test_numbers_that_the_model_cannot_take_are_refused_in_words(client, values, words):
    answer = ask(client, **{FIRST: values})
    assert answer.status_code == 400
    assert words in answer.json()["error"]


def test_an_unknown_input_is_named(client):
    answer = client.post("/v1/predict", json={"inputs": {"unheard": [[1]]}})
    known = ", ".join(one["name"] for one in DECLARED)
    assert (answer.status_code, answer.json()) == (400, {"error": f"inputs: expected {known}, got unheard"})


@pytest.mark.parametrize("body", [{}, {"inputs": 1}, {"inputs": {FIRST: 1}}, {"inputs": {}, "extra": 1}, []])
def test_a_body_of_another_form_is_refused_in_words(client, body):
    answer = client.post("/v1/predict", json=body)
    assert answer.status_code == 422
    assert 'Expected {"inputs"' in answer.json()["error"]


def test_not_ready_until_loaded_and_warmed_up(predictor):
    loaded = threading.Event()
    with TestClient(create_app(lambda: loaded.wait(60) and predictor)) as client:
        assert client.get("/healthz").status_code == 200
        assert client.get("/readyz").status_code == 503
        assert ask(client).status_code == 503
        loaded.set()
        wait_until_ready(client)
        assert ask(client).status_code == 200


def test_a_model_that_cannot_be_loaded_is_reported_dead():
    def load() -> Predictor:
        raise RuntimeError("no such weights")

    with TestClient(create_app(load)) as client:
        for _ in range(600):
            if client.get("/healthz").status_code == 500:
                break
            time.sleep(0.05)
        assert "no such weights" in client.get("/healthz").json()["error"]
        assert client.get("/readyz").status_code == 503


def test_more_requests_than_may_wait_are_turned_away(predictor):
    with TestClient(create_app(lambda: predictor, max_requests=0)) as client:
        wait_until_ready(client)
        answer = ask(client)
        assert answer.status_code == 429
        assert answer.headers["Retry-After"] == "1"


def test_an_answer_that_is_not_finite_is_held_back_and_counted():
    broken = Predictor(read_lab())
    with torch.no_grad():
        list(broken.model.parameters())[-1].fill_(float("nan"))
    with TestClient(create_app(lambda: broken)) as client:
        wait_until_ready(client)
        answer = ask(client)
        assert (answer.status_code, answer.json()["error"]) == (500, "the model's answer has NaN or infinity in it")
        assert "model_nonfinite_total 1.0" in client.get("/metrics").text


def test_metrics_count_answers_by_path_and_status(client):
    ask(client)
    client.get("/no/such/page")
    text = client.get("/metrics").text
    assert 'http_requests_total{path="/v1/predict",status="200"}' in text
    assert 'http_requests_total{path="other",status="404"}' in text
    assert "inference_seconds_count" in text
