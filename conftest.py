"""What holds for all tests of this repository."""

from hypothesis import settings

# a busy machine is slow: no test fails because an example took long
settings.register_profile("gpulab", deadline=None)
settings.load_profile("gpulab")
