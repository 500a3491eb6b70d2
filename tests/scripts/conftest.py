"""The scripts' modules, and a small ground truth for them."""

import sys
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType

import pytest

from shoe.benchmarks.truth import GroundTruth, read_truth_file
from shoe.demo import TRUTH

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
sys.path.insert(0, str(SCRIPTS))


@pytest.fixture(scope="session")
def sample() -> GroundTruth:
    return read_truth_file(TRUTH)


def loaded(name: str) -> ModuleType:
    """A program among the scripts, as a module."""
    loader = SourceFileLoader(name.replace("-", "_"), str(SCRIPTS / name))
    sys.modules[loader.name] = module = module_from_spec(ModuleSpec(loader.name, loader))
    module.__file__ = loader.path
    loader.exec_module(module)
    return module
