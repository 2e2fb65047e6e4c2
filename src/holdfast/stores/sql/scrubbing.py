"""Search blocks of bytes, such as parts of a file, for needles (byte strings from erased data)."""

from collections.abc import Iterable, Sequence

import numpy as np

_HEAD = 8
"""Number of bytes at the beginning of a needle that are compared with a block in one step."""
_FEW = 32
"""Maximum number of needles (byte strings from erased data) that are searched one by one.

Measured, one search per needle is faster for up to about 60 needles.
"""


def held(blocks: Iterable[bytes], needles: Sequence[bytes]) -> set[bytes]:
    """Return the needles (byte strings from erased data) that occur in the blocks of bytes.

    If there are at most 32 needles, each is searched on its own. If there are more, those of at least eight bytes are searched
    together: the eight bytes at each position of a block are looked up among the first eight bytes of all needles. After a
    match, the whole needle is compared.
    """
    if not needles:
        return set()
    long = [needle for needle in needles if len(needle) >= _HEAD] if len(needles) > _FEW else []
    short = [needle for needle in needles if len(needle) < _HEAD] if long else needles
    heads = np.unique(np.array([int.from_bytes(needle[:_HEAD], "little") for needle in long], dtype=np.uint64))
    max_length = max(map(len, needles))
    found: set[bytes] = set()
    tail = b""
    for block in blocks:
        data = tail + block
        found.update(needle for needle in short if needle not in found and needle in data)
        for shift in range(_HEAD) if long else ():
            count = (len(data) - shift) // _HEAD
            words = np.frombuffer(data, dtype="<u8", count=max(count, 0), offset=min(shift, len(data)))
            places = np.searchsorted(heads, words).clip(max=len(heads) - 1)
            for place in np.flatnonzero(heads[places] == words):
                start = shift + int(place) * _HEAD
                found.update(needle for needle in long if data.startswith(needle, start))
        tail = data[-max_length:]
    return found
