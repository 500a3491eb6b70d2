"""Cut the samples of this folder out of the reference figures and the real annotations.

Usage, from the top of the checkout:
    python -m tests.data.reference.make_samples SHARED_DATA_FOLDER
"""

import gzip
import json
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
TRIPLETS = "hoi_prediction"
BEST = 8


def main() -> None:
    shared = Path(sys.argv[1])
    predictions = json.loads(
        gzip.decompress((shared / "reference" / "predictions_300_action_score.json.gz").read_bytes())
    )
    document = json.loads((shared / "hico_det" / "instances_test2015.json").read_bytes())
    figures = json.loads((shared / "reference" / "figures.json").read_bytes())["datasets"]["300_top8"]
    _write("truth.json.gz", as_bytes(truth_of(document, {record["file_name"] for record in predictions})))
    _write("predictions_300_top8.json.gz", as_bytes(best_triplets(predictions)))
    (HERE / "figures.json").write_text(json.dumps({"datasets": {"300_top8": figures}}, indent=1) + "\n")


def truth_of(document: dict[str, Any], images: Collection[str]) -> dict[str, Any]:
    """Annotations of some images, in the form of the whole file."""
    places = [place for place, name in enumerate(document["filenames"]) if name in images]
    part = {key: [document[key][place] for place in places] for key in ("annotation", "filenames", "size")}
    empty = [place for place, entry in enumerate(part["annotation"]) if not entry["hoi"]]
    return document | part | {"empty": empty}


def best_triplets(records: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first triplets of each image, which are its best."""
    return [record | {TRIPLETS: record[TRIPLETS][:BEST]} for record in records]


def as_bytes(document: Any) -> bytes:
    """JSON as the generator of the predictions writes it."""
    return json.dumps(document, separators=(",", ":")).encode() + b"\n"


def _write(name: str, data: bytes) -> None:
    (HERE / name).write_bytes(gzip.compress(data, 9, mtime=0))


if __name__ == "__main__":
    main()
