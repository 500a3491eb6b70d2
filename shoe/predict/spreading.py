"""Asking by the workers of a cluster: each has a client of the endpoint, or a model of its own.

Pictures are read where the workers are, under the same path, and are checked against the content that was looked at
first: only what is asked goes over the network, once for each question.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from math import ceil
from pathlib import Path
from typing import Any, cast

import msgspec

from shoe.core.errors import ShoeError, quote
from shoe.llm.ledger import Parse
from shoe.llm.recorder import LedgerRecorder
from shoe.llm.spread import Cluster, Spread
from shoe.llm.worker import Ask as Asking
from shoe.llm.worker import Job
from shoe.predict.ask import Ask
from shoe.predict.backend import BackendConfig
from shoe.predict.keeping import parsed

_BATCHES = 2
"""Of a model in a worker: one is answered, the next one is prepared."""


def spread(
    cluster: Cluster, config: BackendConfig, asks: Iterator[Ask], count: int, recorder: LedgerRecorder, beside: Path
) -> None:
    """Have the workers of a cluster ask.

    Args:
        cluster: where they run.
        config: of the model.
        asks: what is asked.
        count: how many that are.
        recorder: writes the run's ledger, in the run's budget.
        beside: the path beside which workers keep theirs.

    Raises:
        ShoeError: when no further question makes sense, or every worker dies.
    """
    is_local = not config.asks
    most = ceil(count / config.at_once) if is_local else config.at_once
    workers = cluster.workers(most, is_local=is_local)
    each = config.one_of(workers)
    if Path(config.model).is_dir():  # workers may be in other folders
        each = msgspec.structs.replace(each, model=str(Path(config.model).absolute()))
    job = Job(
        config.model,
        partial(_client, each, config.identity()),
        config.identity(),
        config.price,
        config.sampling(),
        in_flight=each.at_once * (_BATCHES if is_local else 1),
        asks=config.asks,
        is_local=is_local,
    )
    Spread(cluster, job, workers, recorder.budget, recorder, beside).run(asks)


def _client(config: BackendConfig, identity: Mapping[str, Any]) -> tuple[Asking, Parse]:
    """What a worker makes of a model.

    Raises:
        ShoeError: if it cannot be opened there, or is another one there.
    """
    if {**config.identity(), "model": identity["model"]} != identity:
        raise ShoeError(f"model {quote(config.model)}: found other files on a worker's machine, expected the same")
    return cast("Asking", config.open().ask), parsed
