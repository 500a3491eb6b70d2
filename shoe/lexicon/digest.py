"""The lexicon's content as a few digits: what it resolves a word to can move a semantic figure."""

import hashlib
from functools import cache
from pathlib import Path

from shoe.lexicon.store import lexicon

_DATA = Path(__file__).parent / "data"


@cache
def lexicon_digest() -> str:
    """8 hex digits of the compiled lexicon and of the tables beside it."""
    digest = hashlib.sha256(lexicon().digest.encode())
    for name in ("aliases.tsv", "spellings.tsv", "word_classes.txt"):
        digest.update((_DATA / name).read_bytes())
    return digest.hexdigest()[:8]
