"""Back ends, one file each: who answers questions about pictures.

A back end is a subclass of :class:`~shoe.predict.backend.BackendConfig` whose ``open`` makes it work. Its file imports
nothing heavy when it is loaded: extras are imported where they are used.
"""

from __future__ import annotations

from importlib import import_module

from shoe.core.errors import unknown_name
from shoe.predict.backend import BackendConfig

BACKENDS = {
    "transformers": "shoe.predict.backends.transformers:Transformers",
    "endpoint": "shoe.predict.backends.endpoint:Endpoint",
    "vllm": "shoe.predict.backends.vllm:VLLM",
}
"""Back ends by name, and where they are."""


def backend_of(name: str) -> type[BackendConfig]:
    """Load a back end by its name.

    Raises:
        OptionError: for a name that does not exist.
    """
    if name not in BACKENDS:
        raise unknown_name("back end", name, BACKENDS)
    module, _, kind = BACKENDS[name].partition(":")
    found: type[BackendConfig] = getattr(import_module(module), kind)
    return found
