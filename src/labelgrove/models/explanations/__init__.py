"""Explanations of predictions, as plain values."""
