"""The key under which an answer is kept: a digest of everything that can change it.

That is the version of this scheme, the rater (kind, model, revision, sampling parameters, pairs per request, and those
of its kind's settings that take part: endpoint, structured output, the content of a file), the prompt's text, both
senses as they are shown, and the number of the repeat. What a rater costs, how fast it may be asked, its column's name
and where its key is found change no answer and no key.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

import orjson

from shoe.lexicon.expressions import Part
from shoe.rating.config import RaterConfig
from shoe.rating.kinds import kind_of
from shoe.rating.questions import KEY_BYTES, Sense

SCHEME = 1


def identity_of(config: RaterConfig) -> dict[str, Any]:
    """Everything about a rater that can change its answers, as JSON has it; no prompt, no pair, no secret."""
    kind = kind_of(config.kind)
    settings = {
        name: config.settings[name] for name, setting in kind.settings.items() if setting.changes_answers
    } | dict(kind.identity(config))
    return {
        "scheme": SCHEME,
        "kind": config.kind,
        "model": config.model,
        "revision": config.revision,
        "pairs_per_request": config.pairs_per_request,
        "sampling": dict(config.sampling),
        "settings": settings,
    }


def reading_of(config: RaterConfig) -> dict[str, Any]:
    """How answers become ratings, where settings say so: no part of a key, for no answer depends on it."""
    settings = kind_of(config.kind).settings
    return {name: config.settings[name] for name, setting in settings.items() if setting.reads_answers}


def canonical(value: Any) -> bytes:
    """Write JSON in the one form that is hashed: sorted names, no blanks; paths as their text."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS, default=str)


def encoded(sense: Sense) -> bytes:
    """Write a sense as keys take it in."""
    return canonical({"gloss": sense.gloss, "lemmas": sense.lemmas, "name": sense.name})


def key_maker(
    identity: Mapping[str, Any], prompt_digest: str, part: Part, repeat: int = 1
) -> Callable[[bytes, bytes], bytes]:
    """Return the function that makes a pair's key of its two senses, each as :func:`encoded`.

    The key is a digest of ``{"part", "prompt", "rater", "repeat", "senses": [first, second]}`` as canonical JSON. All
    but the senses is hashed once: a million keys take about two seconds.

    Args:
        identity: of the rater, see :func:`identity_of`.
        prompt_digest: of the prompt's text; empty for a rater that reads none.
        part: "verb" or "object".
        repeat: 1 for the first time that a pair is asked.
    """
    before = canonical({"part": part, "prompt": prompt_digest, "rater": identity, "repeat": repeat})
    begun = hashlib.blake2b(before[:-1] + b',"senses":[', digest_size=KEY_BYTES)

    def key(first: bytes, second: bytes) -> bytes:
        digest = begun.copy()
        digest.update(b"%b,%b]}" % (first, second))
        return digest.digest()

    return key
