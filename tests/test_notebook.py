"""docs/notebooks/first_look.ipynb runs, and its stored output is what it gives."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parent.parent
PATH = ROOT / "docs" / "notebooks" / "first_look.ipynb"
STORED = json.loads(PATH.read_text("utf-8"))


def texts(notebook: Any) -> list[list[str]]:
    """Printed text and HTML of each cell; pictures differ between versions of the program that draws them."""
    found = []
    for cell in notebook["cells"]:
        parts = []
        for output in cell.get("outputs", []):
            if output.get("name") == "stderr":  # warnings, which are also in the report
                continue
            data = output.get("data", {})
            parts += ["".join(output.get("text", data.get("text/html", data.get("text/plain", ""))))]
            assert output["output_type"] != "error"
        found.append([part for part in parts if "image/png" not in part and "IPython" not in part])
    return found


def test_the_notebook_gives_its_stored_output(tmp_path: Path) -> None:
    nbformat = pytest.importorskip("nbformat", reason="nbclient is not installed: pip install 'shoe-eval[dev]'")
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed: pip install 'shoe-eval[dev]'")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed: pip install 'shoe-eval[dev]'")
    cells = STORED["cells"]
    assert len(cells) == 10
    assert any("image/png" in output.get("data", {}) for cell in cells for output in cell.get("outputs", []))
    notebook = nbformat.read(PATH, as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert texts(notebook) == texts(STORED)


def test_the_script_that_writes_it_names_its_cells() -> None:
    program = (ROOT / "scripts" / "first-look").read_text("utf-8")
    for cell in STORED["cells"]:
        assert "".join(cell["source"]) in program.replace("\\\n", "")


def test_its_programs_run_without_a_notebook(tmp_path: Path) -> None:
    """All cells as one program, for environments without Jupyter."""
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install 'shoe-eval[plots]'")
    programs = ["".join(cell["source"]) for cell in STORED["cells"] if cell["cell_type"] == "code"]
    program = "\n".join(line for each in programs for line in each.splitlines() if "Image" not in line)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    printed = ["".join(o["text"]) for cell in STORED["cells"] for o in cell.get("outputs", []) if "text" in o]
    assert done.stdout == "".join(printed)
