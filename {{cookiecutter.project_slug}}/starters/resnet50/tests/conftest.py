"""The project's contract, its model, built once, and inputs as declared."""

import pytest
import torch
from torch import Tensor

from {{ cookiecutter.__package }}.model import ResNet, build
from {{ cookiecutter.__package }}.predictor import read_lab


@pytest.fixture(scope="session")
def lab() -> dict:
    return read_lab()


@pytest.fixture(scope="session")
def model(lab: dict) -> ResNet:
    torch.manual_seed(lab["model"]["seed"])
    return build(**lab["model"]["config"])


@pytest.fixture(scope="session")
def images(lab: dict) -> Tensor:
    return torch.randn(lab["inputs"][0]["shape"], generator=torch.Generator().manual_seed(1))
