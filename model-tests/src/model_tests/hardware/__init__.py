"""Which accelerators exist, and would this model run on them? No torch is imported here."""

from model_tests.hardware.card import card
from model_tests.hardware.catalogue import Accelerator, UnknownAcceleratorError, catalogue, find

__all__ = ["Accelerator", "UnknownAcceleratorError", "card", "catalogue", "find"]
