"""Why figures differ that should not: which rule of two protocols, and which holes of the annotation."""
