"""Every choice that can move a figure, named protocols, and the signature that says which were made."""
