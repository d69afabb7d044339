"""Printing of derivations and reductions: for readers, and as array code."""
