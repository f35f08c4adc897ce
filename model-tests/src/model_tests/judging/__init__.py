"""The judge's side: reads what produce left, believing nothing, and decides. Imports no student code."""
