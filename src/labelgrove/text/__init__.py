"""Front ends that turn text into rows of features, for streams of any length."""

from labelgrove.text._features import TextFeatures
from labelgrove.text._front_ends import FrontEnd
from labelgrove.text._hashed import HashedText

__all__ = ["FrontEnd", "HashedText", "TextFeatures"]
