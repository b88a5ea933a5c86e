"""Make failing checks show the compared values, as in test modules."""

import pytest

pytest.register_assert_rewrite("contract")
