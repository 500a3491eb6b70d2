"""The page of the API, made from its own schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_GROUPS = {
    "predictions": "Predictions",
    "uploads": "Predictions",
    "runs": "Runs",
    "compare": "Runs",
    "boards": "Leaderboards",
    "resolve": "Words",
    "similarity": "Words",
    "study": "Studies",
    "truths": "What there is",
    "maps": "What there is",
}
_REST = "The server"

CURL = """\
FILE=predictions.json
HASH=$(sha256sum "$FILE" | cut -c1-64)
curl -T "$FILE" "{address}/v1/predictions?name=$(basename "$FILE")" -H "Authorization: Bearer $SHOE_TOKEN"
RUN="{{\\"prediction\\": \\"$HASH\\", \\"truth\\": \\"{truth}\\"}}"
curl "{address}/v1/runs" -H "Authorization: Bearer $SHOE_TOKEN" --json "$RUN"
curl "{address}/v1/runs/ID/result" -H "Authorization: Bearer $SHOE_TOKEN"
"""


def interface_values(schema: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Collect the calls of an OpenAPI schema, in groups."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for path, methods in schema["paths"].items():
        about = path.split("/")[2] if path.startswith("/v1/") else ""
        for method, call in methods.items():
            groups.setdefault(_GROUPS.get(about, _REST), []).append(_call(path, method, call, schema))
    order = [*dict.fromkeys(_GROUPS.values()), _REST]
    return [{"name": name, "calls": groups[name]} for name in order if name in groups]


def _call(path: str, method: str, call: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    takes = [
        {
            "name": each["name"],
            "where": each["in"],
            "kind": _kind(each.get("schema", {}), schema),
            "about": each.get("description", ""),
            "required": each.get("required", False),
        }
        for each in call.get("parameters", ())
    ]
    for media, of in call.get("requestBody", {}).get("content", {}).items():
        body = _resolved(of.get("schema", {}), schema)
        for name, each in body.get("properties", {}).items():
            required = name in body.get("required", ())
            about = each.get("description", "")
            takes.append(
                {"name": name, "where": "body", "kind": _kind(each, schema), "about": about, "required": required}
            )
        if not body.get("properties"):
            takes.append({"name": media, "where": "body", "kind": "bytes", "about": "", "required": True})
    first, *rest = [" ".join(each.split()) for each in call.get("description", "").replace("``", "").split("\n\n")]
    return {
        "method": method.upper(),
        "path": path,
        "summary": first,
        "description": rest,
        "takes": takes,
        "answers": [(code, of.get("description", "")) for code, of in call["responses"].items()],
    }


def _resolved(of: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    while "$ref" in of:
        found: Mapping[str, Any] = schema
        for step in of["$ref"].removeprefix("#/").split("/"):
            found = found[step]
        of = found
    return of


def _kind(of: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    of = _resolved(of, schema)
    if "enum" in of:
        return " or ".join(str(each) for each in of["enum"])
    kinds = of.get("anyOf") or of.get("oneOf")
    if kinds:
        return " or ".join(_kind(each, schema) for each in kinds if each.get("type") != "null")
    if of.get("type") == "array":
        return f"list of {_kind(of.get('items', {}), schema) or 'values'}"
    return str(of.get("type", "object" if "properties" in of else "any"))
