"""How much device memory inference needs, from the model's configuration alone. No torch is imported here."""

from model_tests.memory.estimate import Estimate, config_of, estimate
from model_tests.memory.fit import Answer, Fit, fit
from model_tests.memory.parts import MemoryInputError

__all__ = ["Answer", "Estimate", "Fit", "MemoryInputError", "config_of", "estimate", "fit"]
