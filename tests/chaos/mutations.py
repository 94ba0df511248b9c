"""Seeded damage to bytes and text, and what people with bad intentions write into names."""

import random
import struct

MARK = 4711  # in every payload, so that a page can be searched for it
HOSTILE = (
    f"<script>alert({MARK})</script>",
    f"</script><script>alert({MARK})</script>",
    f'"><img src=x onerror=alert({MARK})>',
    f"'><svg onload=alert({MARK})>",
    f"{{{{ {MARK}.__class__ }}}}",
    f"[x](javascript:alert({MARK}))",
    f"![x](http://127.0.0.1/{MARK})",
    f"a|b `c` *d* {MARK}\n# e",
    f"\\input{{/etc/passwd}} % {MARK}",
    f"$x_{MARK}$",
    f"=cmd|'/C calc'!A{MARK}",
    f"@SUM({MARK})",
    f"+{MARK}-cmd",
    f"-{MARK}+cmd",
    f"\x1b[31mred{MARK}\x1b[0m",
    f"\x1b]0;title{MARK}\x07",
    f"\x9b31m{MARK}",
    f"a\rb{MARK}",
    f"a\nb{MARK}",
    f"\u202egnp.{MARK}",
    f"\u2066x\u2069{MARK}",
    f"\u2028{MARK}",
    f"[bold]{MARK}[/bold]",
    f"%s%n{{0}}{MARK}",
    "é" * 40,
    "e\u0301",
    "\U0001f600",
    "\udcff\udc80",
    " ",
    ".",
    "..",
    "../../outside",
    "/etc/passwd",
    "~root",
    "-o",
    "--help",
    "nan",
    "1e999",
    "-1",
    "9" * 5000,
    "x" * 300,
)
NUMBERS = (0, 1, 2, 7, 255, 256, 32767, 65535, 65536, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**64 - 1)
TOKENS = (
    "",
    "0",
    "-1",
    "1e309",
    "nan",
    "inf",
    "NaN",
    "null",
    "None",
    "true",
    "[]",
    "{}",
    "[[]]",
    '""',
    "'",
    '"',
    "\\",
    "\0",
    "\ufeff",
    ",",
    ";",
    "\t",
    "\n",
    "\r\n",
    "=",
    "#",
    "..",
    "/",
    "//",
    "\x1b[2J",
    "\u202e",
    "9" * 400,
    "9" * 5000,
    "a" * 200_000,
    "[" * 3000,
    "{" * 3000,
    "[" * 100_000,
    "0x7fffffffffffffff",
    "1_000",
    "1979-05-27",
    "1.5",
    "'''",
    '"""',
)


def hostile(rng: random.Random) -> str:
    return rng.choice(HOSTILE)


def file_name(rng: random.Random, usual: str) -> str:
    """Mostly the usual one; else one that a file system takes, and a terminal or a page should not."""
    if rng.random() < 0.8:
        return usual
    stem, dot, ending = usual.rpartition(".")
    name = hostile(rng).replace("/", "∕").replace("\0", "")[:60]
    return f"{name if name not in ('.', '..', '') else stem}{dot}{ending}"


def damaged(rng: random.Random, content: bytes, others: tuple[bytes, ...] = ()) -> bytes:
    """A few changes at random places, headers more often than the rest."""
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        _damage(rng, data, others)
    return bytes(data)


def _damage(rng: random.Random, data: bytearray, others: tuple[bytes, ...]) -> None:
    if not data:
        data += rng.randbytes(16)
        return
    start = rng.randrange(min(len(data), rng.choice((16, 64, 512, len(data)))))
    kind = rng.randrange(9)
    if kind == 0:
        data[start] ^= 1 << rng.randrange(8)
    elif kind == 1:
        data[start] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
    elif kind == 2:
        del data[start:]
    elif kind == 3:
        del data[start : start + rng.choice((1, 2, 4, 16, 256))]
    elif kind == 4:
        data[start:start] = rng.randbytes(rng.choice((1, 2, 4, 16, 256)))
    elif kind == 5:
        number = struct.pack(rng.choice("<>") + "Q", rng.choice(NUMBERS))
        width = rng.choice((1, 2, 4, 8))
        piece = number[:width] if number[:width].strip(b"\0") else number[8 - width :]
        data[start : start + width] = piece
    elif kind == 6:
        length = rng.choice((4, 32, 512))
        data[start:start] = data[start : start + length] * rng.choice((1, 2, 50))
    elif kind == 7 and others:
        other = rng.choice(others)
        data[start:] = other[rng.randrange(len(other) + 1) :]
    else:
        data[start : start + rng.choice((1, 4, 64))] = b"\0" * rng.choice((1, 4, 64))


def misspelt(rng: random.Random, text: str) -> str:
    """A table or a config with tokens replaced, lines lost, repeated or exchanged, and quotes left open."""
    for _ in range(rng.choice((1, 1, 2, 3))):
        text = _misspell(rng, text)
    return text


def _misspell(rng: random.Random, text: str) -> str:
    lines = text.split("\n")
    place = rng.randrange(len(lines))
    kind = rng.randrange(8)
    if kind == 0:
        lines.insert(place, lines[rng.randrange(len(lines))])
    elif kind == 1:
        del lines[place]
    elif kind == 2:
        other = rng.randrange(len(lines))
        lines[place], lines[other] = lines[other], lines[place]
    elif kind in (3, 4):
        lines[place] = _cell_changed(rng, lines[place])
    elif kind == 5:
        at = rng.randrange(len(text) + 1)
        return text[:at] + rng.choice((*TOKENS, *HOSTILE)) + text[at:]
    elif kind == 6:
        return text[: rng.randrange(len(text) + 1)]
    else:
        lines[place] += rng.choice((",", "\t", '"', "'", " = 1", ",x", "\0"))
    return "\n".join(lines)


def _cell_changed(rng: random.Random, line: str) -> str:
    separator = next((one for one in ("\t", ",", " = ", "=") if one in line), " ")
    cells = line.split(separator)
    cells[rng.randrange(len(cells))] = rng.choice((*TOKENS, *HOSTILE))
    return separator.join(cells)
