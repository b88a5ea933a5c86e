"""The programs that are measured; peers run in environments that lack LabelGrove."""
