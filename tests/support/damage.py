"""Damage to bytes and to folders, by chance: what a disk, an editor, a merge or a stranger does.

Each kind of it is one function of bytes and chance; a seed gives the same damage again.
"""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

# Texts that mean something to some reader, in every place where they don't belong.
TOKENS: Sequence[bytes] = (
    *(b"---\n", b"\n---\n", b"{", b"}", b"[", b"]", b'"', b"'", b": ", b"#", b"\\", b"\x00"),
    *(b"\x1b[2J", b"\r", b"\r\n", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xc3", b"\xf5"),
    *("\u2028\u202e\u0085".encode(), "\U0001f9d1\u200d\U0001f680".encode(), "e\u0301".encode()),
    *(b"null", b"true", b"~", b".nan", b"-.inf", b"1e999", b"NaN", b"0x1f", b"0o17", b"1_000"),
    *(b"9" * 400, b"-9223372036854775809", b"1e-400", b"12:30:45", b"0001-01-01T00:00:00+14:00"),
    *(
        b"9999-12-31T23:59:59-12:00",
        b"2026-02-30",
        b"&a [*a]",
        b"*a",
        b"<<: *a",
        b"!!python/name:os",
    ),
    *(b"!!binary x", b"!!set {a}", b"? a\n: b\n", b"%YAML 9.9\n", b"|\n", b">-\n", b"- - - -\n"),
    *(
        b"<!-- ",
        b" -->",
        b"<!-- {by: x, from: [",
        b"## ",
        b"# [locked] ",
        b"> ",
        b"```\n",
        b"@../../x",
    ),
    *(
        b'{"type":"message","id":"msg_1"}\n',
        b'{"type":',
        b"\\ud800",
        b"[secret]",
        b"msg_1",
        b"ep_1",
    ),
    *(b"../../etc/passwd", b"/dev/zero", b"<|im_start|>", b"</recalled>", b"by:", b"from:", b"at:"),
)
CONFLICT = b"<<<<<<< HEAD\n%s=======\n%s>>>>>>> other\n"
_NUMBER = re.compile(rb"\d+(?:\.\d+)?")
_VALUE = re.compile(rb"(?<=: )[^\n]+|(?<=\":)[^,}\n]+")
_VALUES = (
    *(b"[]", b"{}", b"null", b"''", b"true", b"-1", b"[[[]]]", b"{a: {b: [c]}}", b"[1, a, null]"),
    *(b"1e400", b".nan", b"2026-01-01", b'{"a":1}', b'"\\u0000"', b"[{}, [], 1.5]", b"9" * 5000),
)
MOST_BYTES = 60_000  # of what comes out: time goes into many inputs, not into large ones

Damage = Callable[[bytes, random.Random], bytes]


def flip(data: bytes, rng: random.Random) -> bytes:
    """Change some bits."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 3, 20))):
        if changed:
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def truncate(data: bytes, rng: random.Random) -> bytes:
    """Keep the beginning."""
    return data[: rng.randrange(len(data) + 1)]


def insert(data: bytes, rng: random.Random) -> bytes:
    """Put in a text that means something to some reader."""
    for _ in range(rng.choice((1, 1, 2, 5))):
        at = rng.randrange(len(data) + 1)
        data = data[:at] + rng.choice(TOKENS) + data[at + rng.choice((0, 0, 1, 7)) :]
    return data


def repeat_line(data: bytes, rng: random.Random) -> bytes:
    """Have a line twice: keys, ids and headings too."""
    lines = data.splitlines(keepends=True)
    if lines:
        lines.insert(rng.randrange(len(lines) + 1), rng.choice(lines))
    return b"".join(lines)


def drop_line(data: bytes, rng: random.Random) -> bytes:
    """Take some lines out."""
    return b"".join(line for line in data.splitlines(keepends=True) if rng.random() > 0.2)


def shuffle_lines(data: bytes, rng: random.Random) -> bytes:
    """Put the lines into another order."""
    lines = data.splitlines(keepends=True)
    rng.shuffle(lines)
    return b"".join(lines)


def huge_number(data: bytes, rng: random.Random) -> bytes:
    """Make numbers beyond measure."""
    number = rng.choice((b"9" * 400, b"-1", b"1e999", b"99999999999999999999", b"0" * 50, b".nan"))
    return _NUMBER.sub(lambda match: number if rng.random() < 0.3 else match[0], data)


def other_type(data: bytes, rng: random.Random) -> bytes:
    """Put values of other types behind keys."""
    return _VALUE.sub(lambda match: rng.choice(_VALUES) if rng.random() < 0.3 else match[0], data)


def nest(data: bytes, rng: random.Random) -> bytes:
    """Nest deeply, as a value or by itself."""
    depth = rng.choice((50, 1_000, 20_000))
    opened, closed = rng.choice(((b"[", b"]"), (b'{"a":', b"}"), (b"{a: ", b"}"), (b"> ", b"")))
    deep = opened * depth + b"1" + closed * rng.choice((depth, 0))
    places = list(_VALUE.finditer(data))
    if not places or rng.random() < 0.2:
        return deep
    place = rng.choice(places)
    return data[: place.start()] + deep + data[place.end() :]


def conflict(data: bytes, rng: random.Random) -> bytes:
    """Leave the markers of a merge in it."""
    lines = data.splitlines(keepends=True)
    at = rng.randrange(len(lines) + 1)
    part = b"".join(lines[at : at + rng.randrange(1, 6)])
    marked = CONFLICT % (part, other_type(part, rng))
    return b"".join(lines[:at]) + marked + b"".join(lines[at + 5 :])


def encode_otherwise(data: bytes, rng: random.Random) -> bytes:
    """Write it in another encoding, wholly or from somewhere on."""
    text = data.decode("utf-8", "replace")
    at = rng.choice((0, rng.randrange(len(text) + 1)))
    name = rng.choice(("utf-16", "utf-32", "latin-1", "utf-8-sig", "cp1252", "utf-7", "shift-jis"))
    return text[:at].encode() + text[at:].encode(name, "replace")


def noise(_: bytes, rng: random.Random) -> bytes:
    """Have nothing but chance in it, or nothing at all."""
    return rng.randbytes(rng.choice((0, 1, 30, 700)))


DAMAGES: Mapping[str, Damage] = {
    function.__name__: function
    for function in (
        *(flip, truncate, insert, repeat_line, drop_line, shuffle_lines, huge_number),
        *(other_type, nest, conflict, encode_otherwise, noise),
    )
}


def damaged(data: bytes, rng: random.Random) -> bytes:
    """Damage bytes in one way, seldom in several."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        data = rng.choice(list(DAMAGES.values()))(data, rng)[:MOST_BYTES]
    return data


def damage_folder(root: Path, paths: Sequence[Path], rng: random.Random) -> list[str]:
    """Damage some files of a folder; return which, and how, in words."""
    done = []
    for path in rng.sample(paths, min(len(paths), rng.choice((1, 1, 2, 4)))):
        if path.is_symlink() or not path.is_file():
            continue  # an earlier damage lies there
        name, inner = rng.choice(list(_IN_FOLDERS.items()))
        inner(path, root, rng)
        done.append(f"{name} {path.relative_to(root)}")
    return done


def _bytes(path: Path, _: Path, rng: random.Random) -> None:
    path.write_bytes(damaged(path.read_bytes(), rng))


def _link(path: Path, root: Path, rng: random.Random) -> None:
    targets = (root.parent / "outside.txt", root, path, path.parent, root / "absent", "/dev/null")
    path.unlink()
    path.symlink_to(rng.choice(targets))


def _folder(path: Path, _: Path, rng: random.Random) -> None:
    path.unlink()
    path.mkdir()
    if rng.random() < 0.5:
        (path / path.name).write_bytes(b"x")


def _absent(path: Path, _: Path, __: random.Random) -> None:
    path.unlink()


def _closed(path: Path, _: Path, rng: random.Random) -> None:
    path.chmod(rng.choice((0o000, 0o200, 0o444)))


def _pipe(path: Path, _: Path, __: random.Random) -> None:
    path.unlink()
    os.mkfifo(path)


def _swapped(path: Path, root: Path, rng: random.Random) -> None:
    """Another file of the folder lies where this one did."""
    others = sorted(other for other in root.rglob("*.*") if other.is_file())
    path.write_bytes(rng.choice(others).read_bytes()[:MOST_BYTES])


def _second(path: Path, _: Path, rng: random.Random) -> None:
    """A copy lies beside it, as a sync of files makes them."""
    names = (f"{path.stem} (1){path.suffix}", f"{path.name}~", f"{path.name}.orig", f".{path.name}")
    path.with_name(rng.choice(names)).write_bytes(path.read_bytes())


_IN_FOLDERS: Mapping[str, Callable[[Path, Path, random.Random], None]] = {
    **{f"bytes {n}": _bytes for n in range(8)},  # most often
    "link": _link,
    "folder": _folder,
    "absent": _absent,
    "closed": _closed,
    "pipe": _pipe,
    "swapped": _swapped,
    "second": _second,
}
