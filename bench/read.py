"""How fast Matrix Market files are read: Nonzero, SciPy, fscanf and Eigen side by side in one run.

    build/venv/bin/python bench/read.py                    three generated files, two of them over 500 MB
    build/venv/bin/python bench/read.py --quick            small ones: does it work at all?
    build/venv/bin/python bench/read.py web.mtx --rounds 9 --json web.json

Build first: cmake --preset bench && cmake --build --preset bench

The contenders take turns, each in a process of its own, for some rounds. Before those, one untimed round brings
the file into the page cache and watches each process's anonymous memory, so the mapped file does not count and
the watching slows nothing that is timed. The times are taken inside the processes: starting Python is not in them.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import threading
from dataclasses import dataclass, field

ROOT = pathlib.Path(__file__).resolve().parent.parent
SAMPLE_SECONDS = 0.002

# What is read when no file is named: 17-digit values in a random pattern, row by row as Nonzero and SciPy's csr write
# them; the same column by column, as the SuiteSparse collection has them; and one-digit values in a stencil.
FULL = [(["uniform", "1250000", "16"], "rows"), (["uniform", "1250000", "16"], "columns"), (["poisson3d", "150"], "rows")]
QUICK = [(["uniform", "50000", "16"], "rows"), (["uniform", "50000", "16"], "columns"), (["poisson3d", "40"], "rows")]


@dataclass
class Contender:
    name: str
    command: list
    value_bytes: int = 8
    found: dict = None  # what its untimed run printed
    peak_bytes: int = 0
    seconds: list = field(default_factory=list)

    @property
    def median(self):
        return statistics.median(self.seconds)


def contenders(file, bench_read, threads):
    parallel = ["--threads", str(threads)]
    scipy = [sys.executable, str(ROOT / "bench" / "scipy_read.py"), str(file)] + parallel
    return [
        Contender("nonzero", [bench_read, "nonzero", file] + parallel),
        Contender("nonzero, float", [bench_read, "nonzero", file, "--precision", "float"] + parallel, value_bytes=4),
        Contender("SciPy mmread", scipy),
        Contender("SciPy mmread, tocsr", scipy + ["--csr"]),
        Contender("Eigen loadMarket", [bench_read, "eigen", file]),
        Contender("fscanf", [bench_read, "fscanf", file]),
        Contender("newline count", [bench_read, "newlines", file] + parallel),
    ]


class Failed(Exception):
    pass


def anonymous_bytes(pid):
    """The anonymous memory of a process now; 0 once it has ended."""
    try:
        with open(f"/proc/{pid}/status") as status:
            return next((int(line.split()[1]) * 1024 for line in status if line.startswith("RssAnon")), 0)
    except (FileNotFoundError, ProcessLookupError):
        return 0


def run(command, watch=False):
    """Runs a contender once; its line of JSON, and the peak of its anonymous memory if watched."""
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    peak, ended = 0, threading.Event()

    def sample():
        nonlocal peak
        while not ended.wait(SAMPLE_SECONDS):
            peak = max(peak, anonymous_bytes(process.pid))

    watcher = threading.Thread(target=sample) if watch else None
    if watcher:
        watcher.start()
    out, err = process.communicate()
    ended.set()
    if watcher:
        watcher.join()
    if process.returncode != 0:
        raise Failed(err.strip().splitlines()[-1] if err.strip() else f"exit status {process.returncode}")
    found = json.loads(out)
    return found, max(0, peak - found.get("baseline_bytes", 0))


def warm_up(runners):
    """The untimed round. Drops, saying so, the contenders that cannot run here."""
    able = []
    for runner in runners:
        try:
            runner.found, runner.peak_bytes = run(runner.command, watch=True)
            able.append(runner)
        except Failed as reason:
            if runner.name.startswith("nonzero"):
                raise
            print(f"left out: {runner.name}: {reason}", file=sys.stderr)
    return able


def header_lines(file):
    """The lines before the first entry: banner, comments, blank lines and the size line."""
    count = 1
    with open(file) as text:
        for line in text:
            if line.strip() and not line.startswith("%"):
                return count
            count += 1
    raise Failed(f"{file}: no size line")


def check_agreement(runners, file):
    """All must have read the same matrix, or the times mean nothing. Sums differ by rounding alone: n·ε·Σ|a|."""
    first = runners[0].found
    for runner in runners[1:]:
        found = runner.found
        for key in ("rows", "cols", "nnz", "index_sum"):
            if key in found and found[key] != first[key]:
                raise Failed(f"{runner.name} found {key} = {found[key]}, {runners[0].name} {first[key]}")
        rounding = first["nnz"] * 2.0**-53 + (2.0**-24 if runner.value_bytes == 4 else 0)
        if "sum" in found and not abs(found["sum"] - first["sum"]) <= rounding * first["magnitude"]:
            raise Failed(f"{runner.name} sums the values to {found['sum']}, {runners[0].name} to {first['sum']}")
        if "newlines" in found and found["newlines"] != first["nnz"] + header_lines(file):
            raise Failed(f"{runner.name} found {found['newlines']} lines for {first['nnz']} entries")


def result_rows(runners, file_bytes):
    found = runners[0].found
    by_name = {runner.name: runner for runner in runners}
    scipy, limit = by_name.get("SciPy mmread"), by_name["newline count"]
    for runner in runners:
        is_limit = runner is limit
        csr_bytes = found["nnz"] * (4 + runner.value_bytes) + (found["rows"] + 1) * 8
        yield {
            "name": runner.name,
            "seconds": runner.median,
            "seconds_min": min(runner.seconds),
            "seconds_max": max(runner.seconds),
            "megabytes_per_second": file_bytes / runner.median / 1e6,
            "times_scipy": scipy.median / runner.median if scipy and not is_limit else None,
            "percent_of_limit": 100 * limit.median / runner.median,
            "peak_bytes": None if is_limit else runner.peak_bytes,
            "peak_over_csr": None if is_limit else runner.peak_bytes / csr_bytes,
        }


def print_table(rows):
    def cell(value, pattern):
        return "-" if value is None else pattern.format(value)

    print(f"{'':20} {'seconds':>8} {'(min - max)':>15} {'MB/s':>7} {'x SciPy':>8} {'% of limit':>10} {'peak MB':>8} {'peak/CSR':>8}")
    for row in rows:
        peak = None if row["peak_bytes"] is None else row["peak_bytes"] / 1e6
        print(
            f"{row['name']:20} {row['seconds']:8.3f} {row['seconds_min']:7.3f} -{row['seconds_max']:6.3f}"
            f" {row['megabytes_per_second']:7.0f} {cell(row['times_scipy'], '{:.2f}'):>8} {row['percent_of_limit']:10.1f}"
            f" {cell(peak, '{:.0f}'):>8} {cell(row['peak_over_csr'], '{:.2f}'):>8}"
        )


def measure(file, given):
    runners = warm_up(contenders(file, given.build / "bench" / "bench_read", given.threads))
    check_agreement(runners, file)
    for _ in range(given.rounds):
        for runner in runners:
            runner.seconds.append(run(runner.command)[0]["seconds"])
    size, found = file.stat().st_size, runners[0].found
    rows = list(result_rows(runners, size))
    print(f"\n{file.name}: {size / 1e6:.0f} MB, {found['rows']} x {found['cols']}, {found['nnz']} entries; "
          f"{given.threads} threads, median of {given.rounds} rounds")
    print_table(rows)
    versions = {runner.found["version"] for runner in runners if "version" in runner.found}
    return {"file": file.name, "bytes": size, "nnz": found["nnz"], "threads": given.threads, "rounds": given.rounds,
            "scipy": next(iter(versions), None), "results": rows}


def generate(kind, order, given):
    """The generated file of that kind, its entries row by row or column by column, made if it is not there yet."""
    file = given.data / ("-".join(kind) + ("" if order == "rows" else "-by-columns") + ".mtx")
    if file.exists():
        return file
    given.data.mkdir(parents=True, exist_ok=True)
    nz = str(given.build / "cli" / "nz")
    if order == "rows":
        subprocess.run([nz, "generate", *kind, str(file)], check=True)
    else:
        import scipy.io
        import scipy.sparse

        binary, partial = file.with_suffix(".npz"), file.with_suffix(".partial")
        subprocess.run([nz, "generate", *kind, str(binary)], check=True)
        with open(partial, "wb") as out:
            scipy.io.mmwrite(out, scipy.sparse.load_npz(binary).tocsc().tocoo())
        binary.unlink()
        partial.rename(file)
    return file


def processor():
    try:
        lines = subprocess.run(["lscpu"], capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}).stdout.splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("Model name")]
    return f"{names[0] if names else os.uname().machine}, {len(os.sched_getaffinity(0))} cores"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=pathlib.Path, metavar="FILE", help="read these rather than generated ones: coordinate real general, no duplicates")
    parser.add_argument("--quick", action="store_true", help="generate small files")
    parser.add_argument("--rounds", type=int, default=5, help="timed rounds (5)")
    parser.add_argument("--threads", type=int, default=2, help="for those that can use them (2)")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "bench", help="where bench_read and nz were built")
    parser.add_argument("--data", type=pathlib.Path, default=ROOT / "build" / "bench-data", help="where generated files are kept")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="also write the figures here")
    given = parser.parse_args()
    if given.rounds < 1 or given.threads < 1:
        parser.error("--rounds and --threads start at 1")
    if not (given.build / "bench" / "bench_read").exists():
        parser.error("bench_read is not built: cmake --preset bench && cmake --build --preset bench")

    print(f"{processor()}; load {os.getloadavg()[0]:.2f} before the start")
    try:
        files = given.files or [generate(kind, order, given) for kind, order in (QUICK if given.quick else FULL)]
        reports = [measure(file, given) for file in files]
    except (Failed, OSError, subprocess.CalledProcessError) as reason:
        sys.exit(f"bench/read.py: {reason}")
    if given.json:
        given.json.write_text(json.dumps({"processor": processor(), "files": reports}, indent=2) + "\n")


if __name__ == "__main__":
    main()
