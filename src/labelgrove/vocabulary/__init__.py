"""What labels are called: names by language, notations, and what stands above them."""

from labelgrove.vocabulary._read import read_vocabulary
from labelgrove.vocabulary._vocabulary import Concept, Vocabulary

__all__ = ["Concept", "Vocabulary", "read_vocabulary"]
