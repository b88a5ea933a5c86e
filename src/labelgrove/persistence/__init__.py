"""The model file: a safe, versioned, memory-mapped container (see docs/format.md)."""

from labelgrove.persistence._container import FORMAT_VERSION
from labelgrove.persistence._entry import Storable
from labelgrove.persistence._read import StoredModel, read_model
from labelgrove.persistence._write import model_bytes, model_fingerprint, write_model

__all__ = [
    "FORMAT_VERSION",
    "Storable",
    "StoredModel",
    "model_bytes",
    "model_fingerprint",
    "read_model",
    "write_model",
]
