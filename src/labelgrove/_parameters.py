"""Validation of parameters.

For a value outside its domain, each function raises a `ParameterError` that names the parameter,
the value and the domain.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from labelgrove._errors import ParameterError, brief

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

_MOST_THREADS = 1024
_THREADS_PER_PROCESSOR = 2

_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_UNITS |= {"kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}


def seed_from(random_state: Any) -> int:
    """Return a 64-bit seed: an int itself, or one drawn from a generator or for None."""
    if isinstance(random_state, Integral) and not isinstance(random_state, bool):
        if not 0 <= int(random_state) < 2**64:
            raise ParameterError(
                f"random_state={brief(random_state)}: expected 0 to 2**64 - 1, None or a "
                "RandomState"
            )
        return int(random_state)
    from sklearn.utils import check_random_state

    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except ValueError as error:
        raise ParameterError(f"random_state={brief(random_state)}: {error}") from error


def thread_count(n_jobs: int | None, *, here: bool = True) -> int:
    """Return the threads for ``n_jobs``: None is 1, -1 all processors, -2 all but one, ....

    More than two for each processor are useless, so there are no more, unless the threads are not
    ``here`` but on other machines.
    """
    if n_jobs is None:
        return 1
    if type(n_jobs) is int and 0 < n_jobs <= _THREADS_PER_PROCESSOR:
        return n_jobs
    if not isinstance(n_jobs, Integral) or int(n_jobs) == 0:
        raise ParameterError(
            f"n_jobs={brief(n_jobs)}: expected a positive or negative integer, or None"
        )
    available = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    if n_jobs > 0:
        return min(int(n_jobs), _THREADS_PER_PROCESSOR * available if here else _MOST_THREADS)
    return max(1, available + 1 + int(n_jobs))


def choice(name: str, value: Any, domain: Iterable[str]) -> str:
    """Return the value after checking that it is one of a few words."""
    words = list(domain)
    if not isinstance(value, str) or value not in words:
        raise ParameterError(
            f"{name}={brief(value)}: expected one of {', '.join(map(repr, words))}"
        )
    return value


def words(name: str, values: Any) -> tuple[str, ...]:
    """Return the strings of a collection as a tuple."""
    if isinstance(values, Iterable) and not isinstance(values, str | bytes):
        found = tuple(values)
        if all(isinstance(value, str) for value in found):
            return found
    raise ParameterError(f"{name}={values!r:.80}: expected a collection of strings")


def flag(name: str, value: Any) -> bool:
    """Return True or False, given as a bool, 0 or 1."""
    if not isinstance(value, bool | np.bool_ | Integral) or value not in (0, 1):
        raise ParameterError(f"{name}={brief(value)}: expected True or False")
    return bool(value)


def refuse_unknown(names: Iterable[str], estimator: BaseEstimator) -> None:
    """Refuse names that are not parameters of an estimator."""
    unknown = sorted(set(names) - set(estimator.get_params()))
    if unknown:
        raise ParameterError(f"{unknown[0]!r} is not a parameter of {type(estimator).__name__}")


def integer(name: str, value: Any, least: int, most: int | None = 2**31 - 1) -> int:
    """Return the value as an int; without ``most``, it may have up to 63 bits."""
    greatest = 2**63 - 1 if most is None else most
    if type(value) is int and least <= value <= greatest:
        return value
    if (
        isinstance(value, bool)
        or not isinstance(value, Integral)
        or not least <= int(value) <= greatest
    ):
        domain = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise ParameterError(f"{name}={brief(value)}: expected an integer {domain}")
    return int(value)


def size_from(name: str, text: str) -> int:
    """Parse a human-readable number of bytes, with at most 18 digits before the decimal point.

    The units are B, the default, and kB, MB, GB, TB, KiB, MiB, GiB and TiB in any case.

    Examples
    --------
    >>> size_from("size", "10MB"), size_from("size", "1.5 KiB"), size_from("size", "2tb")
    (10000000, 1536, 2000000000000)
    """
    found = re.fullmatch(r"\s*(\d{1,18}(?:\.\d+)?)\s*([a-z]*)\s*", text, re.IGNORECASE | re.ASCII)
    if found is None or found[2].lower() not in _UNITS:
        raise ParameterError(f"{name} {text}: expected a size such as 500kB, 10MB or 2GiB")
    return int(float(found[1]) * _UNITS[found[2].lower()])


def byte_count(name: str, value: Any, least: int) -> int:
    """Return a number of bytes, given as an integer or as text (see `size_from`)."""
    if not isinstance(value, str):
        return integer(name, value, least, 2**60)
    size = size_from(name, value)
    if not least <= size <= 2**60:
        raise ParameterError(f"{name} {value}: expected a size of {least:,} bytes to 1 EiB")
    return size


def real(name: str, value: Any, least: float, most: float) -> float:
    """Return the value as a float, from ``least`` to ``most``."""
    number = number_from(value)
    if not least <= number <= most:
        raise ParameterError(f"{name}={brief(value)}: expected a number from {least:g} to {most:g}")
    return number


def finite(name: str, value: Any) -> float:
    """Return the value as a float, neither NaN nor infinite."""
    number = number_from(value)
    if not math.isfinite(number):
        raise ParameterError(f"{name}={brief(value)}: expected a finite number")
    return number


def numbers(name: str, values: Any) -> npt.NDArray[np.float64]:
    """Return numbers as a new array of any shape."""
    try:
        return np.array(values, np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ParameterError(f"{name}: expected numbers ({first_sentence(error)})") from None


def vector(values: Any, kinds: str, error: Exception) -> npt.NDArray[Any]:
    """Return values as a one-dimensional array of one of these kinds of dtype, or raise the error.

    An empty array may have any dtype.
    """
    try:
        array = np.asarray(values)
    except ValueError:  # rows of different lengths
        raise error from None
    if array.ndim != 1 or (array.size and array.dtype.kind not in kinds):
        raise error
    return array


def first_sentence(error: Exception) -> str:
    """What NumPy says first, such as "setting an array element with a sequence"."""
    return str(error).partition(". ")[0]


def number_from(value: Any) -> float:
    """Return the value as a float: NaN if it is not a number, infinite if it is too large."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf  # type: ignore[operator]
