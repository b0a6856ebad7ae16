"""PageRank with SciPy: a power iteration, and NetworkX's own."""

import time

import numpy
import scipy.sparse


class PowerIteration:
    """With the transposed matrix in CSR, which SciPy multiplies fastest."""

    def __init__(self, file, damping):
        links = scipy.sparse.load_npz(file)
        degree = numpy.diff(links.indptr)
        links.data[:] = numpy.repeat(1.0 / numpy.maximum(degree, 1), degree)
        self.keep(links)
        self.sinks = numpy.flatnonzero(degree == 0)
        self.damping = damping
        self.start = numpy.full(links.shape[0], 1.0 / max(links.shape[0], 1), links.dtype)

    def keep(self, links):
        self.shares = links.T.tocsr()

    def step(self, rank):
        jumps = self.start
        new = self.damping * (self.shares @ rank + rank[self.sinks].sum() * jumps) + (1 - self.damping) * jumps
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


class AsNetworkX(PowerIteration):
    """What networkx.pagerank does in an iteration, built-in sum and all."""

    def keep(self, links):
        self.shares = links

    def step(self, rank):
        jumps = self.start
        new = self.damping * (rank @ self.shares + sum(rank[self.sinks]) * jumps) + (1 - self.damping) * jumps
        return new, numpy.absolute(new - rank).sum()
