"""Many runs of the command line, each a process of its own and yet cheap: forked from one that has it loaded."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

_LONGEST = 300.0
_FORKS = """
import json, os, signal, sys, tempfile
import nltk, openai, httpx2, rich.progress, shoe.cli, shoe.maps.complete, shoe.report.maps
import shoe.cli.map.tools, shoe.maps.built_map, shoe.maps.raters.openai, shoe.maps.job, shoe.llm.batch, shoe.llm.client
import shoe.llm.cache, diskcache
shoe.llm.batch.LISTS_LAG = 2.0  # twice what lists lag here
for line in sys.stdin:
    run = json.loads(line)
    process = os.fork()
    if process == 0:
        for number, path in enumerate([os.devnull, run["said"], run["said"]]):
            os.dup2(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND), number)
        os.chdir(run["folder"])
        tempfile.tempdir = "tmp"
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has what it starts behind itself ignore it
        sys.argv = ["shoe", *run["arguments"]]
        exec(run["before"])
        sys.exit(shoe.cli.main())
    print(process, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)
"""


class Runs:
    def __init__(self, folder: Path) -> None:
        self._said = folder / "said"
        self._forks = subprocess.Popen(
            [sys.executable, "-c", _FORKS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )
        assert self._forks.stdin is not None
        assert self._forks.stdout is not None
        self._orders, self._answers = self._forks.stdin, self._forks.stdout

    def __enter__(self) -> Runs:
        return self

    def __exit__(self, *_: object) -> None:
        self._forks.communicate()

    def start(self, folder: Path, arguments: Sequence[str], before: str = "") -> Runs:
        (folder / "tmp").mkdir(exist_ok=True)
        self._said.write_text("")
        run = {"folder": str(folder), "arguments": list(arguments), "before": before}
        self._orders.write(json.dumps(run | {"said": str(self._said)}).encode() + b"\n")
        self._process = int(self._answers.readline())
        return self

    def send(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.kill(self._process, number)

    def is_over(self, seconds: float = 0.0) -> bool:
        """Wait for its end for so long; whether it came."""
        return bool(select.select([self._answers], [], [], seconds)[0])

    def end(self) -> tuple[int, bool]:
        """Wait for its end, which is brought about if it does not come: exit code, and whether it was."""
        if stuck := not self.is_over(_LONGEST):
            self.send(signal.SIGKILL)
        return int(self._answers.readline()), stuck

    def text(self) -> str:
        return self._said.read_text("utf-8", "replace")
