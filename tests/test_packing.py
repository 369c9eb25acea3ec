import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tmas_graph.checkpoints import PackingSerializer
from tmas_graph.packing import Damaged, packed, unpacked

TEXT = ("Let $x = \\frac12$, so that 2x = 1. " * 40).encode()


@given(st.binary(max_size=4000))
def test_what_is_packed_comes_back(data: bytes) -> None:
    assert unpacked(packed(data)) == data


def test_a_text_takes_less() -> None:
    assert len(packed(TEXT)) < len(TEXT) / 3


def test_what_zlib_packed_is_still_read() -> None:
    assert unpacked(zlib.compress(TEXT)) == TEXT
    kind, plain = PackingSerializer().dumps_typed("short")
    assert PackingSerializer().loads_typed((f"{kind}+zlib", zlib.compress(plain))) == "short"


@pytest.mark.parametrize("data", [b"", b"no", TEXT, packed(TEXT)[:-3], packed(TEXT)[8:]])
def test_what_is_damaged_is_said_to_be(data: bytes) -> None:
    with pytest.raises(Damaged):
        unpacked(data)
