"""A hub that does not answer is the machine's trouble, where code may download; anywhere else it is the code's."""

import socket
import sys
import types
import urllib.request

import pytest
import torch
from model_tests.producing.evaluation import EvaluationError, labelled
from model_tests.producing.student import StudentError, fetching, guard
from torch import nn


@pytest.fixture
def places():
    """A refusal, a name that nobody has, and somebody who says nothing: real sockets of this machine."""
    with socket.create_server(("127.0.0.1", 0)) as silent, socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
        closed.close()
        yield [
            f"http://{host}" for host in (f"127.0.0.1:{port}", "nobody.invalid", f"127.0.0.1:{silent.getsockname()[1]}")
        ]


def ask(library, place):
    if library == "urllib":
        return urllib.request.urlopen(place, timeout=0.3)  # noqa: S310 - an address of our own
    return pytest.importorskip(library).get(place, timeout=0.3)


def status(call, how=fetching):
    with pytest.raises(StudentError) as caught:
        how("build()", call)
    return caught.value.status


@pytest.mark.parametrize("library", ["urllib", "requests", "httpx", "httpx2"])
def test_no_answer_is_the_machines_trouble_whatever_asked(places, library):
    for place in places:
        assert status(lambda place=place: ask(library, place)) == "harness-error", place


def test_a_library_of_models_may_say_it_in_its_own_words(places):
    def load():
        try:
            ask("urllib", places[0])
        except OSError as error:
            raise LookupError("no such model, and the hub does not answer") from error

    assert status(load) == "harness-error"


def mistake(places):
    try:
        ask("urllib", places[0])
    except OSError:
        return {}["weights"]


def hidden(places):
    try:
        ask("urllib", places[0])
    except OSError:
        raise OSError("the weights are missing") from None


@pytest.mark.parametrize("code", [mistake, hidden])
def test_a_mistake_after_a_refusal_stays_theirs(places, code):
    assert status(lambda: code(places)) == "input-error"


@pytest.mark.parametrize("error", [BrokenPipeError(), FileNotFoundError(2, "no such file"), KeyError("x")])
def test_other_errors_of_code_that_may_download_stay_theirs(error):
    def code():
        raise error

    assert status(code) == "input-error"


@pytest.mark.parametrize("error", [ConnectionError("x"), TimeoutError(), socket.gaierror(-2, "Name not known")])
def test_code_that_has_nothing_to_download_misses_no_network(error, monkeypatch, judged, zoo_spec):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(32, 32)

        def forward(self, x):
            if x.dtype is torch.bfloat16:
                raise error
            return self.layer(x)

    def code():
        raise error

    assert status(code, guard) == "input-error"
    module = types.ModuleType("student_zoo")
    module.mlp = lambda: Model().eval()
    monkeypatch.setitem(sys.modules, "student_zoo", module)
    result, gates = judged(zoo_spec("mlp", [16, 32], {}, candidates=["bfloat16"]))
    assert (result["verdict"], gates["precision/bfloat16"]["key"]) == ("FAIL", "candidate.error")


def test_labelled_rows_may_be_downloaded_too(places, monkeypatch, zoo_spec):
    module = types.ModuleType("student_rows")
    module.rows = lambda: ask("urllib", places[0])
    monkeypatch.setitem(sys.modules, "student_rows", module)
    with pytest.raises(EvaluationError) as caught:
        labelled(zoo_spec("mlp", [16, 32], {}), "student_rows:rows")
    assert caught.value.status == "harness-error"
