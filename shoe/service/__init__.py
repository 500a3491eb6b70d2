"""Evaluation server (``shoe serve``) and its clients: HTTP API, web pages, job queue, leaderboards and storage."""
