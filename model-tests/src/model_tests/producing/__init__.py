"""What runs in the student's image: the parent that supervises, and the child that runs the student's code.

Everything here may import the standard library and torch, nothing else.
"""
