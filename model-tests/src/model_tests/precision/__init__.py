"""How much of a model's answer a lower precision costs: errors in units of roundoff, noise floor, census, culprit."""
