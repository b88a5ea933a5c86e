"""The compiled engine of LabelGrove; private."""
