"""The report: one static HTML page, in English and Chinese, from a run's results.json. No torch is imported here."""

from model_tests.report.page import render

__all__ = ["render"]
