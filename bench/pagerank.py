#!/usr/bin/env python3
"""How long an iteration of PageRank takes: `nz pagerank` beside those it is compared with, in turns.

    build/venv/bin/python bench/pagerank.py rmat:20 cnr-2000.mtx.gz    beside SciPy and a plain OpenMP loop
    python3 bench/pagerank.py --device cuda rmat:22 cnr-2000.mtx.gz    beside cuSPARSE, on a GPU: nothing but nz

On the CPU this needs SciPy and bench_pagerank_pull (`make bench`, or -DNONZERO_BENCH=ON). Each figure is the median of
some rounds. That all find the same ranks is checked on the way.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
DAMPING = 0.85


def output_of(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr.strip() or f"{words[0]}: status {done.returncode}")
    return done.stdout


def ranked_by_nz(options, graph, precision, *more):
    return json.loads(output_of(options.nz, "pagerank", graph, "--precision", precision, "--tolerance", 0,
                                "--max-iterations", options.iterations, "--top", 1, "--device", options.device,
                                "--json", *more))


def print_table(rows):
    print("| graph | precision | nz | kernel | " + " | ".join(rows[0]["peers"]) + " |")
    print("|---|---|---:|---|" + "---:|" * len(rows[0]["peers"]))
    for row in rows:
        cells = [f"{1e3 * t:.4g} ms ({t / row['nz']:.2f} ×)" for t in row["peers"].values()]
        print(f"| {row['graph']} | {row['precision']} | {1e3 * row['nz']:.4g} ms | {row['kernel']} | "
              + " | ".join(cells) + " |")


def same(a, b, precision):
    return abs(a - b) <= (1e-3 if precision == "float" else 1e-9) * abs(b)


def on_gpu(options, graph, precision):
    ours, theirs = [], []
    for _ in range(options.rounds):
        ours.append(ranked_by_nz(options, graph, precision))
        theirs.append(ranked_by_nz(options, graph, precision, "--method", "cusparse"))
    if not same(ours[0]["top"][0]["rank"], theirs[0]["top"][0]["rank"], precision):
        sys.exit(f"{graph}: the methods find different ranks")
    middle = lambda runs: statistics.median(run["seconds_per_iteration"] for run in runs)
    return {"graph": pathlib.Path(graph).name, "precision": precision, "nz": middle(ours), "kernel": ours[-1]["kernel"],
            "peers": {"cusparse": middle(theirs)}}


def on_cpu(options, graph, precision):
    import scipy_pagerank

    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "graph.npz"
        output_of(options.nz, "convert", graph, file, "--precision", precision)
        powers = {"SciPy": scipy_pagerank.PowerIteration(file, DAMPING),
                  "SciPy as NetworkX has it": scipy_pagerank.AsNetworkX(file, DAMPING)}
        ours, pull, taken = [], [], {name: [] for name in powers}
        for _ in range(options.rounds):
            ours.append(ranked_by_nz(options, file, precision))
            pull.append(json.loads(output_of(options.pull, file, precision, options.iterations)))
            for name, power in powers.items():
                taken[name].append(power.seconds(min(options.iterations, 10)))
    for largest in (pull[0]["largest"], powers["SciPy"].largest(options.iterations)):
        if not same(largest, ours[0]["top"][0]["rank"], precision):
            sys.exit(f"{graph}: nz finds {ours[0]['top'][0]['rank']}, another {largest}")
    middle = lambda runs: statistics.median(run["seconds_per_iteration"] for run in runs)
    return {"graph": pathlib.Path(graph).name, "precision": precision, "nz": middle(ours), "kernel": ours[-1]["kernel"],
            "peers": {**{name: statistics.median(times) for name, times in taken.items()},
                      "OpenMP pull loop": middle(pull)}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphs", nargs="*", default=["rmat:20"])
    parser.add_argument("--nz", default=ROOT / "build/release/cli/nz", help="the command to measure")
    parser.add_argument("--pull", default=ROOT / "build/bench/bench/bench_pagerank_pull", help="the plain loop")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", default="both", choices=["float", "double", "both"])
    parser.add_argument("--iterations", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    measure = on_cpu if options.device == "cpu" else on_gpu
    precisions = ["float", "double"] if options.precision == "both" else [options.precision]
    print_table([measure(options, graph, precision) for graph in options.graphs for precision in precisions])


if __name__ == "__main__":
    main()
