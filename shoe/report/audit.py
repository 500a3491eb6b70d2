"""What attacks on a file would earn, in the terminal."""

from __future__ import annotations

from rich.console import Console

from shoe.evidence.audit import Audit
from shoe.report.text import points, say, table

_HEADINGS = {"map": "mAP", "mf1": "mF1", "gt_miss_rate": "GT missed", "prediction_miss_rate": "unmatched"}


def print_audit(found: Audit, to: Console) -> None:
    """One table a protocol: the figures as they are, then what each attack adds, in points."""
    say(to, "what each attack on the file adds to its figures, in points; a sound figure gains nothing by any of them")
    for protocol, honest in found.protocols.items():
        shown = [name for name in _HEADINGS if getattr(honest, name) is not None]
        rows = [["as it is", *(f"{100 * getattr(honest, name):.2f}" for name in shown)]]
        for attack in found.attacks:
            gains = attack.protocols[protocol].gains
            rows.append([attack.name, *(points(getattr(gains, name)) for name in shown)])
        to.print(table(protocol, *(_HEADINGS[name] for name in shown), rows=rows))
    for attack in found.attacks:
        say(to, f"{attack.name:18} {attack.about}")
