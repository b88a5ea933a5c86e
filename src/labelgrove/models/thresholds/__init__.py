"""Tuning thresholds on held-out examples."""
