from __future__ import annotations

import struct
from pathlib import Path

import pytest

from bumble.llm import gguf

STRING, INT64, ARRAY = 8, 11, 9
HUGE = 2**62
KEY = struct.pack("<Q", 1) + b"k"
LISTS = (struct.pack("<IIQ", ARRAY, INT64, HUGE), struct.pack("<IQ", STRING, 2 * HUGE))


@pytest.mark.parametrize("value", LISTS)
def test_a_length_beyond_what_a_file_can_have_is_refused(tmp_path: Path, value: bytes) -> None:
    weights = tmp_path / "m.gguf"
    weights.write_bytes(struct.pack("<4sIQQ", b"GGUF", 3, 0, 2) + KEY + value + KEY)
    with pytest.raises(ValueError, match="damaged"):
        gguf.context_tokens(weights)
