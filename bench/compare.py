#!/usr/bin/env python3
"""Puts kernels side by side: a Markdown table, a line per matrix, from what nz bench wrote.

    nz bench --json suite.json
    bench/compare.py suite.json --kernels csr_scalar,csr_vector,cusparse_csr

Each cell is the time of one multiply and, in brackets, the percentage of the copy ceiling that its compulsory bytes
reach. The fastest of the line is bold; – is a kernel that refused the matrix.
"""

import argparse
import json


def time_text(seconds):
    """Three digits: 12.3 µs, 1.23 ms."""
    for unit, size in (("s", 1), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size or unit == "µs":
            value = seconds / size
            return f"{value:.{0 if value >= 99.95 else 1 if value >= 9.995 else 2}f} {unit}"


def cell(result, fastest):
    if result is None or result.get("seconds") is None:
        return "–"
    text = f"{time_text(result['seconds'])} ({100 * result['part_of_ceiling']:.{1 if result['part_of_ceiling'] < 0.0995 else 0}f})"
    return f"**{text}**" if result is fastest else text


def line(matrix, kernels):
    results = {result["kernel"]: result for result in matrix["results"]}
    chosen = [results.get(kernel) for kernel in kernels]
    timed = [result for result in chosen if result and result.get("seconds") is not None]
    fastest = min(timed, key=lambda result: result["seconds"], default=None)
    mean = matrix["entries"] / matrix["rows"] if matrix["rows"] else 0
    cells = [cell(result, fastest) for result in chosen]
    return f"| {matrix['matrix']} | {mean:.1f} | " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="FILE", help="written by nz bench --json")
    parser.add_argument("--kernels", required=True, metavar="NAME,NAME", help="the columns")
    parser.add_argument("--matrices", metavar="NAME,NAME", help="the lines, by the start of their names (all)")
    options = parser.parse_args()
    kernels = options.kernels.split(",")
    matrices = [matrix for file in options.files for matrix in json.load(open(file, encoding="utf-8"))["matrices"]]
    if options.matrices:
        matrices = [m for name in options.matrices.split(",") for m in matrices if m["matrix"].startswith(name)]
    print("| matrix | mean row | " + " | ".join(kernels) + " |")
    print("|---|---:|" + "---:|" * len(kernels))
    for matrix in matrices:
        print(line(matrix, kernels))


if __name__ == "__main__":
    main()
