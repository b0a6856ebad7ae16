#!/usr/bin/env python3
"""Times a step of the heat equation by each method of nz heat, in one run, and prints a table.

    bench/heat.py                                          on the CPU
    bench/heat.py --device cuda --nz build/cuda/cli/nz     on a GPU, beside cuSPARSE and cuBLAS

On the CPU the others are a named kernel for the stored matrix with the step fused to it, the lecture's ELL with calls for
norm and axpy, and, where NumPy is found, whole-array expressions. Each is run several times in turns; the fastest counts.
"""

import argparse
import json
import subprocess
import time

CASES = {
    "cpu": [(1, 1_000_000, 960), (1, 20_000_000, 128), (2, 2048, 192), (3, 160, 96)],
    "cuda": [(1, 1_000_000, 20_000), (1, 100_000_000, 512), (2, 4096, 2048), (3, 400, 512)],
    "emulator": [(1, 2000, 32), (2, 100, 8)],
}
METHODS = {
    "cpu": {"fused": [], "packed_slices": ["--kernel", "packed_slices"], "ell+blas": ["--method", "ell+blas"]},
    "cuda": {"fused": [], "warp_packed_slices": ["--kernel", "warp_packed_slices"], "ell+blas": ["--method", "ell+blas"],
             "cusparse": ["--method", "cusparse"]},
    "emulator": {"fused": [], "ell+blas": ["--method", "ell+blas"]},
}


def time_of(nz, case, words):
    dim, cells, steps = case
    command = [nz, "heat", "--dim", str(dim), "--cells", str(cells), "--steps", str(steps), "--json", *words]
    found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return found["seconds_per_step"], found["kernel"]


def time_of_numpy(case):
    """A step as NumPy's users write it; nothing where there is no NumPy."""
    try:
        import numpy
    except ImportError:
        return None
    dim, cells, steps = case
    steps = min(steps, 10)
    q = numpy.random.default_rng(1).random((cells,) * dim)
    start = time.perf_counter()
    for _ in range(steps):
        y = -2 * dim * q
        for axis in range(dim):
            low = tuple(slice(None, -1) if a == axis else slice(None) for a in range(dim))
            high = tuple(slice(1, None) if a == axis else slice(None) for a in range(dim))
            y[low] += q[high]
            y[high] += q[low]
        numpy.linalg.norm(y)
        q += y / (2 * dim)
    return (time.perf_counter() - start) / steps


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nz", default="build/release/cli/nz", help="the command to time (%(default)s)")
    parser.add_argument("--device", default="cpu", choices=sorted(CASES), help="where (%(default)s)")
    parser.add_argument("--precision", default="double", choices=["double", "float"])
    parser.add_argument("--grid", action="append", metavar="DIM:CELLS", help="only this one of the grids; may be repeated")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each (%(default)s)")
    options = parser.parse_args()
    more = ["--device", options.device, "--precision", options.precision]
    print("| grid | method | kernel | per step | cells per second | fused is faster by |\n|---|---|---|---:|---:|---:|")
    for case in CASES[options.device]:
        dim, cells, _ = case
        if options.grid and f"{dim}:{cells}" not in options.grid:
            continue
        best = {}
        for _ in range(options.rounds):
            for method, words in METHODS[options.device].items():
                seconds, kernel = time_of(options.nz, case, [*words, *more])
                if method not in best or seconds < best[method][0]:
                    best[method] = (seconds, kernel)
        if options.device == "cpu" and (seconds := time_of_numpy(case)):
            best["NumPy"] = (seconds, "")
        for method, (seconds, kernel) in best.items():
            ratio = seconds / best["fused"][0]
            print(f"| {cells:,}{'' if dim == 1 else '²' if dim == 2 else '³'} | {method} | {kernel} | {1e6 * seconds:,.2f} µs"
                  f" | {cells ** dim / seconds:.3g} | {ratio:.2f} × |", flush=True)


if __name__ == "__main__":
    main()
