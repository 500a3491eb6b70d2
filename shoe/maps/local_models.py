"""Models of transformers that run on this machine, for raters, detectors and vision-language models alike."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any, Protocol

from shoe.core.errors import MissingExtraError, OptionError

_MEGABYTE = 1_000_000
# A second thread that imports transformers meanwhile gets the package without its classes; and loading sets torch's
# default precision, which all threads have in common.
_LOADING = RLock()


class LocalConfig(Protocol):
    """Settings that say which model runs here, and how."""

    @property
    def model(self) -> str:
        """Name on the hub, or a folder."""

    @property
    def revision(self) -> str:
        """Revision on the hub; empty for the latest one."""

    @property
    def device(self) -> str:
        """One of auto, cpu, cuda."""

    @property
    def dtype(self) -> str:
        """Precision of weights and sums."""


class LocalModel:
    """A model on this machine; code that comes with a model is never run.

    Attributes:
        name: beginning of messages about the model.
        device: "cpu" or "cuda".
    """

    def __init__(self, config: LocalConfig, name: str, extra: str, *, owner: str = "", needed_by: str = "") -> None:
        """Import the libraries and choose the device; nothing is loaded yet.

        Args:
            config: which model, and how it runs.
            name: beginning of messages about the model.
            extra: optional dependency that has the libraries.
            owner: beginning of messages about settings; ``name`` by default.
            needed_by: what the libraries are needed for; ``owner`` by default.

        Raises:
            MissingExtraError: if torch or transformers is not installed.
            OptionError: if there is no such device.
        """
        # Unpacking a GGUF file draws a bar that transformers' own switch, below, does not reach.
        os.environ.setdefault("TQDM_DISABLE", "1")
        with _LOADING:
            try:
                import torch
                import transformers
            except ImportError:
                raise MissingExtraError(needed_by or owner or name, extra) from None
            transformers.utils.logging.disable_progress_bar()
            transformers.utils.logging.set_verbosity_error()
        self.name, self.torch, self.transformers, self._config = name, torch, transformers, config
        if config.device == "cuda" and not torch.cuda.is_available():
            raise OptionError(f"{owner or name}: device is cuda, and torch finds no such device here")
        self.device = "cuda" if config.device != "cpu" and torch.cuda.is_available() else "cpu"

    def load(self, kind: str, **settings: Any) -> Any:
        """Load a part of the model, as a tokenizer, by transformers' class for it.

        Raises:
            OptionError: if there is no such model, or none of this kind.
        """
        found = {"revision": self._config.revision or "main", "trust_remote_code": False}
        with self.loading():
            return getattr(self.transformers, kind).from_pretrained(self._config.model, **found, **settings)

    def load_weights(self, kind: str, **settings: Any) -> Any:
        """Load the model itself, ready to be evaluated on its device; arguments and errors as :meth:`load`."""
        with self.loading():
            dtype = getattr(self.torch, self._config.dtype)
            return self.load(kind, dtype=dtype, **settings).to(self.device).eval()

    @contextmanager
    def loading(self) -> Iterator[None]:
        """Load within, one thread at a time; what goes wrong becomes one line.

        Raises:
            OptionError: saying why the model cannot be loaded.
        """
        from safetensors import SafetensorError

        refusals = (AttributeError, ImportError, KeyError, OSError, RuntimeError, TypeError, ValueError)
        try:
            with _LOADING:
                yield
        except (*refusals, SafetensorError) as error:
            raise OptionError(f"{self.name} cannot be loaded: {first_line(error)}") from None


def first_line(error: Exception) -> str:
    """Return the first line of an error's message that is not blank, or the error's class."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)


def files_of(model: str) -> dict[str, str]:
    """Return which model a folder holds, for what depends on it; nothing for a model of the hub, which is versioned."""
    return {"files": fingerprint(Path(model))} if Path(model).is_dir() else {}


def fingerprint(folder: Path) -> str:
    """Return 16 hex digits of a model's files: their names and sizes, and the first and last megabyte of each.

    Other weights under the same name are another model; to read all of them just to know would take minutes.
    """
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith(".")):
        size = path.stat().st_size
        digest.update(f"{path.name}\n{size}\n".encode())
        with path.open("rb") as stream:
            digest.update(stream.read(_MEGABYTE))
            stream.seek(max(size - _MEGABYTE, 0))
            digest.update(stream.read())
    return digest.hexdigest()[:16]
