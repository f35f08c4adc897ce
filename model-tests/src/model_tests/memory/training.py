"""What training keeps on the device beside activations: weights, gradients and the optimiser's states."""

from collections.abc import Mapping

# Tensors of a parameter's size that the optimiser keeps (torch.optim: momentum buffer; exp_avg and exp_avg_sq).
OPTIMIZERS: Mapping[str, int] = {"sgd": 0, "sgd-momentum": 1, "adamw": 2}
FLOAT32_BYTES = 4
AUTOCAST_BYTES = 2


def training_state(parameters: int, optimizer: str, autocast: bool = False) -> int:
    """Return bytes of float32 training: 16 per parameter with AdamW, 18 with autocast's cache of half copies.

    A lower bound of the peak, which is the larger of the optimiser's step and the backward pass with its activations.
    KeyError for an optimiser that is not in OPTIMIZERS.
    """
    held = 2 + OPTIMIZERS[optimizer]  # the weights and their gradients
    return parameters * (held * FLOAT32_BYTES + (AUTOCAST_BYTES if autocast else 0))
