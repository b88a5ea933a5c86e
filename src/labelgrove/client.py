"""A service of LabelGrove, from Python: ``labelgrove.client.Client``."""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self
from urllib.parse import quote

from labelgrove._errors import DataError, LabelGroveError, MissingDependencyError
from labelgrove.vocabulary import Vocabulary

try:
    import httpx
except ImportError as error:
    raise MissingDependencyError(
        'labelgrove.client needs httpx: pip install "labelgrove[service]"'
    ) from error

_TRIES = 6
_FIRST_PAUSE = 0.1
_TRY_AGAIN = {429, 503}
_AT_ONCE = 1_000


class ServiceError(LabelGroveError):
    """What a service has refused; the message is its own sentence.

    Parameters
    ----------
    status : int
        Of HTTP; 0 where nobody has answered.
    detail : str
    """

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status

    def __reduce__(self) -> tuple[type[ServiceError], tuple[int, str]]:
        return type(self), (self.status, str(self))


def projects(url: str, *, token: str | None = None, timeout: float = 60.0) -> list[str]:
    """The names of a service's projects.

    Parameters
    ----------
    url : str
        Of the service.
    token : str, optional
        By default the environment's ``LABELGROVE_TOKEN``.
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

    What may be sent again is sent again: everything that only asks, and everything that teaches,
    under a key by which the service knows that it is the same. So an answer that gets lost, or a
    service that is started anew, leads to nothing being learnt twice.

    Parameters
    ----------
    url : str
        Of the service, with the project's name as its fragment or as `project`:
        ``"http://localhost:8787#tickets"``.
    project : str, optional
    token : str, optional
        By default the environment's ``LABELGROVE_TOKEN``.
    timeout : float
        Seconds to wait for an answer.
    transport : httpx.BaseTransport, optional
        How requests travel.

    Raises
    ------
    DataError
        If there is no project's name in either place.

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
        self.url = base.rstrip("/")
        self._home = f"{self.url}/v1/projects/{quote(self.project, safe='')}"
        self._http = httpx.Client(
            base_url=self._home,
            headers={"Authorization": f"Bearer {token}"} if token else None,
            timeout=timeout,
            transport=transport,
        )

    # --- suggestions ---------------------------------------------------------------------------

    def suggest(self, text: str, k: int = 5) -> list[tuple[str, float]]:
        """The most probable labels of a text, best first.

        Parameters
        ----------
        text : str
        k : int

        Returns
        -------
        list of (label, score)
        """
        found = self._ask("POST", "/suggest", data={"text": text, "limit": str(k)})
        return [(one["uri"], one["score"]) for one in found["results"]]

    def predict_topk(self, texts: Iterable[str], k: int = 5) -> list[list[tuple[str, float]]]:
        """The same for many texts, 32 at a time.

        Parameters
        ----------
        texts : iterable of str
        k : int

        Returns
        -------
        list of list of (label, score)
        """
        given, answers = list(texts), []
        for begin in range(0, len(given), 32):
            documents = [{"text": text} for text in given[begin : begin + 32]]
            found = self._ask(
                "POST", "/suggest-batch", params={"limit": k}, json={"documents": documents}
            )
            answers += [[(one["uri"], one["score"]) for one in each["results"]] for each in found]
        return answers

    def explain(self, text: str, label: str | None = None) -> list[dict[str, Any]]:
        """Which words speak for which labels, as the service tells it."""
        asked = {"text": text} | ({} if label is None else {"label": label})
        labels: list[dict[str, Any]] = self._ask("POST", "/explain", json=asked)["labels"]
        return labels

    # --- learning ------------------------------------------------------------------------------

    def learn(
        self,
        texts: Sequence[str],
        labels: Sequence[Iterable[str]],
        ids: Sequence[str] | None = None,
        *,
        applied: bool = False,
    ) -> int:
        """Learn examples; when this returns they are kept.

        Parameters
        ----------
        texts : sequence of str
        labels : sequence of collections of str
            As many.
        ids : sequence of str, optional
            Names of the examples, by which they can be forgotten.
        applied : bool
            Whether to wait until they count in suggestions, too.

        Returns
        -------
        int
            The sequence number of the last one in the log.

        Raises
        ------
        DataError
            If there are not as many labels, or ids, as texts.
        ServiceError
            If the service refuses them, or cannot be reached.
        """
        for name, given in (("texts", texts), ("labels", labels)):
            if isinstance(given, str):
                raise DataError(
                    f"{name}: found one string; expected a sequence, of one for each example"
                )
        own = [_labels_of(row, labels[row]) for row in range(len(labels))]
        names: Sequence[str | None] = [None] * len(texts) if ids is None else ids
        if not len(texts) == len(labels) == len(names):
            raise DataError(
                f"found {len(texts)} texts, {len(labels)} collections of labels and {len(names)} "
                "ids; expected as many of each"
            )
        sequence = 0
        for begin in range(0, len(texts), _AT_ONCE):
            some = slice(begin, begin + _AT_ONCE)
            examples = [
                {"text": text, "labels": of_it} | ({} if name is None else {"id": name})
                for text, of_it, name in zip(texts[some], own[some], names[some], strict=True)
            ]
            sequence = self._teach("POST", "/examples", {"examples": examples}, applied=applied)
        return sequence

    def forget(self, name: str, *, applied: bool = False) -> int:
        """Forget an example, as if it had never been sent; returns the event's sequence number."""
        return self._teach("DELETE", f"/examples/{quote(name, safe='@')}", applied=applied)

    def change_labels(self, change: str, body: Mapping[str, Any], *, applied: bool = False) -> int:
        """``rename``, ``merge``, ``remove`` or ``deprecate`` labels.

        Parameters
        ----------
        change : str
        body : mapping
            As the service's documentation describes it: ``{"names": {"old": "new"}}`` and so on.
        applied : bool
        """
        return self._teach("POST", f"/labels/{change}", body, applied=applied)

    # --- the project ---------------------------------------------------------------------------

    def make(
        self, settings: Mapping[str, Any] | None = None, vocabulary: Vocabulary | None = None
    ) -> None:
        """Make the project, if it is not there.

        Parameters
        ----------
        settings : mapping, optional
            As the service's documentation describes them.
        vocabulary : Vocabulary, optional
            What labels are called; no others are suggested. See
            `labelgrove.vocabulary.read_vocabulary`.

        Raises
        ------
        ServiceError
            If the project is there with other settings, or they cannot be used.
        """
        words = {} if vocabulary is None else {"vocabulary": vocabulary.to_dicts()}
        self._ask("PUT", self._home, json={**(settings or {}), **words})

    def neighbours(self) -> list[str]:
        """The names of all projects of the same service."""
        found = json.loads(self.content("GET", f"{self.url}/v1/projects"))
        return [one["project_id"] for one in found["projects"]]

    def stats(self) -> dict[str, Any]:
        """How the project is: its sequence number, fingerprint, examples, labels."""
        stats: dict[str, Any] = self._ask("GET", "/stats")
        return stats

    def events(self, after: int, limit: int = 1_000, wait: float = 0.0) -> dict[str, Any]:
        """Events of the log that follow a sequence number, waited for if there are none."""
        asked = {"after": after, "limit": limit, "wait": wait}
        found: dict[str, Any] = self._ask("GET", "/log", params=asked)
        return found

    def content(self, method: str, path: str, **request: Any) -> bytes:
        """The body of an answer, for what has no method of its own; a failure is an error.

        Parameters
        ----------
        method, path : str
            The path below the project's, such as ``"/thresholds"``.
        **request
            As for ``httpx.Client.request``. It may be sent more than once.

        Returns
        -------
        bytes

        Raises
        ------
        ServiceError
        """
        return self._checked(self._answer(method, path, **request)).content

    def close(self) -> None:
        """Let go of connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- requests ------------------------------------------------------------------------------

    def _teach(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, *, applied: bool
    ) -> int:
        headers = {"Idempotency-Key": secrets.token_hex(16)}
        params = {"wait": "applied"} if applied else None
        sent: dict[str, Any] = {} if body is None else {"json": dict(body)}
        answer = self._ask(method, path, headers=headers, params=params, **sent)
        return int(answer["sequence"])

    def _ask(self, method: str, path: str, **request: Any) -> Any:
        answer = self._checked(self._answer(method, path, **request))
        return answer.json() if answer.content else None

    def _answer(self, method: str, path: str, **request: Any) -> httpx.Response:
        """Ask until there is an answer, with pauses that grow."""
        pause = _FIRST_PAUSE
        for left in reversed(range(_TRIES)):
            try:
                answer = self._http.request(method, path, **request)
            except httpx.TransportError as error:
                if not left:
                    raise ServiceError(0, f"{self.url}: cannot be reached ({error})") from None
            else:
                if answer.status_code not in _TRY_AGAIN or not left:
                    return answer
                pause = max(pause, float(answer.headers.get("retry-after", 0)))
            time.sleep(pause)
            pause *= 2
        raise AssertionError

    def _checked(self, answer: httpx.Response) -> httpx.Response:
        if answer.is_success:
            return answer
        try:
            detail = answer.json()["detail"]
        except (ValueError, LookupError, TypeError):
            detail = f"{answer.status_code} {answer.reason_phrase}"
        raise ServiceError(answer.status_code, f"{self.url}: {detail}")


def _labels_of(row: int, given: Iterable[str]) -> list[str]:
    """The labels of an example: a string would be a collection of letters."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise DataError(f"labels, row {row}: expected a collection of labels, found {given!r:.80}")
    return list(given)
