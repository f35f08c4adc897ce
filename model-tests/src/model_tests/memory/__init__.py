"""How much device memory inference needs, from the model's configuration alone. No torch is imported here."""

from model_tests.memory.estimate import Estimate, MemoryInputError, estimate
from model_tests.memory.fit import Answer, Fit, fit

__all__ = ["Answer", "Estimate", "Fit", "MemoryInputError", "estimate", "fit"]
