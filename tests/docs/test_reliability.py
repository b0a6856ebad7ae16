"""Every promise of docs/reliability.md names tests that there are."""

import fnmatch
import os
import re
import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "reliability.md").read_text()


def all_tests():
    """Suite.Test of all in nonzero_tests, and the suites of those that are only built with CUDA."""
    listed = subprocess.run([os.environ["NONZERO_TESTS"], "--gtest_list_tests"], capture_output=True, text=True, check=True)
    names, suite = [], ""
    for line in listed.stdout.splitlines():
        word = line.split("#")[0].strip()
        if line.startswith("  "):
            names.append(suite + word)
        else:
            suite = word
    for source in (ROOT / "tests" / "gpu" / "cuda").glob("*.cpp"):
        names += [".".join(found) for found in re.findall(r"^TEST\w*\((\w+), (\w+)\)", source.read_text(), re.M)]
    return names


class Reliability(unittest.TestCase):
    def test_every_promise_names_tests_that_there_are(self):
        named = [name for tests in re.findall(r"(?<!\*)\*(`.*?)\*(?!\*)\n", PAGE, re.S) for name in re.findall(r"`([^`]*)`", tests)]
        self.assertGreater(len(named), 20)
        scripts = (ROOT / "tests" / "CMakeLists.txt").read_text()
        targets = (ROOT / "Makefile").read_text()
        tests = all_tests()
        for name in named:
            with self.subTest(name):
                if name.startswith("make "):
                    self.assertIn(f"\n{name[5:]}: ", targets)
                elif name.startswith("fuzz/"):
                    self.assertTrue(list(ROOT.glob(name)))
                elif name.startswith("Cli."):
                    self.assertIn(f"add_nz_test({name} ", scripts)
                elif "." in name or "*" in name:
                    self.assertTrue(fnmatch.filter(tests, name if "*" in name else name + "*"))


if __name__ == "__main__":
    unittest.main()
