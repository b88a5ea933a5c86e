"""Let a failing check show the values that it compared, as a failing test does."""

import pytest

pytest.register_assert_rewrite("contract")
