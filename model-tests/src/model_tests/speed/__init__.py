"""How fast the model runs: sides that take turns, an interval, a decision; and a plain timing, shown as information.

The candidate, the candidate again (A/A) and each baseline are processes of their own that take turns on one device;
the parent's clock times them. `intervals`, `decision` and `plausible` are pure and import no torch; `turns` is what the
parent does, `side` what runs the student's code.
"""
