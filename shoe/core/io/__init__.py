"""File formats: reading never executes file content, and files are written atomically."""
