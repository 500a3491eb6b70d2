"""The engine of many machines: Ray, from a cluster that runs or one that is started here for as long as it is used."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterator, Sequence
from importlib.util import find_spec
from typing import Any

from shoe.core.errors import MissingExtraError
from shoe.engines.base import DEATHS, K, R, S, Work, deadly
from shoe.engines.connection import check_there, connected
from shoe.engines.job import Job
from shoe.engines.watch import check_cluster

_AHEAD = 4
"""Keys that are handed out for each core of the cluster."""
_LOOK = 0.5


class Ray:
    """Tasks of Ray: one core and one thread each; what they share is put into its store once, and read there."""

    name = "ray"

    def __init__(self, address: str = "") -> None:
        """Take where the cluster is, as ``ray.init`` has it; empty: where ``RAY_ADDRESS`` says, or here."""
        self.address = address

    def check(self) -> None:
        """See that Ray is installed and something listens at the address, before any work; nothing is started.

        Raises:
            MissingExtraError: if Ray is not installed.
            OptionError: if there is nothing at the address.
        """
        if find_spec("ray") is None:
            raise MissingExtraError("--engine ray", "ray")
        check_there(self.address or os.environ.get("RAY_ADDRESS", ""))

    def map(self, work: Work[S, K, R], keys: Sequence[K], shared: S) -> Iterator[tuple[K, R]]:
        """See :meth:`shoe.engines.base.Engine.map`."""
        with connected(self.address) as ray:
            common = [ray.put(Job(work, shared))]
            task = ray.remote(num_cpus=1, max_retries=DEATHS - 1)(_do)
            room = _AHEAD * max(int(ray.cluster_resources().get("CPU", 1)), 1)
            waiting, doing = iter(keys), dict[Any, K]()
            while True:
                while len(doing) < room and (key := next(waiting, None)) is not None:
                    doing[task.options(name=f"shoe {work.__name__}").remote(common, key)] = key
                if not doing:
                    return
                check_cluster()
                ended, _ = ray.wait(list(doing), timeout=_LOOK)
                if not ended:
                    continue
                done = ended[0]
                try:
                    result = ray.get(done)
                except ray.exceptions.RayTaskError as error:
                    raise error.cause from None
                except ray.exceptions.RayError as error:
                    check_cluster()
                    raise deadly(len(doing), type(error).__name__) from None
                yield doing.pop(done), result


_kept: tuple[Any, Any] = None, None


def _do(common: list[Any], key: Hashable) -> Any:
    """What a worker does; it keeps what the last keys shared, which it need not read again for this one."""
    global _kept
    if _kept[0] != common[0]:
        import ray

        _kept = common[0], ray.get(common[0])
    job: Job[Any, Any, Any] = _kept[1]
    return job.do(key)
