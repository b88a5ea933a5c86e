"""Thresholds tuned on what fitted estimators make of held-out examples."""
