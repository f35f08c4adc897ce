"""How fast the model runs. For now a plain timing, shown as information and never a gate."""
