"""What nz does where the system refuses memory or threads. NZ_FAULTS is the library of tests/faults."""

import gzip
import os
import subprocess
import unittest

from in_folder import NZ, InFolder

# Of each command, about so many of its allocations are made to fail in turn, spread over all of them.
RUNS = int(os.environ.get("NZ_FAULT_RUNS", "40"))


class Faults(InFolder):
    def run_with(self, faults, *words):
        environment = {**os.environ, "LD_PRELOAD": os.environ["NZ_FAULTS"], "NZ_NUM_THREADS": "3", **faults}
        return subprocess.run([NZ, *words], cwd=self.folder, capture_output=True, text=True, timeout=120, env=environment)

    def assert_whole_or_nothing(self, *words, output=None):
        """Once for each allocation that fails: what nz writes is whole or not there, and it says why in one line."""
        whole = self.run_with({"NZ_FAIL_AT": "0"}, *words)
        self.assertEqual(whole.returncode, 0, whole.stderr)
        allocations = int(whole.stderr.split()[-1])
        names, content = self.names(), output and (self.folder / output).read_bytes()
        refused = 0
        for number in range(1, allocations + 1, max(1, allocations // RUNS)):
            if output:
                (self.folder / output).unlink(missing_ok=True)
            done = self.run_with({"NZ_FAIL_AT": str(number)}, *words)
            with self.subTest(f"nz {' '.join(words)}: allocation {number} of {allocations}"):
                self.assertIn(done.returncode, (0, 1), done.stderr)
                if done.returncode == 0:
                    self.assertEqual(self.names(), names)
                    self.assertEqual(output and (self.folder / output).read_bytes(), content)
                else:
                    refused += 1
                    self.assertRegex(done.stderr, r"\Anz: [^\n]+\n\Z")
                    self.assertEqual(self.names(), [name for name in names if name != output])
        self.assertGreater(refused, 0)


@unittest.skipUnless("NZ_FAULTS" in os.environ, "NZ_FAULTS names no library")
class FailingAllocations(Faults):
    def test_while_reading_and_multiplying(self):
        self.run_nz("generate", "poisson2d", "150", "grid.mtx")
        (self.folder / "grid.mtx.gz").write_bytes(gzip.compress((self.folder / "grid.mtx").read_bytes()))
        self.assert_whole_or_nothing("multiply", "grid.mtx.gz", "--kernel", "csr_balanced")

    def test_while_planning(self):
        self.assert_whole_or_nothing("plan", "rmat:11", "--expected", "100000")

    def test_while_writing(self):
        for output in ("out.mtx", "out.npz"):
            self.assert_whole_or_nothing("convert", "a.mtx", output, output=output)


@unittest.skipUnless("NZ_FAULTS" in os.environ, "NZ_FAULTS names no library")
class WithoutThreads(Faults):
    def test_products_and_plans_are_the_same(self):
        for words in (["multiply", "poisson2d:300", "--kernel", "csr_balanced"], ["pagerank", "rmat:10"]):
            alone = self.run_with({"NZ_NO_THREADS": "1"}, *words)
            self.assertEqual(alone.returncode, 0, alone.stderr)
            self.assertEqual(alone.stdout.splitlines()[-1], self.run_with({}, *words).stdout.splitlines()[-1])

    def test_odd_numbers_of_threads_are_taken_or_ignored(self):
        for variable in ("NZ_NUM_THREADS", "OMP_NUM_THREADS"):
            for value in ("99999999999", "0", "-3", "many", "", "2,1", "3"):
                environment = {**os.environ, "NZ_NUM_THREADS": "", variable: value}
                self.run_nz("multiply", "poisson2d:100", env=environment)


if __name__ == "__main__":
    unittest.main()
