"""PageRank with SciPy: the power iteration that NetworkX makes, with the transposed matrix in CSR, which is faster."""

import time

import numpy
import scipy.sparse


class PowerIteration:
    def __init__(self, file, damping):
        links = scipy.sparse.load_npz(file)
        degree = numpy.diff(links.indptr)
        links.data[:] = numpy.repeat(1.0 / numpy.maximum(degree, 1), degree)
        self.shares = links.T.tocsr()
        self.is_sink = numpy.flatnonzero(degree == 0)
        self.damping = damping
        self.start = numpy.full(links.shape[0], 1.0 / max(links.shape[0], 1), links.dtype)

    def step(self, rank):
        pages = len(rank)
        lost = rank[self.is_sink].sum()
        new = self.damping * (self.shares @ rank + lost / pages) + (1 - self.damping) / pages
        return new, numpy.abs(new - rank).sum()

    def seconds(self, iterations):
        rank, _ = self.step(self.start)
        start = time.perf_counter()
        for _ in range(iterations):
            rank, _ = self.step(rank)
        return (time.perf_counter() - start) / iterations

    def largest(self, iterations):
        rank = self.start
        for _ in range(iterations):
            rank, _ = self.step(rank)
        return float(rank.max())
