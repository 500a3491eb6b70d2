"""Cut the samples of this folder out of the real annotation files.

Usage, from the top of the checkout:
    python -m tests.data.hico_det.make_samples INSTANCES_TEST2015_JSON TEST_HICO_SG1_JSON_GZ
"""

import gzip
import sys
from pathlib import Path

import orjson

from tests.benchmarks.forms import as_ppdm

HERE = Path(__file__).parent
# The first images, the first two without triplets, and two with many.
TEST_IMAGES = [*range(1, 25), 154, 166, 30, 105]


def main() -> None:
    document = orjson.loads(Path(sys.argv[1]).read_bytes())
    places = [number - 1 for number in TEST_IMAGES]
    cut = {key: [document[key][i] for i in places] for key in ("annotation", "filenames", "size")}
    cut["empty"] = [i for i, entry in enumerate(cut["annotation"]) if not entry["hoi"]]
    cut |= {key: document[key] for key in ("objects", "verbs", "correspondence", "rare", "non_rare")}
    (HERE / "instances_test2015.json").write_bytes(orjson.dumps(cut) + b"\n")
    (HERE / "test_hico.json").write_bytes(orjson.dumps(as_ppdm(cut)) + b"\n")

    records = orjson.loads(gzip.decompress(Path(sys.argv[2]).read_bytes()))
    train = [record for record in records if "train2015" in record["file_name"]][:14]
    test = [record for record in records if "test2015" in record["file_name"]][:6]
    (HERE / "test_hico_sg.json").write_bytes(orjson.dumps([*train, *test]) + b"\n")


if __name__ == "__main__":
    main()
