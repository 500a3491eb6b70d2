"""British spelling to American, for words that WordNet has only in the American one."""

import re
from functools import cache, lru_cache
from pathlib import Path

_FILE = Path(__file__).parent / "data" / "spellings.tsv"
_RULES = [
    (re.compile(pattern), replacement)
    for pattern, replacement in [
        (r"our(?=s?$|ed$|ing$|ful|ite|able)", "or"),
        (r"(?<=[bt])re(?=s?$|d$)", "er"),
        (r"(?<=..)is(?=e[ds]?$|ing$|er$)", "iz"),
        (r"(?<=.)ys(?=e[ds]?$|ing$)", "yz"),
        (r"ogue(?=s?$)", "og"),
        (r"ll(?=ed$|ing$|er$)", "l"),
        (r"(?<=.)[ao]e", "e"),
    ]
]


@lru_cache(maxsize=10_000)
def american(word: str) -> tuple[str, ...]:
    """Return the American spellings that a word may have, without asking whether they exist; () if none differs."""
    listed = _spellings()
    if word in listed:
        return (listed[word],)
    if word.endswith("s") and word[:-1] in listed:
        return (listed[word[:-1]] + "s",)
    return tuple(changed for pattern, by in _RULES if (changed := pattern.sub(by, word)) != word)


@cache
def _spellings() -> dict[str, str]:
    return dict(line.split("\t") for line in _FILE.read_text("utf-8").splitlines()[1:])
