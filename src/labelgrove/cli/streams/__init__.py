"""Files and pipes in and out; and what a person at a terminal is shown."""
