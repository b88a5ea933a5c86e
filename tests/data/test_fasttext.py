"""The format of fastText."""

from __future__ import annotations

import pytest

from labelgrove import FileFormatError


def test_labels_then_text(read) -> None:
    examples = read(
        "__label__a __label__b some text\n\n__label__a\nno labels \n \n  __label__x\t y  z\r\n",
        "fasttext",
    )
    assert examples.labels == [("a", "b"), ("a",), (), (), ("x",)]
    assert examples.text == ["some text", "", "no labels", "", "y  z"]
    assert examples.lines.tolist() == [1, 3, 4, 5, 6]
    assert examples.X is None


def test_labels_behind_the_text_count_as_in_fasttext(read) -> None:
    examples = read("__label__a some __label__b text __label__a\nx__label__y z\n", "fasttext")
    assert examples.labels == [("a", "b"), ()]
    assert examples.text == ["some text", "x__label__y z"]


def test_other_blanks_of_unicode_do_not_separate(read) -> None:
    examples = read("__label__a\u00a0b\u2028 c\u3000\n", "fasttext")
    assert examples.labels == [("a\u00a0b\u2028",)]
    assert examples.text == ["c\u3000"]


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        (b"__label__a x\n__label__ y\n", 2, "'__label__' has no name after it"),
        (b"__label__a x\nx __label__ y\n", 2, "'__label__' has no name after it"),
        (b"__label__a,__label__b x\n", 1, "'__label__a,__label__b' is not one label"),
        (b"__label__a x\n\nabc\xff y\n", 3, "byte 4 of the line is not UTF-8"),
    ],
)
def test_malformed(read, content: bytes, line: int, message: str) -> None:
    with pytest.raises(FileFormatError) as caught:
        read(content, "fasttext")
    assert caught.value.line == line
    assert message in str(caught.value)
