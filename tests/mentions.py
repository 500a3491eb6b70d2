"""A message is checked by the values in it, not by its words, so that it can be reworded freely."""

import re


def mentions(*values: str) -> str:
    """Pattern of a message of one line that has these values in this order; "…" stands for any words between two."""
    parts = (re.escape(part.strip()) for value in values for part in value.split("…"))
    return rf"\A.*{'.*'.join(parts)}.*\Z"
