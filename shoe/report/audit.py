"""What attacks on a file would earn, in the terminal and as JSON."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from shoe.evidence.audit import ATTACKS, Audit, Figures
from shoe.report.text import points, present, say, table

_HEADINGS = {"map": "mAP", "mf1": "mF1", "gt_miss_rate": "GT missed", "prediction_miss_rate": "unmatched"}


def print_audit(found: Audit, to: Console) -> None:
    """One table a protocol: the figures as they are, then what each attack adds, in points."""
    say(to, "what each attack on the file adds to its figures, in points; a sound figure gains nothing by any of them")
    for protocol, honest in found.honest.items():
        shown = [name for name in Figures._fields if getattr(honest, name) is not None]
        rows = [["as it is", *(f"{100 * getattr(honest, name):.2f}" for name in shown)]]
        for attack in ATTACKS:
            gains = found.gains(attack.name, protocol)
            rows.append([attack.name, *(points(getattr(gains, name)) for name in shown)])
        to.print(table(protocol, *(_HEADINGS[name] for name in shown), rows=rows))
    for attack in ATTACKS:
        say(to, f"{attack.name:18} {attack.about}")


def audit_dict(found: Audit) -> dict[str, Any]:
    """The keys that ``shoe audit --json`` has; figures and gains are fractions, and what is absent has no key."""
    attacks = [
        {
            "name": attack.name,
            "about": attack.about,
            "protocols": {
                protocol: {
                    "figures": found.attacked[attack.name][protocol]._asdict(),
                    "gains": found.gains(attack.name, protocol)._asdict(),
                }
                for protocol in found.honest
            },
        }
        for attack in ATTACKS
    ]
    honest = {protocol: figures._asdict() for protocol, figures in found.honest.items()}
    kept: dict[str, Any] = present({"protocols": honest, "attacks": attacks})
    return kept
