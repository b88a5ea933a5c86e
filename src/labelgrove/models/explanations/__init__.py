"""Why labels are predicted, as plain values."""
