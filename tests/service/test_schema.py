"""The interface does what its OpenAPI schema says, whatever is sent to it."""

import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable

from shoe.service import studies
from shoe.service.contract import describe
from shoe.service.settings import Rate
from shoe.service.tokens import new_token
from tests.examples import examples
from tests.service.calling import HOST, calling, done_by_hand, made_folder, submitted

pytestmark = pytest.mark.slow
EACH = 0.5  # requests of each operation and kind, as a share of the profile's examples
# What chance does not hit: tokens, states of runs, files without runs, where parts begin, classes, names of boards.
REFUSED = {
    "POST /v1/session", "POST /v1/compare", "POST /v1/runs/{id}/cancel", "POST /v1/runs/{id}/retry",
    "PATCH /v1/uploads/{id}", "DELETE /v1/predictions/{sha256}", "GET /v1/similarity", "GET /v1/boards/{name}",
    "DELETE /v1/tokens/{prefix}",
}  # fmt: skip
QUIET = settings(
    examples(EACH), deadline=None, phases=[Phase.generate], database=None, suppress_health_check=list(HealthCheck)
)


def seeded(path: Path) -> tuple[Any, dict[str, str], dict[str, Any]]:
    """An application with runs in several states, a token for all of it, and what there is to find by path."""
    folder = made_folder(path)
    often = Rate(1000, 100_000)
    with calling(folder, queue_per_team=5, submissions=often, reads=often, patience=2) as client:
        studies.publish(folder, "s", {}, 5, {"rater": studies.Rater([(0, 1, "words")], [])}, {})
        admin = {"Authorization": f"Bearer {new_token(folder, 'rater', 'study s', ['admin', 'rate'])}"}
        runs = [submitted(client, admin, options=[f"weight={n / 10}"]) for n in range(3)]
        done_by_hand(folder, {"result.json": b"{}", "run.shoe": b"x"})
        upload = client.post("/v1/uploads", json={"size": 100}, headers=admin).json()
    there = {"id": runs[0]["id"], "sha256": runs[0]["prediction"], "upload": upload["id"]}
    return client.app, admin, there


def test_nothing_that_fits_or_breaks_the_schema_is_a_fault(tmp_path: Path) -> None:
    import schemathesis
    from schemathesis import GenerationMode
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi.checks import (
        content_type_conformance,
        negative_data_rejection,
        response_schema_conformance,
        status_code_conformance,
    )

    app, admin, there = seeded(tmp_path)
    schema = schemathesis.openapi.from_dict(describe(app))
    schema.app = app
    of_answers = [status_code_conformance, content_type_conformance, response_schema_conformance]
    checks = [not_a_server_error, *of_answers, negative_data_rejection]
    seen: dict[str, set[int]] = {}

    def try_out(operation: Any, mode: GenerationMode, path: dict[str, str], more: dict[str, Any]) -> None:
        @settings(QUIET)
        @given(case=operation.as_strategy(generation_mode=mode, path_parameters=path or None))
        def once(case: Any) -> None:
            if more:
                case.body |= more
            answer = case.call(base_url=HOST, headers=admin)
            seen.setdefault(operation.label, set()).add(answer.status_code)
            case.validate_response(answer, checks=checks)

        with suppress(Unsatisfiable):  # what takes nothing cannot be given something wrong
            once()

    operations: list[Any] = [found.ok() for found in schema.get_all_operations()]  # type: ignore[union-attr]
    for operation in sorted(operations, key=lambda of: of.method == "delete"):
        known = there | ({"id": there["upload"]} if "/uploads/" in operation.path else {})
        known |= {"name": "result.json"} if "/files/" in operation.path else {}
        fixed = {name: known[name] for name in re.findall(r"{(\w+)}", operation.path) if name in known}
        more = {"prediction": there["sha256"], "truth": "small", "board": None}
        try_out(operation, GenerationMode.POSITIVE, fixed, more if operation.label == "POST /v1/runs" else {})
        try_out(operation, GenerationMode.POSITIVE, {}, {})
        try_out(operation, GenerationMode.NEGATIVE, {}, {})
    assert {label for label, statuses in seen.items() if min(statuses) >= 300} <= REFUSED
    assert len(seen) == sum(len(methods) for methods in app.openapi_schema["paths"].values())
