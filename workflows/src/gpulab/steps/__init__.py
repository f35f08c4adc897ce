"""What the platform's pods run: functions from a typed input to a typed output.

Hera's runner calls them (`python -m hera.workflows.runner -e gpulab.steps.image:image`), so a step is tested as the
plain function it is. Adapters (forge, image store, cluster) come from `gpulab.platform`, by the environment.

No module here may say `from __future__ import annotations`: Hera reads the annotations as types.
"""
