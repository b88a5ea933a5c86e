"""Errors that a request may fail with."""

from __future__ import annotations

from labelgrove._errors import LabelGroveError


class Problem(LabelGroveError):
    """A failed request: an HTTP status and one sentence with the reason.

    Parameters
    ----------
    status : int
    detail : str
        Where, what was found, what was expected.
    retry_after : int, optional
        Seconds to wait before trying again.
    """

    def __init__(self, status: int, detail: str, retry_after: int | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.retry_after = 1 if retry_after is None and status in {429, 503} else retry_after


class Overtaken(Problem):
    """An event that others preceded, since when it may no longer be possible."""

    def __init__(self) -> None:
        super().__init__(503, "other changes keep coming first; try again")


class ShuttingDown(Problem):
    """A request that comes or lasts too late."""

    def __init__(self) -> None:
        super().__init__(503, "the service is shutting down; try again in a moment")


class DamagedLog(LabelGroveError):
    """A damaged log of a project; the message says what can be recovered, and how."""
