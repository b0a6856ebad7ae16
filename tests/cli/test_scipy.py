"""Does `nz` agree with SciPy? Files go both ways, and products are compared within their rounding error.

    NZ=build/release/cli/nz build/venv/bin/python tests/cli/test_scipy.py
    NONZERO_MATRICES=~/matrices NZ=... build/venv/bin/python tests/cli/test_scipy.py RealMatrices

NONZERO_MATRICES names a folder of .mtx and .mtx.gz files to check as well; without it that test is skipped.
"""

import gzip
import json
import os
import pathlib
import re
import subprocess
import tarfile
import tempfile
import unittest

import numpy
import scipy.io
import scipy.sparse

NZ = os.path.abspath(os.environ["NZ"]) if "NZ" in os.environ else "nz"
EPSILON = {"float": 2.0**-23, "double": 2.0**-52}
VALUE = {"float": numpy.float32, "double": numpy.float64}


def random_matrix(rows, cols, density=0.1, seed=1):
    generator = numpy.random.default_rng(seed)
    values = lambda size: generator.standard_normal(size) * 10.0 ** generator.integers(-30, 30, size)
    return scipy.sparse.random(rows, cols, density, format="csr", random_state=generator, data_rvs=values)


def with_gaps():
    """Rows and columns without entries: at the start, in the middle and at the end."""
    a = random_matrix(30, 40, 0.3, seed=2).tolil()
    a[[0, 1, 15, 29], :] = 0
    a[:, [0, 20, 38, 39]] = 0
    return a.tocsr()


def with_explicit_zeros():
    return scipy.sparse.csr_matrix(([1.5, 0.0, -0.0, 2.5], [0, 2, 1, 3], [0, 2, 3, 4]), shape=(3, 4))


def with_duplicates():
    """Values whose sums are exact, so that the order of the sum does not matter."""
    return scipy.sparse.coo_matrix(([1, 2, 4, 8, 16.5], ([2, 0, 2, 1, 2], [1, 0, 1, 3, 1])), shape=(3, 4))


def with_every_kind_of_value():
    values = [numpy.nan, numpy.inf, -numpy.inf, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 0.1, -1 / 3]
    return scipy.sparse.coo_matrix((values, (range(8), range(8))), shape=(8, 8)).tocsr()


def battery():
    """Name and matrix, for all that SciPy can hold and Nonzero reads."""
    yield "wide", random_matrix(20, 300)
    yield "tall", random_matrix(300, 20)
    yield "gaps", with_gaps()
    yield "explicit zeros", with_explicit_zeros()
    yield "duplicates", with_duplicates()
    yield "every kind of value", with_every_kind_of_value()
    yield "no entries", scipy.sparse.csr_matrix((5, 7))
    yield "full blocks", scipy.sparse.kron(random_matrix(20, 20), numpy.ones((3, 3)), "csr")
    yield "one entry", scipy.sparse.csr_matrix([[2.5]])
    yield "one row", random_matrix(1, 500, 0.5)
    yield "one column", random_matrix(500, 1, 0.5)
    yield "csc", random_matrix(50, 60).tocsc()
    yield "coo", random_matrix(50, 60).tocoo()
    yield "float32", scipy.sparse.random(50, 60, 0.1, "csr", numpy.float32, random_state=3)
    for kind in (numpy.int8, numpy.uint16, numpy.int32, numpy.int64, bool):
        yield numpy.dtype(kind).name, (scipy.sparse.random(50, 60, 0.1, "csr", random_state=4) * 100).astype(kind)
    for form in ("csr", "csc", "coo"):
        yield f"64-bit indices in {form}", with_wide_indices(random_matrix(50, 60), form)


# Those of the battery that differ in more than how they are stored.
SHAPES = {"wide", "tall", "gaps", "no entries", "full blocks", "one row", "one column"}


def with_wide_indices(a, form):
    a = a.asformat(form, copy=True)
    for name in ("indices", "indptr", "row", "col"):
        if name in vars(a):
            setattr(a, name, getattr(a, name).astype(numpy.int64))
    if form == "coo":
        a.coords = tuple(c.astype(numpy.int64) for c in a.coords)
    return a


def canonical(a):
    """As CSR in double, sorted, duplicates summed, explicit zeros kept: what Nonzero holds."""
    a = scipy.sparse.csr_matrix(a, copy=True)
    a.data = a.data.astype(numpy.float64)
    a.sum_duplicates()
    return a


class NzTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def nz(self, *arguments):
        """Runs nz, which must succeed; its standard output."""
        done = self.try_nz(*arguments)
        self.assertEqual(done.returncode, 0, f"nz {' '.join(map(str, arguments))}: {done.stderr}")
        return done.stdout

    def try_nz(self, *arguments):
        return subprocess.run([NZ, *map(str, arguments)], capture_output=True, text=True, timeout=300)

    def assert_same(self, a, b):
        """The same matrix, bit for bit; any NaN equals any other."""
        a, b = canonical(a), canonical(b)
        self.assertEqual(a.shape, b.shape)
        numpy.testing.assert_array_equal(a.indptr, b.indptr)
        numpy.testing.assert_array_equal(a.indices, b.indices)
        numpy.testing.assert_array_equal(a.data, b.data)
        real = ~numpy.isnan(a.data)
        numpy.testing.assert_array_equal(numpy.signbit(a.data[real]), numpy.signbit(b.data[real]))

    def convert_to_npz(self, source):
        target = self.folder / "converted.npz"
        self.nz("convert", source, target)
        return scipy.sparse.load_npz(target)

    def kernels(self):
        """The names of those that run here: without a GPU, not those that only a GPU has."""
        table = json.loads(self.nz("list", "--json"))
        here = {device["name"] for device in table["devices"]}
        names = dict.fromkeys(row["name"] for row in table["kernels"] if row["runs_on"] in here)
        self.assertIn("csr_serial", names)
        return list(names)

    def lacks_blocks(self, kernel, file):
        """Whether that is why the kernel refuses the matrix, as only those of bsr and sbsr do; or symmetry, of sbsr."""
        if not kernel.startswith(("bsr", "sbsr")):
            return False
        tried = self.try_nz("multiply", file, "--kernel", kernel, "-o", self.folder / "tried.mtx")
        return tried.returncode == 1 and re.search("full|sbsr.*(square|symmetric|far)", tried.stderr)

    def assert_product(self, file, a, x, arguments, precision, alpha=1.0, beta=0.0, y0=None):
        """nz multiply on `file`, which holds `a`, is within the error bound of SciPy's product in double."""
        a, x = canonical(a.astype(VALUE[precision])), x.astype(VALUE[precision]).astype(numpy.float64)
        target = self.folder / "y.mtx"
        self.nz("multiply", file, "-o", target, "--precision", precision, *arguments)
        y = scipy.io.mmread(target).ravel()
        exact, magnitude = alpha * (a @ x), abs(alpha) * (abs(a) @ abs(x))
        if y0 is not None:
            exact, magnitude = exact + beta * y0, magnitude + abs(beta) * abs(y0)
        # A sum of n terms, each product rounded, then alpha and beta.
        bound = (numpy.diff(a.indptr) + 3) * EPSILON[precision] * magnitude
        self.assertEqual(y.shape, exact.shape)
        worst = int(numpy.argmax(abs(y - exact) - bound)) if y.size else 0
        self.assertTrue((abs(y - exact) <= bound).all(), f"{arguments}: row {worst}: {y[worst]}, SciPy {exact[worst]}")

    def write_vector(self, name, x):
        scipy.io.mmwrite(self.folder / name, x.reshape(-1, 1), precision=17)
        return self.folder / name


class SciPyAgreement(NzTest):
    def test_scipy_reads_the_matrix_market_that_nz_makes_of_its_npz(self):
        for name, a in battery():
            for compressed in (True, False):
                with self.subTest(name, compressed=compressed):
                    scipy.sparse.save_npz(self.folder / "a.npz", a, compressed=compressed)
                    self.nz("convert", self.folder / "a.npz", self.folder / "b.mtx")
                    self.assert_same(a, scipy.io.mmread(self.folder / "b.mtx"))

    def test_scipy_reads_the_npz_that_nz_makes_of_its_npz(self):
        for name, a in battery():
            with self.subTest(name):
                scipy.sparse.save_npz(self.folder / "a.npz", a)
                b = self.convert_to_npz(self.folder / "a.npz")
                self.assertEqual(b.format, "csr")
                self.assert_same(a, b)

    def test_scipy_reads_the_npz_that_nz_makes_of_its_matrix_market(self):
        for name, a in battery():
            with self.subTest(name):
                # Asked for 17 digits of a float32, SciPy (1.13 to 1.17) ends the number in zero bytes.
                written = a.astype(numpy.float64) if a.dtype == numpy.float32 else a
                scipy.io.mmwrite(self.folder / "a.mtx", written, precision=17, symmetry="general")
                self.assert_same(a, self.convert_to_npz(self.folder / "a.mtx"))

    def test_every_field_and_symmetry_that_scipy_writes_is_read_as_scipy_reads_it(self):
        square = scipy.sparse.coo_matrix(numpy.round(random_matrix(30, 30, 0.2, seed=5).toarray(), 0) % 1000)
        of_symmetry = {"general": square, "symmetric": square + square.T, "skew-symmetric": square - square.T}
        for symmetry, a in of_symmetry.items():
            for field in ("real", "integer", "pattern"):
                if (symmetry, field) == ("skew-symmetric", "pattern"):
                    continue  # the standard has no such file
                with self.subTest(symmetry, field=field):
                    file = self.folder / "a.mtx"
                    scipy.io.mmwrite(file, a, field=field, symmetry=symmetry, precision=17)
                    self.assertIn(f"coordinate {field} {symmetry}", file.read_text().splitlines()[0])
                    self.assert_same(scipy.io.mmread(file), self.convert_to_npz(file))

    def test_every_symmetry_of_a_dense_array_is_read_as_scipy_reads_it(self):
        square = numpy.random.default_rng(6).standard_normal((12, 12))
        for symmetry, a in (("general", square[:, :7]), ("symmetric", square + square.T),
                            ("skew-symmetric", square - square.T)):
            for field in ("real", "integer"):
                with self.subTest(symmetry, field=field):
                    file = self.folder / "a.mtx"
                    dense = a if field == "real" else numpy.trunc(a * 100).astype(numpy.int64)
                    scipy.io.mmwrite(file, dense, field=field, symmetry=symmetry, precision=17)
                    self.assertIn(f"array {field} {symmetry}", file.read_text().splitlines()[0])
                    numpy.testing.assert_array_equal(self.convert_to_npz(file).toarray(), dense)

    def test_gzip_and_a_tar_as_suitesparse_packs_it_are_read(self):
        a = random_matrix(80, 90)
        plain = self.folder / "a.mtx"
        scipy.io.mmwrite(plain, a, precision=17, symmetry="general")
        with gzip.open(self.folder / "a.mtx.gz", "wb") as packed:
            packed.write(plain.read_bytes())
        with tarfile.open(self.folder / "a.tar.gz", "w:gz") as packed:
            packed.add(plain, "a/a.mtx")
        for name in ("a.mtx.gz", "a.tar.gz"):
            with self.subTest(name):
                self.assert_same(a, self.convert_to_npz(self.folder / name))

    def products(self):
        """Name, matrix, file, x and its file, for all of the battery whose products have an error bound."""
        generator = numpy.random.default_rng(7)
        for name, a in battery():
            if name == "every kind of value":
                continue  # NaN has no error bound; the library's own tests hold it
            if a.dtype == numpy.float64:  # within the range of float, where overflow has no bound either
                a = scipy.sparse.csr_matrix((numpy.sin(canonical(a).data), canonical(a).indices, canonical(a).indptr),
                                            shape=a.shape)
            scipy.sparse.save_npz(self.folder / "a.npz", a)
            x = generator.standard_normal(a.shape[1])
            yield name, a, self.folder / "a.npz", x, self.write_vector("x.mtx", x)

    def test_products_are_within_the_error_bound(self):
        for name, a, file, x, x_file in self.products():
            for precision in EPSILON:
                with self.subTest(name, precision=precision):
                    self.assert_product(file, a, x, ["--x", x_file], precision)

    def test_every_kernel_multiplies_every_shape_within_the_error_bound(self):
        for name, a, file, x, x_file in self.products():
            if name not in SHAPES:
                continue
            for kernel in self.kernels():
                if (name != "full blocks" or kernel.startswith("sbsr")) and self.lacks_blocks(kernel, file):
                    continue
                for precision in EPSILON:
                    with self.subTest(name, kernel=kernel, precision=precision):
                        chosen = ["--x", x_file, "--kernel", kernel, "--padding-budget", "1e9"]
                        self.assert_product(file, a, x, chosen, precision)

    def test_alpha_and_beta_scale_as_in_scipy(self):
        generator = numpy.random.default_rng(8)
        a = scipy.sparse.random(60, 80, 0.2, "csr", random_state=8)
        scipy.sparse.save_npz(self.folder / "a.npz", a)
        x, y0 = generator.standard_normal(80), generator.standard_normal(60)
        x_file, y_file = self.write_vector("x.mtx", x), self.write_vector("y0.mtx", y0)
        for precision in EPSILON:
            start = y0.astype(VALUE[precision]).astype(numpy.float64)
            for alpha, beta in ((2.0, -1.0), (0.0, 3.0), (-1.25, 0.75)):
                with self.subTest(precision, alpha=alpha, beta=beta):
                    arguments = ["--x", x_file, "--y", y_file, f"--alpha={alpha}", f"--beta={beta}"]
                    self.assert_product(self.folder / "a.npz", a, x, arguments, precision, alpha, beta, start)


MATRICES = os.environ.get("NONZERO_MATRICES")


@unittest.skipUnless(MATRICES, "NONZERO_MATRICES names no folder of .mtx files")
class RealMatrices(NzTest):
    def files(self):
        found = sorted(path for path in pathlib.Path(MATRICES).iterdir() if path.name.endswith((".mtx", ".mtx.gz")))
        self.assertTrue(found, f"{MATRICES} holds no .mtx or .mtx.gz")
        return found

    def real_files(self):
        return [file for file in self.files() if scipy.io.mminfo(file)[4] != "complex"]

    def test_info_gives_the_shape_and_count_that_scipy_finds(self):
        for file in self.real_files():
            with self.subTest(file.name):
                a, info = canonical(scipy.io.mmread(file)), json.loads(self.nz("info", file, "--json"))
                self.assertEqual((info["rows"], info["cols"], info["entries"]), (*a.shape, a.nnz))

    def test_spy_draws_each(self):
        for file in self.real_files():
            with self.subTest(file.name):
                self.assertTrue(self.nz("spy", file).strip())
                self.nz("spy", file, "-o", self.folder / "spy.png")
                self.assertEqual((self.folder / "spy.png").read_bytes()[:8], b"\x89PNG\r\n\x1a\n")

    def test_convert_keeps_each_bit_for_bit(self):
        for file in self.real_files():
            with self.subTest(file.name):
                a = scipy.io.mmread(file)
                self.assert_same(a, self.convert_to_npz(file))
                self.nz("convert", self.folder / "converted.npz", self.folder / "back.mtx")
                self.assert_same(a, scipy.io.mmread(self.folder / "back.mtx"))

    def test_every_kernel_multiplies_each_within_the_error_bound_or_refuses_its_padding_or_lack_of_blocks(self):
        generator = numpy.random.default_rng(9)
        for file in self.real_files():
            a = scipy.io.mmread(file)
            self.nz("convert", file, self.folder / "a.npz")
            x = generator.standard_normal(a.shape[1])
            x_file = self.write_vector("x.mtx", x)
            for kernel in self.kernels():
                for precision in EPSILON:
                    with self.subTest(file.name, kernel=kernel, precision=precision):
                        chosen = ["--x", x_file, "--kernel", kernel]
                        tried = self.try_nz("multiply", self.folder / "a.npz", *chosen, "-o", self.folder / "tried.mtx")
                        if tried.returncode == 1 and kernel.startswith(("ell", "hyb", "warp_packed", "cusparse_sell")) and "budget" in tried.stderr:
                            continue
                        if self.lacks_blocks(kernel, self.folder / "a.npz"):
                            continue
                        self.assert_product(self.folder / "a.npz", a, x, chosen, precision)

    def test_a_complex_file_gets_one_clear_line_and_leaves_nothing_behind(self):
        complex_files = [file for file in self.files() if scipy.io.mminfo(file)[4] == "complex"]
        if not complex_files:
            self.skipTest(f"{MATRICES} holds no complex matrix")
        for file in complex_files:
            for arguments in (("info", file), ("convert", file, self.folder / "out.npz")):
                with self.subTest(file.name, command=arguments[0]):
                    done = self.try_nz(*arguments)
                    self.assertEqual(done.returncode, 1)
                    self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
                    self.assertRegex(done.stderr, "complex|hermitian")
                    self.assertEqual(list(self.folder.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
