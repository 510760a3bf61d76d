# SPDX-License-Identifier: Apache-2.0
"""Pictures of pages in docs/images, which tests take: UNHEX_PICTURES=write takes them anew."""
import os
import struct

from tool import ROOT

BYTES_MAX = 100_000
HEIGHT_MAX = 1100  # of a picture; the rest of a longer page is not in it


def size(webp):
    """Width and height in the header of a lossy picture (RFC 9649, 2.5 and 2.7)."""
    assert webp[:4] == b"RIFF" and webp[8:12] == b"WEBP", webp[:16]
    if webp[12:16] == b"VP8X":
        return tuple(int.from_bytes(webp[at:at + 3], "little") + 1 for at in (24, 27))
    assert webp[12:16] == b"VP8 " and webp[23:26] == b"\x9d\x01\x2a", webp[:32]
    return tuple(n & 0x3fff for n in struct.unpack("<HH", webp[26:30]))


def picture(page, name, folder, document):
    """The page looks as in docs/images/NAME.webp, as far as names and times, which differ, permit to say."""
    taken = folder / f"{name}.webp"
    page.screenshot(taken, most=HEIGHT_MAX)
    kept = ROOT / f"docs/images/{name}.webp"
    if os.environ.get("UNHEX_PICTURES") == "write":
        kept.parent.mkdir(exist_ok=True)
        kept.write_bytes(taken.read_bytes())
    (wide, high), (kept_wide, kept_high) = size(taken.read_bytes()), size(kept.read_bytes())
    # A page that looks otherwise has another height.
    assert wide == kept_wide and abs(high - kept_high) < 300, (high, kept_high)
    assert kept.stat().st_size < BYTES_MAX, kept.stat().st_size
    assert f"images/{name}.webp" in (ROOT / document).read_text()
