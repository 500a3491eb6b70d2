"""The web page: views that make HTML from plain values, their templates, styles and scripts."""
