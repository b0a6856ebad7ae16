#!/usr/bin/env python3
"""How long an iteration of conjugate gradients takes: `nz solve` beside those it is compared with, in turns.

    python3 bench/cg.py poisson2d:300 poisson3d:100 bcsstk16.mtx.gz=jacobi     beside Eigen (OpenMP, row-major)
    python3 bench/cg.py --device cuda --nz PATH poisson2d:300 poisson3d:256    beside cuSPARSE and cuBLAS on a GPU

A name may end in =jacobi to precondition by the diagonal. On the CPU this needs build/release/bench/eigen_cg (`make
test` builds it where Eigen is). Each figure is the median of some rounds. That all take the same number of iterations,
within 2 %, is checked on the way (on a GPU the other loop ends up to 15 later, where it looks).
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def output_of(*words, may_fail=False):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode != 0 and not (may_fail and done.stdout):
        sys.exit(done.stderr.strip() or f"{words[0]}: status {done.returncode}")
    return json.loads(done.stdout)


def solved_by_nz(options, matrix, preconditioner, precision, *more):
    words = [options.nz, "solve", matrix, "--preconditioner", preconditioner, "--precision", precision, "--tolerance",
             options.tolerance, "--device", options.device, "--json", *more]
    if options.iterations:
        words += ["--max-iterations", options.iterations]
    return output_of(*words, may_fail=bool(options.iterations))


def solved_by_eigen(options, matrix, preconditioner):
    words = [options.eigen, matrix, preconditioner, "--tolerance", options.tolerance, "--times", 1]
    if options.iterations:
        words += ["--max-iterations", options.iterations]
    return output_of(*words)


def row_of(options, matrix, preconditioner, precision):
    ours, theirs, blas = [], [], []
    for _ in range(options.rounds):
        ours.append(solved_by_nz(options, matrix, preconditioner, precision))
        blas.append(solved_by_nz(options, matrix, preconditioner, precision, "--method", "blas"))
        if options.device == "cpu" and precision == "double":
            theirs.append(solved_by_eigen(options, matrix, preconditioner))
    for other, late in ((theirs, 1), (blas, 16 if options.device.startswith("cuda") else 1)):
        if other and not options.iterations:
            apart = abs(ours[0]["iterations"] - other[0]["iterations"])
            if apart > max(1, 0.02 * ours[0]["iterations"]) + late:
                sys.exit(f"{matrix}: {ours[0]['iterations']} iterations, and {other[0]['iterations']}")
    middle = lambda runs: statistics.median(run["seconds_per_iteration"] for run in runs)
    peers = {}
    if options.device == "cpu":
        peers["Eigen"] = middle(theirs) if theirs else None
        peers["our kernels one by one"] = middle(blas)
    else:
        peers["cuSPARSE and cuBLAS"] = middle(blas)
    return {"name": pathlib.Path(matrix).name + (", jacobi" if preconditioner == "jacobi" else ""), "precision": precision,
            "iterations": ours[0]["iterations"], "nz": middle(ours), "kernel": ours[-1]["kernel"], "peers": peers,
            "peer_kernel": blas[-1]["kernel"]}


def print_table(rows):
    names = list(rows[0]["peers"])
    print("| matrix | precision | iterations | nz | kernel | " + " | ".join(names) + " |")
    print("|---|---|---:|---:|---|" + "---:|" * len(names))
    for row in rows:
        cells = [f"{1e6 * t:.4g} µs ({t / row['nz']:.2f} ×)" if t else "–" for t in row["peers"].values()]
        print(f"| {row['name']} | {row['precision']} | {row['iterations']} | {1e6 * row['nz']:.4g} µs | {row['kernel']} | "
              + " | ".join(cells) + " |")
    print("\nSeconds per iteration, without reading, planning and copying. Products beside ours: "
          + ", ".join(sorted({row["peer_kernel"] for row in rows})) + ".")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("matrices", nargs="*", default=["poisson2d:300", "poisson3d:64"])
    parser.add_argument("--nz", default=ROOT / "build/release/cli/nz")
    parser.add_argument("--eigen", default=ROOT / "build/release/bench/eigen_cg")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", default="double", help="float, double, or both with a comma")
    parser.add_argument("--tolerance", default="1e-8")
    parser.add_argument("--iterations", type=int, default=0, help="so many and no more, converged or not")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    rows = []
    for matrix in options.matrices:
        name, _, preconditioner = matrix.partition("=")
        for precision in options.precision.split(","):
            rows.append(row_of(options, name, preconditioner or "none", precision))
            print(f"{matrix} {precision}: done", file=sys.stderr)
    print_table(rows)


if __name__ == "__main__":
    main()
