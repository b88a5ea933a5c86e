"""Text to sparse rows of hashed words, without a vocabulary, for streams of any length."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin

from labelgrove._elementary import log
from labelgrove._errors import ParameterError, brief
from labelgrove._parameters import integer, refuse_unknown
from labelgrove._validation import Rows, check_rows
from labelgrove.text._checked import checked_texts, each_checked_text
from labelgrove.text._settings import LONGEST_RUN, lengths
from labelgrove.text._words import Span

if TYPE_CHECKING:
    from sklearn.feature_extraction.text import HashingVectorizer

_TWO_WORD_CHARACTERS = r"(?u)\b\w\w+\b"


class HashedText(  # type: ignore[call-arg]
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    BaseEstimator,
    auto_wrap_output_keys=None,  # rows are sparse, whatever output scikit-learn is configured for
):
    r"""Turn texts into rows of hashed word counts: 1 + log(count), scaled to unit length.

    The column of a word (or run of words) is a hash of it. So nothing is learnt, no vocabulary is
    kept, new words may appear at any time, and the transformer consists only of its parameters.
    The price is that words may share a column. With w distinct words and m columns, a word is
    alone in its column with probability exp(-w/m): with 200,000 words in the default 2**20
    columns, that is 83 %. More columns cost nothing in a sparse row, but a model's tables of
    columns, if it has any, grow with them.

    Parameters
    ----------
    n_features : int, default=2**20
        Number of columns, 1 to 2**31 - 1.
    ngram_range : tuple of two ints, default=(1, 1)
        Shortest and longest runs of words that become features: (1, 2) adds pairs. At most 8.
    lowercase : bool, default=True
        Whether to ignore case.
    token_pattern : str, default=r"(?u)\b\w\w+\b"
        Regular expression of a word: by default two or more word characters, as in scikit-learn.
        If it contains a group, the group is the word.

    Raises
    ------
    ParameterError
        By any method, if a parameter lies outside its domain.

    Notes
    -----
    To a regular expression, combining marks are not word characters. So the default pattern cuts
    words at the vowel signs of Indic, Thai and Khmer script, and at accents in decomposed text;
    `TextFeatures` does not.

    Examples
    --------
    >>> X = HashedText(n_features=2**10).fit_transform(["a heap of words", "words, words, words"])
    >>> X.shape, X.dtype, X[[1]].nnz
    ((2, 1024), dtype('float32'), 1)
    >>> HashedText.from_dict(HashedText(ngram_range=(1, 2)).to_dict())
    HashedText(ngram_range=(1, 2))
    """

    kind: ClassVar[str] = "hashed-text"

    def __init__(
        self,
        n_features: int = 2**20,
        *,
        ngram_range: tuple[int, int] = (1, 1),
        lowercase: bool = True,
        token_pattern: str = _TWO_WORD_CHARACTERS,
    ) -> None:
        self.n_features = n_features
        self.ngram_range = ngram_range
        self.lowercase = lowercase
        self.token_pattern = token_pattern

    def fit(self, texts: Iterable[str], y: object = None) -> HashedText:  # noqa: ARG002
        """Check the parameters; there is nothing to learn."""
        self._check_parameters()
        return self

    def partial_fit(self, texts: Iterable[str], y: object = None) -> HashedText:
        """Do the same as `fit`."""
        return self.fit(texts, y)

    def transform(self, texts: Iterable[str]) -> csr_array:
        """Turn texts into rows.

        Parameters
        ----------
        texts : iterable of str
            One text per row; an iterator is consumed once and never held in memory as a whole.

        Returns
        -------
        csr_array (n_texts, n_features), float32
            Rows of unit length; a text without words is an empty row.

        Raises
        ------
        DataError
            When `texts` is a single string or not iterable, or an item is not a string; the
            message names the row.
        """
        self._check_parameters()
        rows = each_checked_text(texts)
        first = next(rows, None)
        if first is None:  # scikit-learn's vectoriser insists on a row
            return csr_array((0, self.n_features), dtype=np.float32)
        counts = csr_array(self._vectorizer().transform(chain((first,), rows)))
        weights = 1.0 + log(counts.data)
        row_of = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
        lengths = np.sqrt(np.bincount(row_of, np.square(weights), minlength=counts.shape[0]))
        parts = (weights / lengths[row_of]).astype(np.float32), counts.indices, counts.indptr
        return csr_array(parts, shape=counts.shape)

    def get_feature_names_out(self, input_features: object = None) -> npt.NDArray[Any]:
        """Name the columns by number, since a hash does not know its words; see `words`.

        Returns
        -------
        ndarray of object (str), shape (n_features,)
            ``"hashedtext0"``, ``"hashedtext1"``…
        """
        self._check_parameters()
        names: npt.NDArray[Any] = super().get_feature_names_out(input_features)
        return names

    @property
    def _n_features_out(self) -> int:
        return self.n_features

    def words(self, text: str) -> dict[int, str]:
        """Return the words of a text by the column that each is hashed to.

        A column does not know its words, so this hashes the words of the given text to find out
        which of them it represents there.

        Parameters
        ----------
        text : str

        Returns
        -------
        dict of int to str
            Column to word, or run of words; those that share a column are joined, in text order,
            as in ``"quota / herring"``.

        Examples
        --------
        >>> hashed = HashedText(n_features=2**10)
        >>> words = hashed.words("A heap of words")
        >>> [words[column] for column in hashed.transform(["a heap of words"]).indices]
        ['of', 'words', 'heap']
        """
        return {column: " / ".join(words) for column, words in self.sources(text).items()}

    def sources(self, text: str) -> dict[int, list[str]]:
        """Return, for each column, the words or runs of words of a text that it comes from.

        Each is listed once, in text order.
        """
        self._check_parameters()
        [checked] = checked_texts([text])
        found = list(dict.fromkeys(self._vectorizer().build_analyzer()(checked)))
        if not found:
            return {}
        from sklearn.feature_extraction import FeatureHasher

        hasher = FeatureHasher(self.n_features, input_type="string", alternate_sign=False)
        columns: dict[int, list[str]] = {}
        for word, column in zip(
            found, hasher.transform([[word] for word in found]).indices.tolist(), strict=True
        ):
            columns.setdefault(column, []).append(word)
        return columns

    def spans(self, text: str) -> list[Span]:
        """Return the words of a text: single ones, no runs.

        Matches of the pattern without characters are omitted.
        """
        self._check_parameters()
        [checked] = checked_texts([text])
        pattern = re.compile(self.token_pattern)
        # Words are found in lower case, where a letter may have become two, such as that of İ.
        parts = [one.lower() for one in checked] if self.lowercase else list(checked)
        places = [i for i, part in enumerate(parts) for _ in part]
        whole = checked.lower() if self.lowercase else checked
        found = (
            (one[pattern.groups], *one.span(pattern.groups)) for one in pattern.finditer(whole)
        )
        return [
            Span(places[begin], places[end - 1] + 1, name, is_run=False)
            for name, begin, end in found
            if name
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters as values that JSON can hold, for `from_dict`.

        Returns
        -------
        dict of str to int, bool, str or list of int
        """
        self._check_parameters()
        return {
            "n_features": int(self.n_features),
            "ngram_range": [int(length) for length in self.ngram_range],
            "lowercase": self.lowercase,
            "token_pattern": self.token_pattern,
        }

    def rows(self, texts: Iterable[str], threads: int) -> Rows:  # noqa: ARG002
        """As `transform`, for the estimators; ``threads`` has no effect."""
        return check_rows(self.transform(texts))

    fit_rows = rows

    def state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Return what a model file stores: a header of kind and parameters, and no arrays."""
        return {"kind": self.kind, **self.to_dict()}, {}

    @classmethod
    def from_dict(cls, parameters: Mapping[str, Any], *, trust_pattern: bool = False) -> HashedText:
        """Build a transformer from the output of `to_dict`.

        Parameters
        ----------
        parameters : mapping of str to value
            The output of `to_dict`, perhaps via JSON. Omitted parameters have their defaults.
        trust_pattern : bool
            Whether to accept a `token_pattern` other than the default. A regular expression can
            take for ever to match even a short text, so a malicious model file could hang the
            process that predicts with it.

        Returns
        -------
        HashedText

        Raises
        ------
        ParameterError
            When a parameter is unknown, or the pattern is not trusted.
        """
        refuse_unknown(parameters, cls())
        values = dict(parameters)
        pattern = values.get("token_pattern", _TWO_WORD_CHARACTERS)
        if pattern != _TWO_WORD_CHARACTERS and not trust_pattern:
            raise ParameterError(
                f"token_pattern={brief(pattern)}: a pattern can take for ever to match, so only "
                "the default is accepted from sources that are not trusted; expected the default, "
                "or trust_pattern=True"
            )
        if isinstance(values.get("ngram_range"), list):
            values["ngram_range"] = tuple(values["ngram_range"])
        text = cls(**values)
        text._check_parameters()
        return text

    def _check_parameters(self) -> None:
        integer("n_features", self.n_features, 1)
        lengths("ngram_range", self.ngram_range, LONGEST_RUN)
        if not isinstance(self.lowercase, bool):
            raise ParameterError(f"lowercase={self.lowercase!r}: expected True or False")
        pattern: Any = self.token_pattern
        try:
            groups = re.compile(pattern).groups
        except (TypeError, re.error, RecursionError, OverflowError) as error:
            raise ParameterError(
                f"token_pattern={brief(pattern)}: expected a regular expression ({error})"
            ) from None
        if groups > 1 or not isinstance(pattern, str):
            raise ParameterError(
                f"token_pattern={brief(pattern)}: expected a string with at most one group"
            )

    def _vectorizer(self) -> HashingVectorizer:
        from sklearn.feature_extraction.text import HashingVectorizer

        return HashingVectorizer(
            n_features=self.n_features,
            ngram_range=self.ngram_range,
            lowercase=self.lowercase,
            token_pattern=self.token_pattern,
            alternate_sign=False,
            norm=None,
            dtype=np.float64,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.requires_fit = False
        return tags
