"""What a file seems to be that no reader takes, for messages."""

import re

from shoe.core.errors import quote

_KINDS = {
    b"\xff\xd8\xff": "a JPEG image",
    b"\x89PNG": "a PNG image",
    b"GIF8": "a GIF image",
    b"%PDF": "a PDF document",
    b"\x89HDF": "an HDF5 file",
}
_CONTROL = re.compile(rb"[\0-\x08\x0e-\x1a\x1c-\x1f]")


def seen(data: bytes) -> str:
    """Say what a file is by its first bytes, that it is empty or binary data, or how its text begins.

    >>> seen(b"GIF89a"), seen(b"some prose")
    ('a GIF image', "text that begins with 'some prose'")
    """
    if not data.strip():
        return "an empty file"
    known = next((name for magic, name in _KINDS.items() if data.startswith(magic)), None)
    if known or _CONTROL.search(data[:1024]):
        return known or "binary data"
    return f"text that begins with {quote(data[:24].decode('utf-8', 'replace'))}"
