"""Files, pipes and devices that would take all memory, or for ever: each gets one line, soon, in little memory.

Run as `python test_bad_files.py --nz PATH`, or with the path in the environment variable NZ. Needs only the standard
library. NZ_SANITIZED says that nz was built with sanitizers, which do not bear a limit on memory.
"""

import os
import resource
import struct
import subprocess
import time
import unittest
import zipfile
import zlib

from in_folder import LECTURE, InFolder

MB = 2**20
BANNER = b"%%MatrixMarket matrix coordinate real general\n"
# The promise is 2 s and 64 MB beside what nz takes for nothing. A busy machine may take many times as long.
MOST_SECONDS = 60
MOST_BYTES = (64 + 32) * MB


def gzip_of(*parts):
    """A gzip file of (bytes, repetitions), a member for each."""
    return b"".join(gzip_member(part) * count for part, count in parts)


def gzip_member(data):
    pack = zlib.compressobj(1, zlib.DEFLATED, 31)
    return pack.compress(data) + pack.flush()


def npy(descr, shape, data):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header + data


class BadFiles(InFolder):
    def assert_refused(self, name, saying, command=("info",), **options):
        """Refused with one line, in little time and memory."""

        def limit():  # of the heap and the stacks of threads, without files that are mapped
            if "NZ_SANITIZED" not in os.environ:
                resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES))

        began = time.monotonic()
        few_stacks = {**os.environ, "OMP_NUM_THREADS": "2"}
        self.assert_fails(1, *command, name, saying=saying, preexec_fn=limit, env=few_stacks, **options)
        self.assertLess(time.monotonic() - began, MOST_SECONDS)

    def test_a_small_file_that_is_large_when_decompressed(self):
        x, lines = (b"x" * 16 * MB, 64), (b"\n" * 16 * MB, 64)
        for content, saying in [
            ([(BANNER + b"%", 1), x, (b"\n1 1 1\n1 1 1\n", 1)], "no line of sizes in the first"),
            ([(BANNER, 1), lines], "no line of sizes in the first"),
            ([(BANNER[:-1], 1), (b" " * 16 * MB, 64)], "a line of more than"),
            ([(BANNER + b"1 1 1\n1 1 ", 1), x], "a line of more than"),
            ([(BANNER + b"1 1 1\n", 1), lines], "blank lines without an entry"),
            ([(bytes(16 * MB), 64)], "not a Matrix Market file"),
        ]:
            with self.subTest(saying):
                (self.folder / "bomb.mtx.gz").write_bytes(gzip_of(*content))
                self.assert_refused("bomb.mtx.gz", saying)

    def test_an_npz_whose_rows_are_wrong_is_refused_before_its_columns_and_values_are_read(self):
        n = 2**24
        with zipfile.ZipFile(self.folder / "bomb.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as out:
            out.writestr("format.npy", npy("|S3", "()", b"csr"))
            out.writestr("shape.npy", npy("<i8", "(2,)", struct.pack("<2q", 1, 4)))
            out.writestr("indptr.npy", npy("<i4", "(2,)", struct.pack("<2i", 0, 7)))
            out.writestr("indices.npy", npy("<i4", f"({n},)", bytes(4 * n)))
            out.writestr("data.npy", npy("<f8", f"({n},)", bytes(8 * n)))
        self.assert_refused("bomb.npz", f"it ends at 7, but indices.npy has {n} elements")

    def test_a_file_that_is_mostly_a_hole(self):
        for start, saying in [
            (b"", "not a Matrix Market file"),
            (BANNER[:-1], "unknown symmetry"),
            (BANNER, "a NUL byte"),
            (BANNER + b"% ", "a NUL byte"),
            (BANNER + b"2 2 ", "a NUL byte"),
            (BANNER + b"2 2 2\n1 1 1\n", "a NUL byte"),
            (BANNER + b"2 2 1000000000\n", "a NUL byte"),
            (b"PK\3\4", "the zip is damaged or cut off"),
        ]:
            with self.subTest(start):
                with open(self.folder / "hole.mtx", "wb") as out:
                    out.write(start)
                    out.truncate(2**33)
                self.assert_refused("hole.mtx", saying)

    def test_rows_for_nothing(self):
        rows = 2**23 + 1
        (self.folder / "rows.mtx").write_bytes(BANNER + f"{rows} {rows} 1\n1 1 1\n".encode())
        self.assert_refused("rows.mtx", "a table of its rows alone would take 64.0 MiB")

    def test_devices_and_pipes_without_end(self):
        for device in ["/dev/zero", "/dev/urandom"]:
            self.assert_refused(device, "not a Matrix Market file")
        self.run_nz("convert", "a.mtx", "a.npz")
        self.run_nz("convert", "a.mtx", "b.npz", "--compress")
        header = BANNER.decode().replace("%", "%%").replace("\n", "\\n")
        for command, saying in [
            ("yes", "not a Matrix Market file"),
            (f"printf '{header}'; yes %", "no line of sizes in the first"),
            (f"printf '{header}2 2 5\\n'; yes ''", "blank lines without an entry"),
            (f"printf '{header}2 2 5\\n'; yes '1 1 1'", "an entry past the declared 5"),
            (r"printf '\050\265\057\375'; cat /dev/zero", "hold nothing"),  # zstd: blocks of no bytes
            ("echo text | gzip; cat /dev/zero", "zeros follow"),
            ("echo text | gzip; yes", "other bytes after the compressed data"),
            ("cat a.npz; cat /dev/zero", "it goes on after its end"),
            ("head -c 300 a.npz; cat /dev/zero", "there is no header at byte"),
            ("head -c 300 b.npz; cat /dev/zero", ": the "),
            (r"printf 'PK\003\004'; cat /dev/zero", "a member without a name"),
        ]:
            with self.subTest(command):
                pipe = subprocess.Popen(["bash", "-c", command], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
                self.assert_refused("-", saying, stdin=pipe.stdout)
                pipe.stdout.close()  # ends whoever writes to it
                pipe.wait()

    def test_a_vector_without_end(self):
        for command, saying in [
            ("yes", ":1: 'y' is not a number"),
            ("yes '#'", "bytes of comments and blank lines in a row"),
            ("yes 1 | tr -d '\\n'", "is not a number"),
        ]:
            with self.subTest(command):
                pipe = subprocess.Popen(["bash", "-c", command], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
                self.assert_refused("/dev/stdin", saying, command=["multiply", "a.mtx", "--x"], stdin=pipe.stdout)
                pipe.stdout.close()
                pipe.wait()

    def test_an_npz_may_come_through_a_pipe(self):
        for words in [[], ["--compress"]]:
            self.run_nz("convert", "a.mtx", "a.npz", *words)
            packed = (self.folder / "a.npz").read_bytes()
            for name in ["-", "/dev/stdin"]:
                self.assertIn("4 × 4, 7 entries", self.output_of("info", name, input=packed))
            self.assert_fails(1, "info", "-", input=packed[:-30], saying="the zip is damaged or cut off")

    def test_a_damaged_gzip_is_no_other_matrix(self):
        packed = bytearray(gzip_member(LECTURE.encode()))
        for at in range(-8, 0):
            packed[at] ^= 1
            self.assert_fails(1, "info", "-", input=bytes(packed), saying="the compressed data is damaged")
            packed[at] ^= 1
        self.assertIn("7 entries", self.output_of("info", "-", input=bytes(packed)))


if __name__ == "__main__":
    unittest.main()
