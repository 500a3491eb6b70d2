"""Lets PyPI's torchvision, which is built for CUDA, be imported beside a torch that is not: for the tests' environment.

Its compiled part cannot be loaded there, and its Python part fails where that part's operators are not declared. They
are declared in its first lines; nothing that the tests do calls them. Does nothing where it can be imported.
"""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

DECLARED = """\
import torch
_declared = torch.library.Library("torchvision", "FRAGMENT")
for _name in ("nms", "qnms"):
    _declared.define(f"{_name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
"""

if subprocess.run([sys.executable, "-c", "import torchvision"], capture_output=True, check=False).returncode:
    found = find_spec("torchvision")
    assert found is not None
    assert found.origin is not None
    first = Path(found.origin)
    first.write_text(DECLARED + first.read_text("utf-8"), "utf-8")
    subprocess.run([sys.executable, "-c", "import torchvision"], check=True)
