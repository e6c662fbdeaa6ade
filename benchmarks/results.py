"""Write docs/results.md from the stored results of ``btg reproduce``, and from nothing else.

    python -m benchmarks.results [--results docs/results] [--page docs/results.md]

``btg reproduce ... --results docs/results`` stores results there.
"""

import argparse
import sys
from pathlib import Path

from btg_seq2seq.tasks.reproduction.page import write_page

RESULTS, PAGE = Path("docs/results"), Path("docs/results.md")


def main() -> int:
    parser = argparse.ArgumentParser("benchmarks.results", description=__doc__)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--page", type=Path, default=PAGE)
    options = parser.parse_args()
    write_page(options.results, options.page)
    print(f"written: {options.page}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
