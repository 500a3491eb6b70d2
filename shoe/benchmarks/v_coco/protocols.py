"""V-COCO's protocols: the official script, by person (docs/protocols.md 4)."""

from shoe.protocols.named import DIAG
from shoe.protocols.roles import RoleOptions

ROLE_PROTOCOLS = {
    options.protocol: options
    for options in (
        RoleOptions(protocol="v-coco-agent", scenario="agent"),
        RoleOptions(protocol="v-coco-s1", scenario="1"),
        RoleOptions(protocol="v-coco-s2", scenario="2"),
    )
}
"""By name."""

PROTOCOLS = {DIAG.protocol: DIAG}
"""Those of triplets, by name."""

ABOUT = {
    "v-coco-agent": "official script, agent AP: persons by what they do (4.4)",
    "v-coco-s1": "official script, role AP, scenario 1: where nobody drew the role, it has to be left empty (4.3)",
    "v-coco-s2": "official script, role AP, scenario 2: where nobody drew the role, anything is right (4.3)",
    "diag": "Diag-HOI's evaluator over triplets with both boxes; classes without a true positive are skipped (8.5)",
}
"""One line a protocol, with its section in docs/protocols.md."""
