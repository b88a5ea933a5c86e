"""A client for LabelGrove's service: ``labelgrove.client.Client``."""

from __future__ import annotations

import bisect
import itertools
import os
import re
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from functools import partial
from operator import itemgetter
from typing import Any, Self, TypeVar
from urllib.parse import quote

from labelgrove._errors import DataError, LabelGroveError, MissingDependencyError
from labelgrove._names import check_savable
from labelgrove._parameters import integer
from labelgrove.vocabulary import Vocabulary

try:
    import httpx
except ImportError as error:
    raise MissingDependencyError(
        'labelgrove.client needs httpx; install it with pip install "labelgrove[service]"'
    ) from error

T = TypeVar("T")

_TRIES, _MORE_TRIES = 6, 14
"""To reach a service: for three seconds, or for three quarters of a minute if it has answered
before, since it may be starting again."""

_FIRST_PAUSE = 0.1
_LONGEST_PAUSE, _LONGEST_OF_OURS = 60, 5
_TRY_AGAIN = {429, 503}
_OTHER_CONTENT = (ValueError, LookupError, TypeError, RecursionError)
"""What comes of reading an answer that is not JSON, or that lacks what was expected."""

_AT_ONCE = 1_000
_MOST_CHARACTERS = 2_000_000
"""In one request; its body may have 32 MiB, and JSON writes a character in up to twelve bytes."""

_YEAR = 31_536_000  # in seconds


class ServiceError(LabelGroveError):
    """A request that the service refused or that did not reach it.

    Parameters
    ----------
    status : int
        HTTP status; 0 if there was no answer.
    detail : str
        The service's own message.
    row : int, optional
        Index of the refused text among those given, if the service refused one of several.
    """

    def __init__(self, status: int, detail: str, row: int | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.row = row

    def __reduce__(self) -> tuple[type[ServiceError], tuple[int, str, int | None]]:
        return type(self), (self.status, str(self), self.row)


def without_secret(url: str) -> str:
    """Return an address without user and password, for messages."""
    scheme, there, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{there}{host.rpartition('@')[2]}{slash}{path}"


def projects(url: str, *, token: str | None = None, timeout: float = 60.0) -> list[str]:
    """List the projects of a service.

    Parameters
    ----------
    url : str
        Address of the service.
    token : str, optional
        By default the environment variable ``LABELGROVE_TOKEN``.
    timeout : float
        Seconds to wait for an answer.

    Returns
    -------
    list of str

    Raises
    ------
    ServiceError
        If the service refuses, or cannot be reached.
    """
    with Client(url, ".", token=token, timeout=timeout) as client:
        return client.neighbours()


class Client:
    """A project of a service.

    Failed requests are retried. Requests that teach carry an idempotency key, so that nothing is
    learnt twice after a lost answer or a restart of the service. Threads may share a client, and a
    forked process may go on using its parent's.

    Parameters
    ----------
    url : str
        Address of the service, with the project's name as the fragment unless `project` is given:
        ``"http://localhost:8787#tickets"``.
    project : str, optional
        Name of the project.
    token : str, optional
        By default the environment variable ``LABELGROVE_TOKEN``.
    timeout : float
        Seconds to wait for an answer.
    transport : httpx.BaseTransport, optional
        Transport for the requests.

    Raises
    ------
    DataError
        If neither names a project.

    Examples
    --------
    >>> from labelgrove.client import Client
    >>> with Client("http://localhost:8787#tickets") as tickets:  # doctest: +SKIP
    ...     tickets.learn(["a lost parcel"], [["shipping"]])
    ...     tickets.suggest("where is my parcel")
    [('shipping', 0.81)]
    """

    def __init__(
        self,
        url: str,
        project: str | None = None,
        *,
        token: str | None = None,
        timeout: float = 60.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        base, _, fragment = url.partition("#")
        self.project = project or fragment
        if not self.project:
            raise DataError(f"{url}: expected the project's name as well, as in {base}#name")
        token = token or os.environ.get("LABELGROVE_TOKEN")
        self._has_answered = False
        self.url = without_secret(base.rstrip("/"))
        self._projects = f"{base.rstrip('/')}/v1/projects"
        self._home = f"{self._projects}/{quote(_name_of('project', self.project), safe='')}"
        self._connect = partial(
            httpx.Client,
            base_url=self._home,
            headers={"Authorization": f"Bearer {token}"} if token else None,
            timeout=timeout,
            transport=transport,
        )
        try:
            self._http, self._process = self._connect(), os.getpid()
        except httpx.InvalidURL as error:
            raise DataError(
                f"{url}: {error}; expected an address such as http://localhost:8787#name"
            ) from None

    # --- suggestions ---------------------------------------------------------------------------

    def suggest(self, text: str, k: int = 5) -> list[tuple[str, float]]:
        """Return the most probable labels of a text, best first.

        Parameters
        ----------
        text : str
        k : int

        Returns
        -------
        list of (label, score)

        Raises
        ------
        DataError
            If the text is not a string.
        """
        asked = {"text": _text_of("text", text), "limit": str(k)}
        return self._ask("POST", "/suggest", _pairs, data=asked)

    def remember(self, text: str, seconds: int, k: int = 5) -> tuple[str, list[tuple[str, float]]]:
        """Suggest labels like `suggest`, and let the service keep the text for `feedback`.

        Parameters
        ----------
        text : str
        seconds : int
            How long to keep it, up to a year.
        k : int

        Returns
        -------
        name : str
            The text's id, for `feedback`.
        labels : list of (label, score)

        Raises
        ------
        DataError
            If the text is not a string.
        ParameterError
            If ``seconds`` is not an integer from 1 to 31536000.
        """
        kept = integer("seconds", seconds, 1, _YEAR)
        asked = {"text": _text_of("text", text), "limit": str(k), "remember": str(kept)}
        answer = self._answer("POST", "/suggest", data=asked)
        return self._read(
            answer, lambda found: (answer.headers["labelgrove-suggestion"], _pairs(found))
        )

    def predict_topk(self, texts: Iterable[str], k: int = 5) -> list[list[tuple[str, float]]]:
        """Return the most probable labels of many texts, requested 32 at a time.

        Parameters
        ----------
        texts : iterable of str
        k : int

        Returns
        -------
        list of list of (label, score)

        Raises
        ------
        DataError
            If the texts are a single string, or one is not a string.
        """
        return [[(one["uri"], one["score"]) for one in row] for row in self.results(texts, k)]

    def results(self, texts: Iterable[str], k: int = 5) -> list[list[dict[str, Any]]]:
        """Return the most probable labels of many texts in the service's format, with their names.

        Like `predict_topk`, but each label is a dict of ``uri``, ``label`` (its name, or the uri
        again), ``notation`` and ``score``.
        """
        given = _texts_of(texts)
        answers: list[list[dict[str, Any]]] = []
        for some in _cut(given, 32):
            documents = [{"text": text} for text in given[some]]
            with _refused_row(some.start):
                answers += self._ask(
                    "POST",
                    "/suggest-batch",
                    partial(_results_of, count=len(documents)),
                    params={"limit": k},
                    json={"documents": documents},
                )
        return answers

    def explain(self, text: str, label: str | None = None) -> list[dict[str, Any]]:
        """Explain which words contribute to which labels, in the service's format."""
        asked = {"text": _text_of("text", text)}
        if label is not None:
            asked["label"] = _name_of("label", label)
        return self._ask("POST", "/explain", itemgetter("labels"), json=asked)

    # --- learning ------------------------------------------------------------------------------

    def learn(
        self,
        texts: Sequence[str],
        labels: Sequence[Iterable[str]],
        ids: Sequence[str] | None = None,
        *,
        applied: bool = False,
        stored: Callable[[int], None] | None = None,
    ) -> int:
        """Learn examples; they are durable when this returns.

        Parameters
        ----------
        texts : sequence of str
        labels : sequence of collections of str
            The labels of each text.
        ids : sequence of str, optional
            Names of the examples, with which they can be forgotten.
        applied : bool
            Whether to wait until the model has learnt them.
        stored : callable, optional
            Called after each request with the number of examples that are durable so far.

        Returns
        -------
        int
            Sequence number of the last example in the log.

        Raises
        ------
        DataError
            If the numbers of texts, labels and ids differ, or if a text, a label or an id is not a
            string of characters.
        ServiceError
            If the service refuses the examples, or cannot be reached.
        """
        _require_rows("labels", labels)
        texts = _texts_of(texts)
        own = [_labels_of(f"labels, row {row}", given) for row, given in enumerate(labels)]
        names = [None] * len(texts) if ids is None else _ids_of(ids)
        if not len(texts) == len(own) == len(names):
            named = "" if ids is None else f" and {len(names)} ids"
            raise DataError(
                f"found texts for {len(texts)} examples, labels for {len(own)}{named}; expected "
                "equal numbers"
            )
        sequence = 0
        for some in _cut(texts, _AT_ONCE):
            examples = [
                {"text": text, "labels": of_it} | ({} if name is None else {"id": name})
                for text, of_it, name in zip(texts[some], own[some], names[some], strict=True)
            ]
            with _refused_row(some.start):
                sequence = self._teach("POST", "/examples", {"examples": examples}, applied=applied)
            if stored is not None:
                stored(some.stop)
        return sequence

    def feedback(self, name: str, labels: Iterable[str], *, applied: bool = False) -> int:
        """Learn the right labels of a text that the service was asked to `remember`.

        Parameters
        ----------
        name : str
            The id from `remember`, which becomes the example's.
        labels : collection of str
        applied : bool
            Whether to wait until the model has learnt it.

        Returns
        -------
        int
            Sequence number of the example in the log.

        Raises
        ------
        DataError
            If the name or a label is not a string of characters.
        ServiceError
            If the text has expired, or already has other labels.
        """
        body = {"id": _name_of("name", name), "labels": _labels_of("labels", labels)}
        return self._teach("POST", "/feedback", body, applied=applied)

    def forget(self, name: str, *, applied: bool = False) -> int:
        """Forget an example, as if it had never been sent; return the event's sequence number.

        Raises
        ------
        DataError
            If no example can have this name.
        """
        if _name_of("name", name) in {"", ".", ".."} or "/" in name:
            # Besides, ".." in a path is its parent: the project.
            raise DataError(f"name: found {name!r:.80}; expected the id of an example")
        return self._teach("DELETE", f"/examples/{quote(name, safe='@')}", applied=applied)

    def change_labels(self, change: str, body: Mapping[str, Any], *, applied: bool = False) -> int:
        """Change labels: ``rename``, ``merge``, ``remove`` or ``deprecate`` them.

        Parameters
        ----------
        change : str
            The kind of change.
        body : mapping
            The request body, such as ``{"names": {"old": "new"}}``; see the service's
            documentation.
        applied : bool
            Whether to wait until the model has applied the change.
        """
        return self._teach("POST", f"/labels/{change}", body, applied=applied)

    # --- the project ---------------------------------------------------------------------------

    def make(
        self, settings: Mapping[str, Any] | None = None, vocabulary: Vocabulary | None = None
    ) -> None:
        """Create the project if it does not exist.

        Parameters
        ----------
        settings : mapping, optional
            Settings of the project; see the service's documentation.
        vocabulary : Vocabulary, optional
            Label names; other labels are never suggested. See
            `labelgrove.vocabulary.read_vocabulary`.

        Raises
        ------
        ServiceError
            If the project exists with other settings, or the settings are invalid.
        """
        words = {} if vocabulary is None else {"vocabulary": vocabulary.to_dicts()}
        self._ask("PUT", self._home, _having("project_id"), json={**(settings or {}), **words})

    def neighbours(self) -> list[str]:
        """List the names of all projects of the service."""
        return self._ask(
            "GET", self._projects, lambda found: [one["project_id"] for one in found["projects"]]
        )

    def stats(self) -> dict[str, Any]:
        """Return the project's statistics: sequence number, fingerprint, examples, labels."""
        return self._ask("GET", "/stats", _having("sequence", "fingerprint"))

    def events(self, after: int, limit: int = 1_000, wait: float = 0.0) -> dict[str, Any]:
        """Return the log's events after a sequence number; wait up to `wait` seconds for one."""
        asked = {"after": after, "limit": limit, "wait": wait}
        return self._ask("GET", "/log", _having("head", "events"), params=asked)

    def content(self, method: str, path: str, **request: Any) -> bytes:
        """Send any other request, and return the body of the answer.

        Parameters
        ----------
        method, path : str
            The path is relative to the project, such as ``"/thresholds"``.
        **request
            Arguments of ``httpx.Client.request``. The request may be sent more than once.

        Returns
        -------
        bytes

        Raises
        ------
        ServiceError
        """
        return self._answer(method, path, **request).content

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- requests ------------------------------------------------------------------------------

    def _teach(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, *, applied: bool
    ) -> int:
        return self._ask(
            method,
            path,
            lambda answer: int(answer["sequence"]),
            headers={"Idempotency-Key": secrets.token_hex(16)},
            params={"wait": "applied"} if applied else None,
            json=None if body is None else dict(body),
        )

    def _ask(self, method: str, path: str, read: Callable[[Any], T], **request: Any) -> T:
        """Return what `read` finds in the JSON of the answer."""
        return self._read(self._answer(method, path, **request), read)

    def _read(self, answer: httpx.Response, read: Callable[[Any], T]) -> T:
        try:
            return read(answer.json() if answer.content else None)
        except _OTHER_CONTENT:
            raise ServiceError(
                answer.status_code,
                f"{self.url}: found an answer of another kind of server; expected a service of "
                "LabelGrove",
            ) from None

    def _answer(self, method: str, path: str, **request: Any) -> httpx.Response:
        """Retry until there is an answer, with growing pauses; raise ServiceError for a refusal."""
        if self._process != os.getpid():  # a fork: its connections are also those of its parent
            self._http, self._process = self._connect(), os.getpid()
        pause = _FIRST_PAUSE
        tried = 0
        while True:
            tried += 1
            try:
                answer = self._http.request(method, path, **request)
            except (TypeError, UnicodeEncodeError) as error:  # in settings, for example
                raise DataError(f"{self.url}: cannot write the request ({error})") from None
            except httpx.RequestError as error:
                if tried >= (_MORE_TRIES if self._has_answered else _TRIES):
                    raise ServiceError(0, f"{self.url}: cannot be reached ({error})") from None
            else:
                self._has_answered = True
                if answer.status_code not in _TRY_AGAIN or tried >= _TRIES:
                    return self._checked(answer)
                asked = answer.headers.get("retry-after", "")  # seconds, or a date
                pause = max(pause, min(float(asked), _LONGEST_PAUSE) if asked.isdecimal() else 0)
            time.sleep(pause)
            pause = min(2 * pause, max(pause, _LONGEST_OF_OURS))

    def _checked(self, answer: httpx.Response) -> httpx.Response:
        if answer.is_success:
            return answer
        try:
            detail = answer.json()["detail"]
        except _OTHER_CONTENT:
            detail = f"{answer.status_code} {answer.reason_phrase}"
        raise ServiceError(answer.status_code, f"{self.url}: {detail}")


def _pairs(found: Any) -> list[tuple[str, float]]:
    return [(one["uri"], one["score"]) for one in found["results"]]


def _results_of(found: Any, count: int) -> list[list[dict[str, Any]]]:
    rows = [each["results"] for each in found]
    if len(rows) != count:
        raise ValueError(f"found {len(rows)} answers; expected {count}")
    return rows


def _having(*names: str) -> Callable[[Any], dict[str, Any]]:
    """Return a reader that takes an object as it is if it has these members."""

    def read(found: dict[str, Any]) -> dict[str, Any]:
        itemgetter(*names)(found)
        return found

    return read


def _cut(texts: Sequence[str], most: int) -> Iterator[slice]:
    """Cut texts into requests of at most ``most``, and not too long together."""
    ends = list(itertools.accumulate(map(len, texts)))
    begin = 0
    while begin < len(texts):
        longest = (ends[begin - 1] if begin else 0) + _MOST_CHARACTERS
        end = min(max(bisect.bisect_right(ends, longest), begin + 1), begin + most)
        yield slice(begin, end)
        begin = end


_PLACE = re.compile(r"`\.(examples|documents)\[(\d+)\]")


@contextmanager
def _refused_row(first: int) -> Iterator[None]:
    """Count the rows of a refusal from the first text given, not from the first of the request."""
    try:
        yield
    except ServiceError as error:
        place = _PLACE.search(str(error))
        if place is None:
            raise
        row = first + int(place[2])
        detail = f"{str(error)[: place.start()]}`.{place[1]}[{row}]{str(error)[place.end() :]}"
        raise ServiceError(error.status, detail, row) from None


def _require_rows(name: str, given: Any) -> None:
    if isinstance(given, str):
        raise DataError(
            f"{name}: found one string; expected a sequence with one element per example"
        )


def _texts_of(texts: Iterable[str]) -> list[str]:
    _require_rows("texts", texts)
    return [_text_of(f"texts, row {row}", text) for row, text in enumerate(texts)]


def _text_of(place: str, text: Any) -> str:
    """Return a text that JSON can hold: lone surrogates become question marks, as in models."""
    if not isinstance(text, str):
        raise DataError(f"{place}: found a {type(text).__name__}; expected a string")
    return text.encode("utf-8", "replace").decode("utf-8")


def _labels_of(place: str, given: Iterable[str]) -> list[str]:
    """Check the labels of an example; a string would count as a collection of letters."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise DataError(f"{place}: found {given!r:.80}; expected a collection of labels")
    names = [_name_of(place, label) for label in given]
    # The order of a set is arbitrary, and must not decide which label arrives first.
    return sorted(names) if isinstance(given, Set) else names


def _ids_of(ids: Sequence[str | None]) -> list[str | None]:
    _require_rows("ids", ids)
    return [
        None if name is None else _name_of(f"ids, row {row}", name) for row, name in enumerate(ids)
    ]


def _name_of(place: str, name: Any) -> str:
    """Check a name, which unlike a text must arrive as it is."""
    if not isinstance(name, str):
        raise DataError(f"{place}: found {name!r:.80}, a {type(name).__name__}; expected a string")
    check_savable([name], lambda _: f"{place}:")
    return str(name)
