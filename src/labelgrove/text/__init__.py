"""Text into rows of features, with nothing to prepare: front ends for a stream that never ends."""

from labelgrove.text._features import TextFeatures
from labelgrove.text._front_ends import FrontEnd
from labelgrove.text._hashed import HashedText

__all__ = ["FrontEnd", "HashedText", "TextFeatures"]
