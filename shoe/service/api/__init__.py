"""The interface, version 1: JSON in and out, the same as the command line's."""
