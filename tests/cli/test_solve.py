"""nz solve: answers against SciPy's direct solver, iterations against SciPy's and Eigen's conjugate gradients.

    NZ=build/release/cli/nz build/venv/bin/python tests/cli/test_solve.py
    NONZERO_MATRICES=~/matrices NZ=... build/venv/bin/python tests/cli/test_solve.py RealSystems

NONZERO_MATRICES names a folder with 1138_bus, bcsstk13 and bcsstk16; without it those tests are skipped. Where
NONZERO_EIGEN_CG names the program of bench/eigen_cg.cpp, Eigen is asked too.
"""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import numpy
import scipy.io
import scipy.sparse
import scipy.sparse.linalg

from in_folder import InFolder, NZ

EIGEN = os.environ.get("NONZERO_EIGEN_CG")


def iterations_of_scipy(a, b, tolerance, preconditioner):
    """How many iterations SciPy's conjugate gradients take."""
    count = [0]

    def step(_):
        count[0] += 1

    m = scipy.sparse.diags(1 / a.diagonal()) if preconditioner == "jacobi" else None
    scipy.sparse.linalg.cg(a, b, rtol=tolerance, atol=0, maxiter=10 * a.shape[0], M=m, callback=step)
    return count[0]


def iterations_of_eigen(matrix, tolerance, preconditioner):
    done = subprocess.run([EIGEN, str(matrix), preconditioner, "--tolerance", str(tolerance), "--times", "1"],
                          capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["iterations"]


class AgreesWithOthers(unittest.TestCase):
    def check(self, matrix, a, preconditioner, tolerance=1e-8, error=1e-5):
        """nz solve of a file or generator, of which `a` is what SciPy knows."""
        b = numpy.ones(a.shape[0])
        with tempfile.TemporaryDirectory() as folder:
            x_file = Path(folder) / "x.mtx"
            done = subprocess.run([NZ, "solve", str(matrix), "--preconditioner", preconditioner, "--json", "-o", x_file,
                                   "--tolerance", str(tolerance), "--kernel", "csr_balanced"], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            found = json.loads(done.stdout)
            x = scipy.io.mmread(x_file).ravel()
        true_residual = numpy.linalg.norm(b - a @ x) / numpy.linalg.norm(b)
        self.assertLessEqual(found["residual"], tolerance)
        self.assertLessEqual(true_residual, 1.05 * tolerance)
        exact = scipy.sparse.linalg.spsolve(a.tocsc(), b)
        self.assertLessEqual(numpy.linalg.norm(x - exact), error * numpy.linalg.norm(exact))
        counts = [iterations_of_scipy(a, b, tolerance, preconditioner)]
        if EIGEN:
            counts.append(iterations_of_eigen(matrix, tolerance, preconditioner))
        for count in counts:  # a loop may count its last iteration or not
            self.assertLessEqual(abs(found["iterations"] - count), max(1, 0.02 * count) + 1, counts)

    def test_on_stencils(self):
        for name, sizes in (("poisson2d", (40, 40)), ("poisson3d", (12, 12, 12))):
            one = lambda n: scipy.sparse.diags([-1, 2, -1], [-1, 0, 1], shape=(n, n))
            a = scipy.sparse.csr_matrix((1, 1))
            for n in sizes:
                a = scipy.sparse.kronsum(a, one(n), "csr") if a.shape[0] > 1 else one(n).tocsr()
            for preconditioner in ("none", "jacobi"):
                with self.subTest(name, preconditioner=preconditioner):
                    self.check(f"{name}:{sizes[0]}", a, preconditioner)


class RealSystems(AgreesWithOthers):
    def setUp(self):
        self.folder = os.environ.get("NONZERO_MATRICES", "")
        if not self.folder:
            self.skipTest("NONZERO_MATRICES names no folder")

    def test_on_stencils(self):
        pass

    def test_on_real_matrices(self):
        for name, preconditioner, error in (("1138_bus", "jacobi", 1e-4), ("1138_bus", "none", 1e-4),
                                            ("bcsstk13", "jacobi", 1e-2), ("bcsstk16", "jacobi", 1e-4)):
            path = Path(self.folder) / f"{name}.mtx.gz"
            with self.subTest(name, preconditioner=preconditioner):
                self.check(path, scipy.sparse.csr_matrix(scipy.io.mmread(path)), preconditioner, error=error)


TWO_BY_TWO = """%%MatrixMarket matrix coordinate real symmetric
2 2 3
1 1 4
2 1 1
2 2 3
"""
INDEFINITE = TWO_BY_TWO.replace("2 1 1", "2 1 9")
VECTOR = "%%MatrixMarket matrix array real general\n{} 1\n{}\n"


class Solve(InFolder):
    def setUp(self):
        super().setUp()
        self.write("two.mtx", TWO_BY_TWO)
        self.write("b.mtx", VECTOR.format(2, "1\n2"))

    def refuse(self, *words, status=1):
        """The one line that is said; nothing else is written."""
        before = self.names()
        done = self.run_nz("solve", *words, status=status)
        text = done.stderr.decode()
        self.assertEqual(text.count("\n"), 1, text)
        self.assertEqual(self.names(), before)
        return text

    def test_answers_what_was_asked(self):
        for device in ("cpu", "emulator"):
            for precision, close in (("double", 1e-9), ("float", 1e-5)):
                for method in ("cg", "blas"):
                    self.run_nz("solve", "two.mtx", "--b", "b.mtx", "-o", "x.mtx", "--device", device, "--precision",
                                precision, "--method", method)
                    x = scipy.io.mmread(self.folder / "x.mtx").ravel()
                    numpy.testing.assert_allclose(x, [1 / 11, 7 / 11], rtol=close)

    def test_reads_and_writes_npz(self):
        scipy.sparse.save_npz(self.folder / "b.npz", scipy.sparse.csr_matrix([[1.0], [2.0]]))
        self.run_nz("solve", "two.mtx", "--b", "b.npz", "-o", "x.npz")
        x = scipy.sparse.load_npz(self.folder / "x.npz").toarray()
        numpy.testing.assert_allclose(x, [[1 / 11], [7 / 11]], rtol=1e-12)

    def test_says_what_it_did(self):
        text = self.run_nz("solve", "poisson2d:20").stdout.decode()
        self.assertIn("b all ones", text)
        self.assertRegex(text, r"\d+ iterations, \|b - A x\| / \|b\| = [\d.]+e-\d+")
        self.write("one.mtx", "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 2\n")
        text = self.output_of("solve", "one.mtx")
        self.assertRegex(text, r"\Aone.mtx  1 × 1, 1 entry; b all ones; double\n  1 iteration, \|b")
        found = json.loads(self.run_nz("solve", "poisson2d:20", "--preconditioner", "jacobi", "--json").stdout)
        self.assertTrue(found["converged"])
        self.assertEqual(found["end"], "converged")
        self.assertEqual(found["preconditioner"], "jacobi")
        self.assertLessEqual(found["residual"], 1e-8)
        self.assertGreater(found["seconds_per_iteration"], 0)

    def test_draws_the_residual(self):
        self.run_nz("solve", "poisson2d:20", "--plot", "residual.png")
        self.assertEqual((self.folder / "residual.png").read_bytes()[:8], b"\x89PNG\r\n\x1a\n")

    def test_finds_out_before_that_a_plot_cannot_be_written(self):
        words = ["poisson2d:300", "--max-iterations", "1000000000", "--tolerance", "0"]
        self.assertIn("there is no folder nowhere", self.refuse(*words, "--plot", "nowhere/p.png"))

    def test_writes_x_to_standard_output(self):
        lines = self.run_nz("solve", "two.mtx", "--b", "b.mtx", "-o", "-").stdout.decode().splitlines()
        self.assertTrue(lines[0].startswith("%%MatrixMarket matrix array"))
        self.assertEqual(len([line for line in lines if not line.startswith("%")]), 3)

    def test_fails_where_it_has_not_converged(self):
        done = self.run_nz("solve", "poisson2d:30", "--max-iterations", "5", "--json", status=1)
        found = json.loads(done.stdout)
        self.assertEqual((found["converged"], found["end"], found["iterations"]), (False, "most_iterations", 5))
        self.assertRegex(done.stderr.decode(), "^nz: poisson2d:30: not converged: .* after 5 iterations")
        self.assertNotIn("jacobi", done.stderr.decode())  # its diagonal is 4 everywhere
        done = self.run_nz("solve", "two.mtx", "--b", "b.mtx", "--max-iterations", "1", status=1)
        self.assertIn("after 1 iteration, ", done.stderr.decode())
        self.assertIn("or try --preconditioner jacobi", done.stderr.decode())
        done = self.run_nz("solve", "poisson2d:30", "--precision", "float", "--tolerance", "1e-12", "--json", status=1)
        found = json.loads(done.stdout)
        self.assertEqual(found["end"], "stagnated")
        self.assertGreater(found["residual"], 1e-12)
        self.assertLessEqual(found["recursive_residual"], 1e-12)

    def test_refuses_what_has_no_answer(self):
        self.write("indefinite.mtx", INDEFINITE)
        self.write("minus.mtx", VECTOR.format(2, "1\n-1"))
        self.write("rows.mtx", TWO_BY_TWO.replace("symmetric\n2 2", "general\n2 3"))
        self.write("lower.mtx", TWO_BY_TWO.replace("symmetric", "general"))
        self.write("long.mtx", VECTOR.format(3, "1\n2\n3"))
        self.assertIn("indefinite.mtx: not positive definite: p'Ap is",
                      self.refuse("indefinite.mtx", "--b", "minus.mtx", "-o", "x.mtx"))
        self.assertIn("rows.mtx: only a square matrix", self.refuse("rows.mtx"))
        self.assertIn("lower.mtx: the matrix is not symmetric: row 2, column 1 is 1, and row 1, column 2 is 0",
                      self.refuse("lower.mtx", "-o", "x.mtx"))
        self.assertIn("long.mtx: b must have 2 entries", self.refuse("two.mtx", "--b", "long.mtx"))
        self.assertIn("nowhere", self.refuse("two.mtx", "-o", "nowhere/x.mtx"))

    def test_names_kernels_to_be_had_instead_of_one_that_is_not_repeatable(self):
        kernel = next(k for k in self.kernels_here() if k["runs_on"] == "emulator" and not k["repeatable"])["name"]
        for words in (["solve", "two.mtx"], ["pagerank", "two.mtx"], ["plan", "two.mtx"], ["heat"]):
            said = self.assert_fails(2, *words, "--device", "emulator", "--kernel", kernel, saying="same bits every time")
            self.assertIn("csr_merge", said)
            self.assertNotIn(kernel + ",", said)

    def test_refuses_wrong_usage(self):
        for words in (["two.mtx", "-o", "x.csv"], ["two.mtx", "--plot", "x.jpg"], ["two.mtx", "--tolerance", "-1"],
                      ["two.mtx", "--preconditioner", "ilu"], ["two.mtx", "--kernel", "none_such"], ["-", "--b", "-"],
                      ["two.mtx", "--json", "-o", "-"], ["two.mtx", "--max-iterations", "0"]):
            self.refuse(*words, status=2)


if __name__ == "__main__":
    unittest.main()
