"""The project's contract and its model, built once."""

import pytest
import torch
from torch import Tensor

from {{ cookiecutter.__package }}.model import Llama, build
from {{ cookiecutter.__package }}.predictor import read_lab


@pytest.fixture(scope="session")
def lab() -> dict:
    return read_lab()


@pytest.fixture(scope="session")
def model(lab: dict) -> Llama:
    torch.manual_seed(lab["model"]["seed"])
    return build(**lab["model"]["config"])


@pytest.fixture(scope="session")
def tokens(lab: dict) -> Tensor:
    declared = lab["inputs"][0]
    numbers = torch.Generator().manual_seed(1)
    return torch.randint(declared["low"], declared["high"], declared["shape"], generator=numbers)


@pytest.fixture(autouse=True)
def without_gradients():
    with torch.inference_mode():
        yield
