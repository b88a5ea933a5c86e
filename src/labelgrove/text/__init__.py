"""Text into rows of features, with nothing to prepare: front ends for a stream that never ends."""

from labelgrove.text._counted import CountedTexts
from labelgrove.text._features import TextFeatures
from labelgrove.text._front_ends import FrontEnd, front_end_from_state
from labelgrove.text._hashed import HashedText

__all__ = ["CountedTexts", "FrontEnd", "HashedText", "TextFeatures", "front_end_from_state"]
