"""Input, output, and messages to the terminal."""
