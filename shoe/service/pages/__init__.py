"""Web pages of the service: views that make HTML from plain values, templates, styles and scripts."""
