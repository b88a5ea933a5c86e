"""What a model has learnt: its state, who may use it, its file, and compact copies."""
