"""`python -m gpulab.cli` is `gpulab`."""

from gpulab.cli import main

main()
