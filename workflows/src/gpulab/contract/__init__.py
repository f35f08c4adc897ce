"""The contract between a project and the platform: `lab.toml`, Dockerfile and sources; read, check, explain.

Everything here is data in, data out, and imports no torch: `gpulab check` answers in a second.
"""

from gpulab.contract.finding import ContractError, Finding
from gpulab.contract.lab import Lab
from gpulab.contract.read import parse_lab, read_lab
from gpulab.contract.spec import spec_of

__all__ = ["ContractError", "Finding", "Lab", "parse_lab", "read_lab", "spec_of"]
