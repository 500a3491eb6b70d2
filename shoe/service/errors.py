"""What a client did, or asked for, that the service has to refuse; each is one clear line.

RefusedError
├── NotFoundError    no such thing, or none that this team may see
├── ConflictError    it cannot be done in the state that things are in
├── TooLargeError    more bytes than are taken
├── DamagedError     what came is not what was announced
├── FullError        no room on the disk
├── BusyError        too much at once
└── QuotaError       no submission left for today
"""

from shoe.core.errors import ShoeError


class RefusedError(ShoeError):
    """Base of what the service refuses."""


class NotFoundError(RefusedError):
    """There is no such thing, or none that this team may see."""


class ConflictError(RefusedError):
    """It cannot be done in the state that things are in."""


class TooLargeError(RefusedError):
    """More bytes than are taken."""


class DamagedError(RefusedError):
    """What came is not what was announced: another hash, another size, or packed data that breaks off."""


class FullError(RefusedError):
    """There is no room on the disk."""


class BusyError(RefusedError):
    """Too much at once: it can be asked for again when some of it is done."""


class QuotaError(RefusedError):
    """A team has no submission left for today."""
