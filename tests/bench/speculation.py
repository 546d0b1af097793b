"""What drafting costs and brings with a model of yours, in more detail than `laguna-tui bench ab`.

    python -m tests.bench.speculation sweep      # one drafter at every draft length
    python -m tests.bench.speculation kv         # the types of KV cache, each plain and drafted
    python -m tests.bench.speculation profile    # where the time of a round goes
    python -m tests.bench.speculation model      # the predicted speed-up beside the measured one

The options are those of `laguna-tui bench ab`, and `--use` for the drafter.
"""

import argparse
import sys
from collections.abc import Sequence

from laguna_tui.base.errors import UserError
from laguna_tui.cli import bench
from tests.bench.draft_lengths import LengthSweep, RoundProfile, SpeedupPrediction
from tests.bench.kv_types import KvComparison

KINDS = {"sweep": LengthSweep, "kv": KvComparison, "profile": RoundProfile, "model": SpeedupPrediction}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=KINDS)
    bench.add_options(parser)
    parser.add_argument("--use", metavar="WHO", help="drafter: dflash, copy or both (default: the model's drafter)")
    given = parser.parse_args(arguments)
    try:
        return bench.measure(given, KINDS[given.kind])
    except UserError as error:
        sys.stderr.write(f"{error}\n")
        return 2


if __name__ == "__main__":
    sys.exit(main())
