"""The state of a trained model: locking, prediction, model files and compact copies."""
