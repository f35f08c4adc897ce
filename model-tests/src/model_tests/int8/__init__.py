"""INT8 against float32, judged by what the model is for: quantisation, task metrics, and a decision by statistics.

What runs in the student's image imports torch and the standard library only. Importing this package itself needs
neither.
"""

SCHEMES = ("weight-only", "dynamic")
# What produce hands over for the judge, beside its report: `<name>.pt`.
LABELS = "int8-labels"
FLOAT32 = "int8-float32"
FILES = (LABELS, FLOAT32, *(f"int8-{scheme}" for scheme in SCHEMES))
