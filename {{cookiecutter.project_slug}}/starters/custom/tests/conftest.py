"""The project's contract, its model, built once, and texts as declared."""

import pytest
import torch
from torch import Tensor

from {{ cookiecutter.__package }}.model import Encoder, build
from {{ cookiecutter.__package }}.predictor import read_lab


@pytest.fixture(scope="session")
def lab() -> dict:
    return read_lab()


@pytest.fixture(scope="session")
def model(lab: dict) -> Encoder:
    torch.manual_seed(lab["model"]["seed"])
    return build(**lab["model"]["config"])


@pytest.fixture(scope="session")
def texts(lab: dict) -> tuple[Tensor, Tensor]:
    """Token ids and mask: the second half of every text but the first is padding."""
    declared = lab["inputs"][0]
    numbers = torch.Generator().manual_seed(1)
    tokens = torch.randint(declared["low"], declared["high"], declared["shape"], generator=numbers)
    mask = torch.ones_like(tokens)
    mask[1:, tokens.shape[1] // 2 :] = 0
    return tokens, mask


@pytest.fixture(autouse=True)
def without_gradients():
    with torch.inference_mode():
        yield
