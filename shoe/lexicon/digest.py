"""The lexicon's content as a few digits: what it resolves a word to can move a semantic figure."""

import hashlib
from functools import cache
from importlib.resources import files

from shoe.lexicon.store import lexicon


@cache
def lexicon_digest() -> str:
    """8 hex digits of the compiled lexicon and of the tables beside it."""
    digest = hashlib.sha256(lexicon().digest.encode())
    for name in ("aliases.tsv", "spellings.tsv", "word_classes.txt"):
        digest.update((files("shoe.lexicon") / "data" / name).read_bytes())
    return digest.hexdigest()[:8]
