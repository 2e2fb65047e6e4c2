"""Search blocks of bytes for needles, which are byte strings from erased data."""

from collections.abc import Iterable, Sequence

import numpy as np


def held(blocks: Iterable[bytes], needles: Sequence[bytes]) -> set[bytes]:
    """Return the needles that occur in the blocks. All needles are searched in one pass.

    The first eight bytes of a needle are compared as an integer. If they match, the whole needle is compared. Needles must
    have at least eight bytes.
    """
    heads = np.unique(np.array([int.from_bytes(needle[:8], "little") for needle in needles], dtype=np.uint64))
    max_length = max(map(len, needles))
    found: set[bytes] = set()
    tail = b""
    for block in blocks:
        data = tail + block
        for shift in range(8):
            count = (len(data) - shift) // 8
            words = np.frombuffer(data, dtype="<u8", count=max(count, 0), offset=min(shift, len(data)))
            places = np.searchsorted(heads, words).clip(max=len(heads) - 1)
            for place in np.flatnonzero(heads[places] == words):
                start = shift + int(place) * 8
                found.update(needle for needle in needles if data.startswith(needle, start))
        tail = data[-max_length:]
    return found
