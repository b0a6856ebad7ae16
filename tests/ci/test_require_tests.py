"""Gives .ci/require-tests, and the scripts that rely on it, a program that lists as many tests as it is told to."""

import os
import pathlib
import subprocess
import tempfile
import unittest

CI = pathlib.Path(__file__).resolve().parents[2] / ".ci"
# Lists LISTED tests of one suite; passes whatever it is asked to run, as GoogleTest does where nothing matches.
PROGRAM = """#!/bin/sh
case "$*" in *--gtest_list_tests*) ;; *) exit 0 ;; esac
[ "$LISTED" -eq 0 ] || echo Suite.
seq -f '  Test%g' "$LISTED"
"""


def run(script, listed, *arguments):
    """The exit status and output of a script of .ci with a program that lists so many tests."""
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, "program")
        program.write_text(PROGRAM)
        program.chmod(0o755)
        pathlib.Path(folder, "compute-sanitizer").symlink_to("/bin/true")
        environment = {**os.environ, "LISTED": str(listed), "PATH": folder + os.pathsep + os.environ["PATH"]}
        done = subprocess.run([CI / script, program, *arguments], env=environment, capture_output=True, text=True,
                              check=False)
        return done.returncode, done.stdout


class TooFewTests(unittest.TestCase):
    def test_fail_and_are_counted(self):
        for listed, minimum in [(0, 1), (3, 4), (9, 10)]:
            with self.subTest(listed=listed):
                status, output = run("require-tests", listed, "Suite*", str(minimum))
                self.assertEqual(status, 1)
                self.assertIn(f"has {listed} tests that match 'Suite*', but there should be at least {minimum}", output)

    def test_are_not_what_the_minimum_is(self):
        self.assertEqual(run("require-tests", 4, "Suite*", "4"), (0, ""))

    def test_fail_what_runs_on_the_card(self):
        for script in ["gpu-test", "gpu-sanitize"]:
            with self.subTest(script=script):
                self.assertEqual(run(script, 0)[0], 1)
                self.assertEqual(run(script, 100)[0], 0)


if __name__ == "__main__":
    unittest.main()
