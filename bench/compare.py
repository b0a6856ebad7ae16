#!/usr/bin/env python3
"""Compares kernels: a Markdown table with a line per matrix, from the JSON of nz bench.

    nz bench --json suite.json
    bench/compare.py suite.json --kernels csr_scalar,csr_vector,cusparse_csr
    bench/compare.py suite.json --svg picture.svg

Each cell is the time of one multiply and, in parentheses, the percentage of the ceiling (the bandwidth of reading on the
CPU, else of copying) that its compulsory bytes reach. The fastest of the line is bold; – is a kernel that refused the
matrix. The picture shows the time of each kernel relative to the fastest, from green to red.
"""

import argparse
import html
import json
import math
import pathlib


def time_text(seconds):
    """Three digits: 12.3 µs, 1.23 ms."""
    for unit, size in (("s", 1), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size or unit == "µs":
            value = seconds / size
            return f"{value:.{0 if value >= 99.95 else 1 if value >= 9.995 else 2}f} {unit}"


def cell(result, fastest):
    if result is None or result.get("seconds") is None:
        return "–"
    text = f"{time_text(result['seconds'])} ({100 * result['fraction_of_ceiling']:.{1 if result['fraction_of_ceiling'] < 0.0995 else 0}f})"
    return f"**{text}**" if result is fastest else text


def chosen_results(matrix, kernels):
    """The result of each kernel, or None, and the fastest of them."""
    results = {result["kernel"]: result for result in matrix["results"]}
    chosen = [results.get(kernel) for kernel in kernels]
    timed = [result for result in chosen if result and result.get("seconds") is not None]
    return chosen, min(timed, key=lambda result: result["seconds"], default=None)


def line(matrix, kernels):
    chosen, fastest = chosen_results(matrix, kernels)
    mean = matrix["entries"] / matrix["rows"] if matrix["rows"] else 0
    cells = [cell(result, fastest) for result in chosen]
    return f"| {matrix['matrix']} | {mean:.1f} | " + " | ".join(cells) + " |"


def square(result, fastest):
    """Colour and text of a kernel's square: green for the fastest, red from 16 times as long, by equal ratios."""
    if result is None or result.get("seconds") is None:
        return "#e4e4e4", "–"
    ratio = result["seconds"] / fastest["seconds"]
    hue = 125 * (1 - min(1, math.log2(ratio) / 4))
    text = f"{ratio:.2f}" if ratio < 9.95 else f"{ratio:.0f}"
    return f"hsl({hue:.0f} 60% {72 if ratio > 1 else 58}%)", text


def picture(matrices, kernels):
    """An SVG: a line of squares per matrix, a column per kernel."""
    left, top, wide, high = 210, 130, 56, 24
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + wide * len(kernels) + 60}" '
           f'height="{top + high * len(matrices) + 8}" font-family="sans-serif" font-size="13">',
           '<rect width="100%" height="100%" fill="white"/>']
    for i, kernel in enumerate(kernels):
        x = left + wide * i + wide / 2
        out.append(f'<text transform="translate({x + 4},{top - 8}) rotate(-45)">{html.escape(kernel)}</text>')
    for j, matrix in enumerate(matrices):
        y = top + high * j
        out.append(f'<text x="{left - 8}" y="{y + 16}" text-anchor="end">{html.escape(matrix["matrix"])}</text>')
        chosen, fastest = chosen_results(matrix, kernels)
        for i, result in enumerate(chosen):
            colour, text = square(result, fastest)
            x, weight = left + wide * i, "bold" if result is fastest else "normal"
            out.append(f'<rect x="{x}" y="{y}" width="{wide - 1}" height="{high - 1}" fill="{colour}"/>')
            out.append(f'<text x="{x + wide / 2}" y="{y + 16}" text-anchor="middle" font-weight="{weight}">{text}</text>')
    return "\n".join([*out, "</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="FILE", help="written by nz bench --json")
    parser.add_argument("--kernels", metavar="NAME,NAME", help="the columns (all)")
    parser.add_argument("--matrices", metavar="NAME,NAME", help="the lines, by the start of their names (all)")
    parser.add_argument("--svg", metavar="FILE", help="draw it there instead")
    options = parser.parse_args()
    matrices = [matrix for file in options.files for matrix in json.load(open(file, encoding="utf-8"))["matrices"]]
    if options.matrices:
        matrices = [m for name in options.matrices.split(",") for m in matrices if m["matrix"].startswith(name)]
    kernels = options.kernels.split(",") if options.kernels else [r["kernel"] for r in matrices[0]["results"]]
    if options.svg:
        pathlib.Path(options.svg).write_text(picture(matrices, kernels), encoding="utf-8")
        return
    print("| matrix | mean row | " + " | ".join(kernels) + " |")
    print("|---|---:|" + "---:|" * len(kernels))
    for matrix in matrices:
        print(line(matrix, kernels))


if __name__ == "__main__":
    main()
