"""Reads a Matrix Market file with SciPy and prints a line of JSON like bench_read's.

    build/venv/bin/python bench/scipy_read.py big.mtx --threads 2 [--csr]
"""

import argparse
import json
import time

import numpy
import scipy.io
import scipy.io._fast_matrix_market as fast_matrix_market

CHUNK = 1 << 18  # entries summed at once: the check must not set the peak of memory


def anonymous_bytes():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("RssAnon"))


def digest(matrix):
    index_sum, total, magnitude = 0, 0.0, 0.0
    for k in range(0, matrix.nnz, CHUNK):
        row, col, value = (array[k : k + CHUNK] for array in (matrix.row, matrix.col, matrix.data))
        index_sum += 3 * int(row.sum(dtype=numpy.int64)) + int(col.sum(dtype=numpy.int64))
        total += float(value.sum())
        magnitude += float(numpy.abs(value).sum())
    rows, cols = matrix.shape
    return dict(rows=rows, cols=cols, nnz=matrix.nnz, index_sum=index_sum, sum=total, magnitude=magnitude)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--csr", action="store_true", help="also convert to CSR, within the time")
    given = parser.parse_args()

    fast_matrix_market.PARALLELISM = given.threads
    baseline = anonymous_bytes()
    start = time.perf_counter()
    matrix = scipy.io.mmread(given.file)
    if given.csr:
        matrix = matrix.tocsr()
    seconds = time.perf_counter() - start
    # After --csr the nonzeros are counted but not walked: tocoo would add to the memory measured.
    found = dict(nnz=matrix.nnz) if given.csr else digest(matrix)
    print(json.dumps(dict(found, seconds=seconds, baseline_bytes=baseline, version=scipy.__version__)))


if __name__ == "__main__":
    main()
