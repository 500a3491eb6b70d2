"""Web pages of the server: routes, views, templates, style sheets and scripts."""
