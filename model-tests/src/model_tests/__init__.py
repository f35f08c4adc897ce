"""Prove that a PyTorch model in FP16 or BF16 still computes what it computes in FP32."""

__version__ = "0.1.0"
