"""What runs in a peer's environment: NumPy, SciPy and the peer are all that these may import."""
