"""Splits of a set that has none of its own: by content, so that copies of an image never straddle them."""

import hashlib
from collections.abc import Sequence
from itertools import accumulate, pairwise

import numpy as np

from fairflac.data.base import Split


def stratified_split(
    digests: np.ndarray, y: np.ndarray, seed: int, validation: float, test: float
) -> dict[Split, np.ndarray]:
    """(N,) content digests, (N,) classes → sorted positions of each split.

    In each class the distinct contents, in an order that depends on them and on the seed alone, are cut at the wanted
    shares. One image of three goes to the test split at least, and one stays for training. A content that occurs in
    several classes goes where the first of them sends it.
    """
    home: dict[int, Split] = {}
    for label in np.unique(y):
        contents = sorted({int(d) for d in digests[y == label]} - home.keys(), key=lambda d: _rank(d, seed))
        for name, members in _cut(contents, validation, test).items():
            home.update(dict.fromkeys(members, name))
    where = np.array([home[int(digest)] for digest in digests])
    return {name: np.flatnonzero(where == name) for name in ("train", "validation", "test")}


def _cut(contents: list[int], validation: float, test: float) -> dict[Split, list[int]]:
    n = len(contents)
    in_test = min(max(round(n * test), 1 if n > 2 and test > 0 else 0), n - 1) if n else 0
    in_validation = min(max(round(n * validation), 1 if n > 5 and validation > 0 else 0), max(n - in_test - 1, 0))
    return {
        "test": contents[:in_test],
        "validation": contents[in_test : in_test + in_validation],
        "train": contents[in_test + in_validation :],
    }


def hash_split(
    names: Sequence[str], shares: Sequence[float], seed: int, digests: np.ndarray | None = None
) -> list[np.ndarray]:
    """Distinct names → positions of each share, in an order that depends on names and seed alone.

    With (N,) content digests, copies of an image go where the first of their names goes, and count as one.
    """
    contents = names if digests is None else digests.tolist()
    members: dict[object, list[int]] = {}
    for position in sorted(range(len(names)), key=names.__getitem__):
        members.setdefault(contents[position], []).append(position)
    dealt = sorted(members.values(), key=lambda copies: _rank(names[copies[0]], seed))
    cuts = [0, *(round(len(dealt) * share) for share in accumulate(shares))]
    return [
        np.array([position for copies in dealt[start:end] for position in copies], dtype=np.int64)
        for start, end in pairwise(cuts)
    ]


def _rank(key: int | str, seed: int) -> bytes:
    return hashlib.sha256(f"{seed} {key}".encode(errors="surrogateescape")).digest()
