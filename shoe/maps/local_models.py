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
    """A model that runs on this machine; program code in a model's repository is never executed.

    Attributes:
        torch, transformers: the imported libraries.
        device: "cpu" or "cuda".
    """

    def __init__(self, config: _Config, name: str, extra: str, *, owner: str = "", needed_by: str = "") -> None:
        """Import the libraries and choose the device; the model is not loaded yet.

        Args:
            config: settings: name on the Hugging Face Hub or folder, revision, device ("auto", "cpu" or "cuda"), dtype.
            name: prefix of error messages about the model.
            extra: name of shoe's optional dependency that installs the libraries.
            owner: prefix of error messages about settings; ``name`` by default.
            needed_by: purpose of the libraries, for the error message; ``owner`` by default.

        Raises:
            MissingExtraError: if torch or transformers is not installed.
            OptionError: if the device is "cuda" and torch finds no CUDA device.
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
        """Load a component of the model, such as its tokenizer, and return it.

        ``kind`` is the name of the class in transformers, such as "AutoTokenizer"; ``settings`` are further arguments
        of its ``from_pretrained``. Raise OptionError if the model does not exist, or cannot be loaded with this class.
        """
        found = {"revision": self._config.revision or "main", "trust_remote_code": False}
        if Path(self._config.model).is_absolute() and not Path(self._config.model).exists():
            raise OptionError(f"{self.name} cannot be loaded: there is no such folder")
        with self.loading():
            return getattr(self.transformers, kind).from_pretrained(self._config.model, **found, **settings)

    def load_weights(self, kind: str, **settings: Any) -> Any:
        """Load the model and its weights as the transformers class named ``kind``, in evaluation mode on its device."""
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
    """Return the first non-blank line of an error's message; the name of the error's class if there is none."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)


def files_of(model: str) -> dict[str, str]:
    """Return {"files": fingerprint of the folder} if ``model`` is a folder; {} for a model on the Hugging Face Hub."""
    return {"files": fingerprint(Path(model))} if Path(model).is_dir() else {}


def fingerprint(folder: Path) -> str:
    """Return a hash (16 hex digits) of the names, the sizes, and the first and last megabyte of a model's files.

    It changes if other weights are stored under the same name. Hidden files and subfolders are ignored.
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
