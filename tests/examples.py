"""How many examples a property is tried on: few by default, many where ``SHOE_TESTS=many`` asks for them."""

from hypothesis import settings


def examples(share: float) -> settings:
    """The profile's number of examples times a share: above 1 for a cheap property, below 1 for a dear one."""
    return settings(max_examples=max(1, round(share * settings().max_examples)))
