"""Text to sparse rows: words and subwords, weighted by their rarity in the stream."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone

from labelgrove import _core
from labelgrove._errors import ParameterError
from labelgrove._not_learned import NotLearnedError
from labelgrove._parameters import integer, refuse_unknown, thread_count
from labelgrove._sparse import csr_of
from labelgrove._validation import Rows
from labelgrove.text._checked import checked_texts
from labelgrove.text._counted import CountedTexts
from labelgrove.text._embeddings import (
    Embed,
    Triple,
    appended,
    embedding_of,
    taken_apart,
    unit_rows,
)
from labelgrove.text._settings import core_options, counts_documents, require_room, settings_of
from labelgrove.text._words import Span, names_by_column, values_by_column, words_and_runs

T = TypeVar("T")

Arrays = dict[str, npt.NDArray[Any]]


class TextFeatures(  # type: ignore[call-arg]
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    BaseEstimator,
    auto_wrap_output_keys=None,  # rows are sparse, whatever output scikit-learn is configured for
):
    r"""Turn texts into rows of hashed words and subwords, weighted by their rarity.

    No preparation is needed: words are hashed into columns, and the number of documents in which
    each column has occurred is counted as documents arrive (`partial_fit`), or for all of them at
    once (`fit`). Case and Unicode compatibility forms make no difference, on any machine. A word is
    a run of letters, digits and their marks. In scripts without spaces, such as Chinese, Japanese
    and Thai, every two neighbouring letters form a word.

    A feature that occurs c times in a text, and in d of n documents, has the weight
    (1 + log c)·(1 + log((1 + n) / (1 + d))). The words of a row are then scaled to length 1, its
    subwords to length ``subword_weight``.

    Parameters
    ----------
    preset : str, default="words+stems"
        Sets the parameters that are None:

        - ``"words"``: words;
        - ``"words+pairs"``: words and pairs of consecutive words;
        - ``"words+stems"``: words, and the first four letters of each word that has as many; texts
          of one or two words also have the letters within them (``short_texts=2``);
        - ``"words+subwords"``: words, and runs of 3 to 5 letters within them;
        - ``"subwords"``: runs of 3 to 5 letters within words.
    n_features : int, default=2**22
        Number of columns, 2 to 2**26. If there are words and subwords, words have half of them, and
        the subwords of short texts half of the rest.
        Every column takes 4 bytes of memory. If nothing is counted (without ``idf`` and with
        ``min_documents=1``), there may be up to 2**31 - 2, including those of ``embeddings``.
    words : tuple of two ints, optional
        Shortest and longest runs of words that are features: (1, 2) adds pairs. At most 8;
        (0, 0) for none.
    subwords : tuple of two ints, optional
        Shortest and longest runs of letters within words that are features. At most 15; (0, 0) for
        none. A letter and its marks, such as the vowel signs of Indic scripts, count as one.
    subwords_at : {"anywhere", "start"}, optional
        Position of subwords within a word. With "anywhere", the boundaries before and after a word
        count as letters, and a word that is too short, boundaries included, counts as a whole, as
        with scikit-learn's ``analyzer="char_wb"``. With "start", the boundary does not count.
    short_texts : int, optional
        Number of words, 0 to 8, up to which a text has another part of subwords, in columns of its
        own: all runs of one to three letters within its words, boundaries included. A name or a
        single word may be new, but its endings and syllables are not. In scripts without spaces,
        every four letters count as one word here; symbols never count. 0 for no text.
    subword_weight : float, optional
        Length of each of the subwords' parts of a row, relative to 1 for the words.
    idf : bool, optional
        Whether rare features weigh more.
    min_documents : int, optional
        Number of documents in which a feature must have occurred to be used. With 2, the preset
        value with pairs or subwords from anywhere, features that occur only once cost nothing. The
        first 4,096 documents are used with all of their features.
    most_features : int, optional
        Maximum number of features in each part of a row: those with the highest weights; ties go
        to the first column. 0 means all. It is 200 for ``"words+subwords"`` and ``"subwords"``;
        with 100, documents of 700 words were learnt in two thirds of the time.
    fold_accents : bool, default=False
        Whether é equals e: dots and accents above, below and through a letter are removed. Letters
        that Unicode does not decompose, such as ø, are kept.
    symbols : bool, default=True
        Whether symbols are words, too: each run of punctuation, such as ``->``, and each emoji.
        They say much in source code, mark-up, quotations and messages.
    embeddings : {None, "wordllama"} or callable, default=None
        Appends columns for the meaning of a text. ``"wordllama"`` has 256 columns, was trained
        mainly on English, and is installed by ``pip install "labelgrove[embeddings]"``. A callable
        maps a list of texts to an array with one row per text; the row of a text must not depend
        on other texts. A model file stores the name but no callable, which must be passed to
        ``labelgrove.load(path, embeddings=function)``.
    embedding_weight : float, default=0.5
        Length of the embedding, relative to 1 for the words.
    n_jobs : int, optional
        Number of threads; -1 for all processors. It does not affect the result.

    Attributes
    ----------
    n_documents_ : int
        Number of documents counted.

    Raises
    ------
    ParameterError
        By any method, if a parameter lies outside its domain.

    Notes
    -----
    `transform` weights a text as if it were the next document. Features that have occurred in no
    document are omitted, since no model can know them. If none of a text's words, or none of its
    subwords, has occurred, one of them is kept, so that the others weigh no more than in rows that
    were learnt.

    Words of more than 64 letters are cut into pieces of 64. Lone surrogates separate words.

    As everywhere in scikit-learn, parameters that are set later take effect at the next `fit`; only
    ``n_jobs`` does so at once. `partial_fit` continues with the parameters that it began with, and
    so does `transform` if it was called without `fit`.

    Examples
    --------
    >>> text = TextFeatures("words").fit(["a heap of words", "a stack of words"])
    >>> X = text.transform(["words, words and words"])
    >>> X.shape, X.dtype, X.nnz
    ((1, 4194304), dtype('float32'), 1)
    >>> text.partial_fit(["and more"]).n_documents_
    3
    """

    kind: ClassVar[str] = "text-features"
    _engine: _core.TextFeatures | None = None
    # The checked parameters of the engine, its embeddings, and their number of columns.
    _fitted: dict[str, Any]
    _embeddings: str | Embed | None
    _embedding_size: int | None = None  # unknown until there is an engine

    def __init__(
        self,
        preset: str = "words+stems",
        *,
        n_features: int = 2**22,
        words: tuple[int, int] | None = None,
        subwords: tuple[int, int] | None = None,
        subwords_at: str | None = None,
        short_texts: int | None = None,
        subword_weight: float | None = None,
        idf: bool | None = None,
        min_documents: int | None = None,
        most_features: int | None = None,
        fold_accents: bool = False,
        symbols: bool = True,
        embeddings: str | Embed | None = None,
        embedding_weight: float = 0.5,
        n_jobs: int | None = 1,
    ) -> None:
        self.preset = preset
        self.n_features = n_features
        self.words = words
        self.subwords = subwords
        self.subwords_at = subwords_at
        self.short_texts = short_texts
        self.subword_weight = subword_weight
        self.idf = idf
        self.min_documents = min_documents
        self.most_features = most_features
        self.fold_accents = fold_accents
        self.symbols = symbols
        self.embeddings = embeddings
        self.embedding_weight = embedding_weight
        self.n_jobs = n_jobs

    # --- as a transformer ----------------------------------------------------------------------

    def fit(self, texts: Iterable[str], y: object = None) -> Self:  # noqa: ARG002
        """Forget all documents, then count the given ones.

        Parameters
        ----------
        texts : iterable of str
            One text per document; an iterator is consumed once.
        y : ignored

        Returns
        -------
        self

        Raises
        ------
        DataError
            If ``texts`` is a single string, or an item is not a string; the message names the row.
        """
        settings = self._checked()
        engine = _new_engine(settings)
        engine.add(*engine.count(checked_texts(texts), thread_count(self.n_jobs)))
        self._start(engine, settings)
        return self

    def partial_fit(self, texts: Iterable[str], y: object = None) -> Self:  # noqa: ARG002
        """Count more documents: as :meth:`fit`, but without forgetting the earlier ones."""
        engine = self._started()
        engine.add(*engine.count(checked_texts(texts), thread_count(self.n_jobs)))
        return self

    def transform(self, texts: Iterable[str]) -> csr_array:
        """Turn texts into rows, without counting them.

        Parameters
        ----------
        texts : iterable of str

        Returns
        -------
        csr_array (n_texts, n_features), float32
            A text without words is an empty row. Embeddings are additional columns.

        Raises
        ------
        NotLearnedError
            If no document has been counted, unless the result does not depend on counts.
        DataError
            As for :meth:`fit`.
        """
        if self._engine is None and counts_documents(self._settings()):
            raise NotLearnedError(
                "this TextFeatures has not counted any document yet; call fit first"
            )
        return _csr(self.rows(texts, thread_count(self.n_jobs)))

    def fit_transform(self, texts: Iterable[str], y: object = None) -> csr_array:  # noqa: ARG002
        """Count the documents as :meth:`fit` does, and turn them into rows.

        The counts that weight a document include the document itself and all others. Its row
        therefore differs from the result of :meth:`transform`, which treats the text as one more
        document.
        """
        return _csr(self.fit_rows(texts, thread_count(self.n_jobs)))

    def get_feature_names_out(self, input_features: object = None) -> npt.NDArray[Any]:
        """Name the columns by number, since a hash does not know its words; see `sources`.

        Returns
        -------
        ndarray of object (str), shape (n_features,)
            ``"textfeatures0"``, ``"textfeatures1"``…
        """
        names: npt.NDArray[Any] = super().get_feature_names_out(input_features)
        return names

    @property
    def n_documents_(self) -> int:
        """Number of documents counted."""
        if self._engine is None:
            raise AttributeError("n_documents_ is available once a document has been counted")
        return self._engine.documents

    # --- for the estimators --------------------------------------------------------------------

    def sources(self, text: str) -> dict[int, list[str]]:
        """Return, for each column, the words or runs of words of a text that it comes from.

        Parameters
        ----------
        text : str

        Returns
        -------
        dict of int to list of str
            As they appear in the text, each once, in text order; a lone surrogate in a run, which
            could not be printed, is a question mark. In scripts without spaces, a word is every two
            neighbouring letters. Columns of an embedding come from ``"(its meaning)"``.

        Raises
        ------
        DataError
            If ``text`` is not a string.

        Examples
        --------
        >>> list(TextFeatures("words+stems").sources("Herrings, herring and roe").values())
        [['Herrings'], ['Herrings', 'herring'], [','], ['herring'], ['and'], ['roe']]
        """
        engine = self._engine or _new_engine(self._checked())
        named = names_by_column(engine, self.spans(text))
        # Two letters of a longer run, counted alone, have subwords that the run does not have.
        columns = set(engine.count(checked_texts([text]), 1)[1].tolist())
        found = {column: names for column, names in named.items() if column in columns}
        meaning = range(self._n_hashed, self._n_features_out)
        return found | {column: ["(its meaning)"] for column in meaning}

    def by_column(self, by_word: Mapping[str, T]) -> dict[int, T]:
        """Map the values of words to their columns.

        Keys that are not single words are ignored; if words share a column, the first one's value
        counts. Raises ParameterError if single words are not features.
        """
        options = self._options()
        if options["shortest_run"] != 1:
            raise ParameterError(
                f"words={self._settings()['words']}: vectors of words need single words as "
                "features; expected words=(1, 1) or (1, 2)"
            )
        return values_by_column(options, by_word)

    def spans(self, text: str) -> list[Span]:
        """Return the words of a text, then the runs that are features or have some."""
        settings = self._settings()
        return words_and_runs(text, settings["words"][1], settings["symbols"])

    def rows(self, texts: Iterable[str] | CountedTexts, threads: int) -> Rows:
        """As `transform`, for the estimators; counted texts are accepted, too."""
        engine = self._started()
        if isinstance(texts, CountedTexts):
            return self.weighted(texts, threads, as_next=True)
        given = checked_texts(texts)
        return self._rows(engine.transform(given, threads), given)

    def fit_rows(self, texts: Iterable[str] | CountedTexts, threads: int) -> Rows:
        """As `fit_transform`, for the estimators; counted texts are accepted, too."""
        settings = self._checked()
        engine = _new_engine(settings)
        if isinstance(texts, CountedTexts):
            self._start(engine, settings)
            self.add(texts)
            return self.weighted(texts, threads, as_next=False)
        given = checked_texts(texts)
        found = engine.fit_transform(given, threads)
        self._start(engine, settings)
        return self._rows(found, given)

    def add(self, counts: CountedTexts) -> None:
        """Add documents whose features have already been counted."""
        engine = self._started()
        for part in counts.parts:
            engine.add(*self._without_meaning(part.arrays)[0])

    def weighted(self, counts: CountedTexts, threads: int, *, as_next: bool) -> Rows:
        """Turn counts into rows, of documents already added or, with `as_next`, not yet added."""
        parts = [self._without_meaning(part.arrays) for part in counts.parts]
        own, meanings = zip(*parts, strict=True)
        arrays: Triple = self._started().weighted(list(own), as_next, threads)
        if self._embedding_size:
            arrays = appended(arrays, np.concatenate(meanings), self._n_hashed)
        return Rows(*arrays, len(counts), self._n_features_out, dense=False)

    def counted(self, texts: Iterable[str] | CountedTexts, threads: int) -> CountedTexts:
        """Count how often each feature occurs in texts, independent of earlier counts."""
        engine = self._started()
        if isinstance(texts, CountedTexts):
            return texts
        given = checked_texts(texts)
        return CountedTexts((self._rows(engine.count(given, threads), given),))

    def uncounted(self) -> TextFeatures:
        """Return a copy with the parameters in force that has counted no documents."""
        copy: TextFeatures = clone(self)
        if self._engine is not None:
            copy.set_params(**{**self._fitted, "embeddings": self._embeddings})
        return copy

    def learn(self, counts: Rows, begin: int, end: int, threads: int) -> Rows:
        """Add some of the documents one by one, weighting each by the counts at that moment.

        Of the rows returned by `counted`, those from ``begin`` to ``end`` are added; all others are
        empty in the result. How the documents are split into ranges does not affect it.
        """
        own, meaning = self._without_meaning(counts.part(begin, end).arrays)
        learnt = self._started().learn(*own, threads)
        if meaning is not None:
            learnt = appended(learnt, meaning, self._n_hashed)
        ends, ids, values = learnt
        indptr = np.zeros(counts.n_rows + 1, np.int64)
        indptr[begin : end + 1] = ends
        indptr[end + 1 :] = ends[-1]
        return counts._replace(indptr=indptr, ids=ids, values=values)

    # --- files ---------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters as values that JSON can hold, for `from_dict`.

        Returns
        -------
        dict of str to int, float, bool, str or list of int
        """
        return _as_json(self._checked())

    @classmethod
    def from_dict(cls, parameters: Mapping[str, Any]) -> TextFeatures:
        """Build a transformer from the output of `to_dict`; it has counted nothing.

        Parameters
        ----------
        parameters : mapping of str to value
            The output of `to_dict`, perhaps via JSON. Omitted parameters have their defaults.

        Returns
        -------
        TextFeatures

        Raises
        ------
        ParameterError
            If a parameter is unknown.
        """
        refuse_unknown(parameters, cls())
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in parameters.items()
        }
        text = cls(**values)
        text.to_dict()  # checks the parameters
        return text

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """Return what a model file stores: a header of kind and parameters, and the counts."""
        saved = self._started().save()
        header = {"kind": self.kind, **_as_json(self._fitted)}
        if self._embedding_size:
            header["embedding_size"] = self._embedding_size
        return header, saved

    @classmethod
    def from_state(
        cls, parameters: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]
    ) -> TextFeatures:
        """Build the front end from the parameters in the header of `state`, and its arrays.

        Raises ParameterError, ModelFileError or ValueError if they are invalid.
        """
        kept = dict(parameters)
        size = integer("embedding_size", kept.pop("embedding_size", 0), 0)
        # Old files have none of these.
        text = cls.from_dict({"most_features": 0, "short_texts": 0, "symbols": False, **kept})
        if (text.embeddings is None) != (size == 0):
            raise ParameterError("embedding_size and embeddings contradict each other")
        settings = settings_of(vars(text))
        require_room(settings, size)
        state = {
            "_engine": dict(arrays),
            "_fitted": settings,
            "_embeddings": text.embeddings,
            "_embedding_size": size,
        }
        text.__setstate__({**text.__getstate__(), **state})
        return text

    def embed_with(self, function: Embed) -> None:
        """Use the function that the state could not store."""
        self.embeddings = self._embeddings = function

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if self._engine is not None:
            state["_engine"] = self._engine.save()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if self._engine is not None:
            self._engine = _core.TextFeatures.load(self._options(), state["_engine"])

    # --- inside --------------------------------------------------------------------------------

    def _started(self) -> _core.TextFeatures:
        """Return the engine that counts, created if necessary."""
        if self._engine is None:
            settings = self._checked()
            self._start(_new_engine(settings), settings)
        assert self._engine is not None
        return self._engine

    def _start(self, engine: _core.TextFeatures, settings: dict[str, Any]) -> None:
        """Adopt an engine and the parameters that it was made with."""
        embeddings, size = self.embeddings, 0
        if embeddings is not None:
            size = unit_rows(embedding_of(embeddings), ["a text"]).shape[1]
            require_room(settings, size)
        self._fitted, self._embeddings, self._embedding_size = settings, embeddings, size
        self._engine = engine

    def _checked(self) -> dict[str, Any]:
        """Return the checked parameters, with the preset's values for those that are None."""
        return settings_of(vars(self))

    def _settings(self) -> dict[str, Any]:
        """Return the parameters in force: those of the engine, or the next one's."""
        return self._checked() if self._engine is None else self._fitted

    def _options(self) -> dict[str, Any]:
        """Return the same settings in the form that the core expects."""
        return core_options(self._settings())

    def _rows(self, arrays: Triple, texts: list[str]) -> Rows:
        """Add embeddings to the rows that the core has made of texts."""
        if self._embedding_size:
            meaning = unit_rows(embedding_of(self._embeddings), texts, self._embedding_size)
            weight = np.float32(self._fitted["embedding_weight"])
            arrays = appended(arrays, meaning * weight, self._n_hashed)
        return Rows(*arrays, len(texts), self._n_features_out, dense=False)

    def _without_meaning(self, rows: Triple) -> tuple[Triple, npt.NDArray[np.float32] | None]:
        """Remove the embeddings that `_rows` has added."""
        return taken_apart(rows, self._embedding_size) if self._embedding_size else (rows, None)

    @property
    def _n_hashed(self) -> int:
        """Number of columns of words and subwords, which precede those of the embedding."""
        return int(self._settings()["n_features"])

    @property
    def _n_features_out(self) -> int:
        return self._n_hashed + (self._embedding_size or 0)

    def __sklearn_clone__(self) -> TextFeatures:
        # A deep copy of `embeddings` could copy a model of gigabytes.
        return type(self)(**self.get_params(deep=False))

    def __sklearn_is_fitted__(self) -> bool:
        return self._engine is not None or not counts_documents(self._settings())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags


def _new_engine(settings: Mapping[str, Any]) -> _core.TextFeatures:
    return _core.TextFeatures(core_options(settings))


def _as_json(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings as `to_dict` does, without those of an embedding if there is none.

    So models that have none can be read by versions that know none.
    """
    unused = [] if settings["embeddings"] else ["embeddings", "embedding_weight"]
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in settings.items()
        if name not in unused
    }


def _csr(rows: Rows) -> csr_array:
    shape = (rows.n_rows, rows.n_features)
    return csr_of(rows.values, rows.ids.view(np.int32), rows.indptr, shape)
