"""Trees built and learnt from all examples at once, and warm starts."""
