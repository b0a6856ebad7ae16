"""For all tests of nz: where it is, and a folder for each test to run it in.

The path of nz comes behind --nz, or from the environment variable NZ.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

LECTURE = """%%MatrixMarket matrix coordinate real general
% [3 0 1 0; 0 0 0 0; 0 2 4 1; 1 0 0 1]
4 4 7
1 1 3
1 3 1
3 2 2
3 3 4
3 4 1
4 1 1
4 4 1
"""


def nz_path():
    """An absolute path: the tests run nz in folders of their own."""
    if "--nz" in sys.argv:
        at = sys.argv.index("--nz")
        path = sys.argv[at + 1]
        del sys.argv[at : at + 2]
        return str(Path(path).resolve())
    return str(Path(os.environ["NZ"]).resolve()) if "NZ" in os.environ else "nz"


NZ = nz_path()


class InFolder(unittest.TestCase):
    """Each test runs nz in a folder of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.write("a.mtx", LECTURE)

    def write(self, name, text):
        (self.folder / name).write_text(text)

    def names(self):
        return sorted(p.name for p in self.folder.iterdir())

    def is_writing(self, program):
        """Whether it has a file of this folder open that is not complete: without a name, or with a temporary one."""
        try:
            opened = [os.readlink(descriptor) for descriptor in Path(f"/proc/{program.pid}/fd").iterdir()]
        except OSError:  # it has just closed one
            return False
        inside = [name for name in opened if name.startswith(str(self.folder.resolve()))]
        return any(".partial-" in name or name.endswith("(deleted)") for name in inside)

    def run_nz(self, *words, status=0, **options):
        done = subprocess.run([NZ, *words], cwd=self.folder, capture_output=True, timeout=120, **options)
        self.assertEqual(done.returncode, status, done.stderr.decode())
        return done

    def output_of(self, *words, **options):
        return self.run_nz(*words, **options).stdout.decode()

    def json_of(self, *words):
        return json.loads(self.output_of(*words, "--json"))

    def kernels_here(self):
        """Those of the table that run here: without a GPU, not those for one."""
        table = self.json_of("list")
        devices = [device["name"] for device in table["devices"]]
        return [kernel for kernel in table["kernels"] if kernel["runs_on"] in devices]

    def assert_fails(self, status, *words, saying="", **options):
        """One line on standard error that says why, and nothing else."""
        done = self.run_nz(*words, status=status, **options)
        message = done.stderr.decode()
        self.assertRegex(message, r"\Anz: [^\n]+\n\Z")
        self.assertIn(saying, message)
        self.assertEqual(done.stdout, b"")
        return message
