#!/usr/bin/env python3
"""SciPy's product of a CSR matrix and a vector, on one thread: it has no other. Says what protocol.hpp says."""

import sys
import time

import numpy
import scipy
import scipy.sparse


def read_matrix(path):
    """The matrix and x, in memory of our own, with 32-bit offsets where they fit."""
    data = numpy.memmap(path, dtype=numpy.uint8, mode="r")
    at = 0

    def take(kind, count):
        nonlocal at
        size = numpy.dtype(kind).itemsize * count
        part = numpy.frombuffer(data[at : at + size].tobytes(), dtype=kind)
        at += (size + 63) // 64 * 64
        return part

    _, value_size, rows, cols, entries = (int(word) for word in take(numpy.int64, 8)[:5])
    value = {4: numpy.float32, 8: numpy.float64}[value_size]
    row_begin, col = take(numpy.int64, rows + 1), take(numpy.int32, entries)
    val, x = take(value, entries), take(value, cols)
    if entries < 2**31:
        row_begin = row_begin.astype(numpy.int32)
    start = time.perf_counter()
    matrix = scipy.sparse.csr_matrix((val, col, row_begin), shape=(rows, cols))
    return matrix, x, time.perf_counter() - start


def timed(matrix, x, calls):
    for _ in range(1 + calls // 2):  # as warm_up_calls in protocol.hpp
        matrix @ x
    start = time.perf_counter()
    for _ in range(calls):
        matrix @ x
    return time.perf_counter() - start


def main():
    matrix = x = None
    for line in iter(sys.stdin.readline, ""):
        word, _, rest = line.rstrip("\n").partition(" ")
        try:
            if word == "quit":
                return
            if word == "matrix":
                matrix, x, seconds = read_matrix(rest)
                print(f"ready {seconds:.9f} SciPy {scipy.__version__}", flush=True)
            elif word == "result":
                y = matrix @ x
                if y.size:
                    numpy.memmap(rest, dtype=y.dtype, mode="r+", shape=y.shape)[:] = y
                print("written", flush=True)
            else:
                print(f"took {timed(matrix, x, int(rest)):.9f}", flush=True)
        except Exception as problem:
            print("cannot", str(problem).replace("\n", " "), flush=True)


if __name__ == "__main__":
    main()
