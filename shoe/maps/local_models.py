"""Models of the transformers library that run on this machine: raters, detectors and vision-language models."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any, Protocol

from shoe.core.errors import MissingExtraError, OptionError

_MEGABYTE = 1_000_000
# A second thread that imports transformers at the same time gets the package without its classes. Loading a model sets
# torch's default precision, which all threads share.
_LOADING = RLock()


class _Config(Protocol):
    @property
    def model(self) -> str: ...
    @property
    def revision(self) -> str: ...
    @property
    def device(self) -> str: ...
    @property
    def dtype(self) -> str: ...


class LocalModel:
    """A model that runs on this ``device`` ("cpu" or "cuda"); code in a model's repository is never executed."""

    def __init__(self, config: _Config, name: str, extra: str, *, owner: str = "", needed_by: str = "") -> None:
        """Import the libraries and choose the device; the model is not loaded yet.

        Error messages about the model begin with ``name``, and about settings with ``owner``; if libraries are missing,
        they name ``extra``, shoe's optional dependency, and ``needed_by``, the purpose. Raise MissingExtraError if
        torch or transformers is not installed, and OptionError if the device is "cuda" and torch finds no CUDA device.
        """
        # transformers' own switch, below, does not hide the progress bar of unpacking a GGUF file.
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
            raise OptionError(f"{owner or name}: device is cuda, but torch finds no CUDA device on this machine")
        self.device = "cuda" if config.device != "cpu" and torch.cuda.is_available() else "cpu"

    def load(self, kind: str, **settings: Any) -> Any:
        """Load a component, such as the tokenizer, by the name of its class in transformers ("AutoTokenizer").

        ``settings`` are further arguments of ``from_pretrained``. Raise OptionError if the component cannot be loaded.
        """
        found = {"revision": self._config.revision or "main", "trust_remote_code": False}
        if Path(self._config.model).is_absolute() and not Path(self._config.model).exists():
            raise OptionError(f"{self.name} cannot be loaded: there is no such folder")
        with self.loading():
            return getattr(self.transformers, kind).from_pretrained(self._config.model, **found, **settings)

    def load_weights(self, kind: str, **settings: Any) -> Any:
        """Load the model and its weights as transformers class ``kind``, in evaluation mode on its device."""
        with self.loading():
            dtype = getattr(self.torch, self._config.dtype)
            return self.load(kind, dtype=dtype, **settings).to(self.device).eval()

    @contextmanager
    def loading(self) -> Iterator[None]:
        """Return a context in which one thread at a time loads a model; errors become a one-line OptionError."""
        from safetensors import SafetensorError

        refusals = (AttributeError, ImportError, KeyError, OSError, RuntimeError, TypeError, ValueError)
        try:
            with _LOADING:
                yield
        except (*refusals, SafetensorError) as error:
            raise OptionError(f"{self.name} cannot be loaded: {first_line(error)}") from None


def first_line(error: Exception) -> str:
    """Return the first non-blank line of an error's message, or the name of the error's class."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)


def files_of(model: str) -> dict[str, str]:
    """Return {"files": fingerprint of the folder} if ``model`` is a folder; {} for a model on the Hugging Face Hub."""
    return {"files": fingerprint(Path(model))} if Path(model).is_dir() else {}


def fingerprint(folder: Path) -> str:
    """Return a hash (16 hex digits) of the name, the size, and the first and last megabyte of each file in a folder.

    Hidden files and subfolders are ignored.
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
