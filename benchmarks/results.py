"""Write docs/results.md, and the README's table of real text, from stored results alone.

    python -m benchmarks.results [--results docs/results] [--page docs/results.md] [--readme FILE]

``btg reproduce ... --results docs/results`` stores results there.
"""

import argparse
import sys
from pathlib import Path

from benchmarks import harness
from btg_seq2seq.tasks.reproduction.page import overview, write_page

RESULTS, PAGE = Path("docs/results"), Path("docs/results.md")
SECTION = "results"


def main() -> int:
    parser = argparse.ArgumentParser("benchmarks.results", description=__doc__)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--page", type=Path, default=PAGE)
    parser.add_argument("--readme", type=Path)
    options = parser.parse_args()
    write_page(options.results, options.page)
    print(f"written: {options.page}")
    if options.readme:
        harness.replace_section(options.readme, SECTION, overview(options.results))
        print(f"written: {options.readme}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
