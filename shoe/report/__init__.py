"""Output of results: terminal, JSON, CSV, LaTeX, Markdown, plots and HTML pages."""
