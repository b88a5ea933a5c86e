"""The one error that is also scikit-learn's, which takes a second to import."""

from __future__ import annotations

from sklearn.exceptions import NotFittedError

from labelgrove._errors import LabelGroveError


class NotLearnedError(LabelGroveError, NotFittedError):
    """A model was used before it has learnt from any example."""
