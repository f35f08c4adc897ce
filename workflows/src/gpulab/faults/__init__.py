"""Faults to plant on purpose (`gpulab break`): each is one replacement of text in the starter's `model.py`.

Which fault is planted is read from the text itself, so there is no state to lose, and other edits survive.
"""

from gpulab.faults.catalogue import Fault, fault_named, faults, faults_of
from gpulab.faults.error import FaultError
from gpulab.faults.planting import plant, planted, undo

__all__ = ["Fault", "FaultError", "fault_named", "faults", "faults_of", "plant", "planted", "undo"]
