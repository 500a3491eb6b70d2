"""Errors of stored runs, files and quotas, each with the HTTP status of its response, if it has one of its own."""

from shoe.core.errors import ShoeError


class NotFoundError(ShoeError):
    """Raised if a run, file or other resource does not exist, or the caller may not see it."""

    status = 404


class ConflictError(ShoeError):
    """Raised if the state of a resource does not allow the requested action."""

    status = 409


class TooLargeError(ShoeError):
    """Raised if an upload exceeds its size limit."""

    status = 413


class DamagedError(ShoeError):
    """Raised if an upload does not match its SHA-256, or its compressed data is truncated or damaged."""


class FullError(ShoeError):
    """Raised if the disk is full, or the team's disk quota is used up."""

    status = 507


class BusyError(ShoeError):
    """Raised if a team has too many unfinished runs or uploads; the request can be repeated later."""


class QuotaError(ShoeError):
    """Raised if a team has reached its limit of submissions in 24 hours; it may submit again after `wait` seconds."""

    def __init__(self, message: str, wait: float) -> None:
        super().__init__(message)
        self.wait = wait
