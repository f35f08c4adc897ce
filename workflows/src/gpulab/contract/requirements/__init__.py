"""A project's requirements.txt against its image lane: what pip would install over the lane's Python, torch and CUDA.

The lane is built and tested with one PyTorch for one CUDA. `pip install -r requirements.txt` in a project's Dockerfile
may replace it without a word, and then a V100 has no kernels or the image grows by gigabytes; here it is a line.
"""

from gpulab.contract.requirements.lines import REQUIREMENTS, Line, read_requirements
from gpulab.contract.requirements.python import python_conflicts, read_python
from gpulab.contract.requirements.rules import conflicts

__all__ = ["REQUIREMENTS", "Line", "conflicts", "python_conflicts", "read_python", "read_requirements"]
