"""Push a PyTorch model, get a judged release."""

__version__ = "0.1.0"
