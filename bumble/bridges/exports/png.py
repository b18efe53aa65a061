"""PNG pictures that carry texts: a plain one drawn here, or the user's own without what it held.

Source: PNG specification, third edition (chunks).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping

from bumble.bridges.imports.card import PNG

WIDTH, HEIGHT = 400, 600  # what programs that show cards draw them in
TOP, BOTTOM = (250, 204, 77), (92, 64, 20)  # a bee's
# What a picture tells beside its pixels may be where it was taken, or another card.
TELLING = (b"tEXt", b"iTXt", b"zTXt", b"eXIf", b"tIME")


def with_texts(picture: bytes, texts: Mapping[str, bytes]) -> bytes:
    """Return a picture that carries texts, by keyword, in the place of those it had.

    Raises:
        ValueError: If it is no PNG.
    """
    parts = [PNG]
    for kind, data in _chunks(picture):
        if kind == b"IEND":
            parts += [_chunk(b"tEXt", f"{key}\0".encode() + text) for key, text in texts.items()]
        if kind not in TELLING:
            parts.append(_chunk(kind, data))
    return b"".join(parts)


def plain() -> bytes:
    """Draw a picture for a character that has none."""
    rows = bytearray()
    for y in range(HEIGHT):
        color = (top + (end - top) * y // HEIGHT for top, end in zip(TOP, BOTTOM, strict=True))
        rows += b"\0" + bytes(color) * WIDTH
    head = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 2, 0, 0, 0)
    data = zlib.compress(bytes(rows), 9)
    return PNG + _chunk(b"IHDR", head) + _chunk(b"IDAT", data) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _chunks(picture: bytes) -> Iterator[tuple[bytes, bytes]]:
    if not picture.startswith(PNG):
        raise ValueError("it is no PNG")
    at = len(PNG)
    while at + 12 <= len(picture):
        length, kind = struct.unpack(">I4s", picture[at : at + 8])
        data = picture[at + 8 : at + 8 + length]
        if len(data) < length:
            break
        yield kind, data
        if kind == b"IEND":
            return
        at += 12 + length
    raise ValueError("it is cut off")
