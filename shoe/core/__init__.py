"""The ground: tables of interactions, boxes, groups of different sizes, errors."""
