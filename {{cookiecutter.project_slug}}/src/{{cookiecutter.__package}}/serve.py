"""The model behind HTTP, started as `python -m <package>.serve`.

`POST /v1/predict` takes `{"inputs": {"tokens": [[1, 2, 3]]}}` and answers `{"outputs": [[[…]]]}`. Beside it:
`/healthz` (the process lives), `/readyz` (503 until the model is loaded and warmed up), `/metrics` (Prometheus).
An error is `{"error": "…"}` in words: 400 numbers the model cannot take, 422 not the form above, 429 too many
requests at once, 503 not ready, 500 an answer that is not finite.
"""

import asyncio
import logging
import os
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from pydantic import BaseModel, ConfigDict

from .predictor import BadInput, NotFinite, Predictor, read_lab

MAX_REQUESTS = 16
PATHS = ("/v1/predict", "/healthz", "/readyz", "/metrics")
log = logging.getLogger("uvicorn.error")


class PredictRequest(BaseModel):
    """The body of a prediction: one nested list per input, by name."""

    model_config = ConfigDict(extra="forbid")
    inputs: dict[str, list[Any]]


class Metrics:
    """What Prometheus reads; a registry of its own, so that two apps in one process do not collide."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter("http_requests", "Requests answered.", ["path", "status"], registry=self.registry)
        self.seconds = Histogram("inference_seconds", "Seconds of one prediction.", registry=self.registry)
        self.running = Gauge("inference_requests", "Predictions waiting or running.", registry=self.registry)
        self.nonfinite = Counter("model_nonfinite", "Answers held back as NaN or infinity.", registry=self.registry)


class Service:
    """The model, whether it is ready, and how many requests wait for it."""

    def __init__(self, load: Callable[[], Predictor], max_requests: int):
        self.load, self.max_requests = load, max_requests
        self.predictor: Predictor | None = None
        self.reason, self.failed, self.waiting = "loading the model", False, 0
        self.turn = asyncio.Lock()  # one forward at a time: two would only fight for the same cores
        self.metrics = Metrics()

    def start(self) -> None:
        """Load and warm up; runs in a thread, so that probes are answered meanwhile."""
        try:
            predictor = self.load()
            predictor.warm_up()
            self.predictor, self.reason = predictor, "ready"
        except Exception as error:  # whatever a model does at load must reach the log and the probes
            log.exception("the model could not be loaded")
            self.reason, self.failed = f"the model could not be loaded: {type(error).__name__}: {error}", True

    def stop(self) -> None:
        """Take no new requests."""
        self.predictor, self.reason = None, "shutting down"

    async def predict(self, request: PredictRequest) -> Response:
        """Answer one request, or say in words why not."""
        predictor = self.predictor
        if predictor is None:
            return problem(503, f"not ready: {self.reason}", {"Retry-After": "2"})
        if self.waiting >= self.max_requests:
            return problem(429, f"{self.waiting} requests are waiting already, try again", {"Retry-After": "1"})
        self.waiting += 1
        try:
            async with self.turn:
                return await self.answer(predictor, request.inputs)
        finally:
            self.waiting -= 1

    async def answer(self, predictor: Predictor, inputs: dict[str, list[Any]]) -> Response:
        """Run the model in a thread; every way to fail has a status and a sentence."""
        try:
            with self.metrics.seconds.time():
                body = await run_in_threadpool(predictor.answer, inputs)
        except BadInput as error:
            return problem(400, str(error))
        except NotFinite as error:
            self.metrics.nonfinite.inc()
            return problem(500, str(error))
        except Exception as error:  # details belong into the log, not to the caller
            log.exception("the model failed")
            return problem(500, f"the model failed with {type(error).__name__}")
        return Response(body, media_type="application/json")


def problem(status: int, message: str, headers: dict[str, str] | None = None) -> JSONResponse:
    """An error in words."""
    return JSONResponse({"error": message}, status, headers)


async def not_the_form(_: Request, error: Exception) -> JSONResponse:
    """422: which part of the body is not as documented."""
    assert isinstance(error, RequestValidationError)
    found = (f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
    return problem(422, "; ".join(found) + '. Expected {"inputs": {"<name>": [[…]]}}')


def create_app(load: Callable[[], Predictor] | None = None, max_requests: int = MAX_REQUESTS) -> FastAPI:
    """The application; `load` makes the predictor (tests bring their own)."""
    service = Service(load or (lambda: Predictor(read_lab())), max_requests)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        threading.Thread(target=service.start, daemon=True).start()
        yield
        service.stop()

    app = FastAPI(title="Prediction service", lifespan=lifespan)
    app.add_exception_handler(RequestValidationError, not_the_form)
    app.add_api_route("/v1/predict", service.predict, methods=["POST"])
    add_probes(app, service)
    return app


def add_probes(app: FastAPI, service: Service) -> None:
    """Liveness, readiness, metrics, and a count of every answer."""

    @app.get("/healthz")
    async def healthz() -> Response:
        return problem(500, service.reason) if service.failed else JSONResponse({"status": "alive"})

    @app.get("/readyz")
    async def readyz() -> Response:
        return JSONResponse({"status": "ready"}) if service.predictor else problem(503, service.reason)

    @app.get("/metrics")
    async def metrics() -> Response:
        service.metrics.running.set(service.waiting)
        return Response(generate_latest(service.metrics.registry), media_type=CONTENT_TYPE_LATEST)

    @app.middleware("http")
    async def count(request: Request, answer: Callable[[Request], Awaitable[Response]]) -> Response:
        response = await answer(request)
        path = request.url.path if request.url.path in PATHS else "other"  # a label per unknown path would never end
        service.metrics.requests.labels(path, response.status_code).inc()
        return response


def main() -> None:
    """Serve until SIGTERM, then finish the requests in flight."""
    host, port = os.environ.get("HOST", "0.0.0.0"), os.environ.get("PORT") or read_lab()["serving"]["port"]
    uvicorn.run(create_app(), host=host, port=int(port), access_log=False, timeout_graceful_shutdown=20)


if __name__ == "__main__":
    main()
