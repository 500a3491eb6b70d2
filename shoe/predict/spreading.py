"""Questions asked by the workers of a cluster, each with its own client or model.

Workers read images under the same paths as this process, and check them against the content seen first: only questions
go over the network.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from math import ceil
from pathlib import Path
from typing import Any, cast

import msgspec

from shoe.core.errors import ShoeError, quote
from shoe.engines.cluster import Cluster
from shoe.llm.ledger import Parse
from shoe.llm.recorder import LedgerRecorder
from shoe.llm.spread import Spread
from shoe.llm.worker import Ask as Asking
from shoe.llm.worker import Job
from shoe.predict.ask import Ask
from shoe.predict.backend import BackendConfig
from shoe.predict.keeping import parsed

_BATCHES = 2
"""Batches in flight per local model: one is answered while the next one is prepared."""


def spread(
    cluster: Cluster, config: BackendConfig, asks: Iterator[Ask], count: int, recorder: LedgerRecorder, beside: Path
) -> None:
    """Have the workers of a cluster ask questions.

    Args:
        cluster: cluster on which the workers run.
        config: settings of the model.
        asks: the questions.
        count: number of questions.
        recorder: recorder of the run's ledger, with the run's budget.
        beside: path beside which workers have their ledgers.

    Raises:
        ShoeError: when no further question makes sense, or every worker dies.
    """
    is_local = not config.asks
    most = ceil(count / config.at_once) if is_local else config.at_once
    workers = cluster.workers(most, is_local=is_local)
    each = config.one_of(workers)
    if Path(config.model).is_dir():  # workers may run in other folders
        each = msgspec.structs.replace(each, model=str(Path(config.model).absolute()))
    make = partial(_client, each, config.identity())
    in_flight = each.at_once * (_BATCHES if is_local else 1)
    job = Job.from_recorder(recorder, config.model, make, in_flight, is_local=is_local)
    Spread(cluster, job, workers, recorder, beside).run(asks)


def _client(config: BackendConfig, identity: Mapping[str, Any]) -> tuple[Asking, Parse]:
    """Return a worker's client or model, and the parser of its answers.

    Raises:
        ShoeError: if the model cannot be opened there, or its files differ there.
    """
    if {**config.identity(), "model": identity["model"]} != identity:
        raise ShoeError(f"model {quote(config.model)}: found other files on a worker's machine, expected the same")
    return cast("Asking", config.open().ask), parsed
