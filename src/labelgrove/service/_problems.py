"""What a request may fail by."""

from __future__ import annotations

from labelgrove._errors import LabelGroveError


class Problem(LabelGroveError):
    """A request that cannot be answered: an HTTP status, and one sentence that says why.

    Parameters
    ----------
    status : int
    detail : str
        Where, what was found, what was expected.
    retry_after : int, optional
        Seconds after which it may succeed.
    """

    def __init__(self, status: int, detail: str, retry_after: int | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.retry_after = 1 if retry_after is None and status in {429, 503} else retry_after


class DamagedLog(LabelGroveError):
    """A project's log that cannot be trusted; the message says what can be recovered, and how."""
