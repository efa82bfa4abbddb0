"""Text of bytes."""

import codecs

from hypothesis import given
from hypothesis import strategies as st

from fusesearch.core.text import decoded


@given(st.binary(max_size=50))
def test_bytes_without_a_mark_are_utf_8_with_errors_replaced_and_broken_text_after_one_is_text(data):
    for mark in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE):
        assert isinstance(decoded(mark + data), str)
    if not data.startswith((b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")):
        assert decoded(data) == data.decode("utf-8-sig", "replace")
