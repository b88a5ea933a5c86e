"""The names of labels: by language, with notations and broader concepts."""

from labelgrove.vocabulary._read import read_vocabulary
from labelgrove.vocabulary._vocabulary import Concept, Vocabulary

__all__ = ["Concept", "Vocabulary", "read_vocabulary"]
