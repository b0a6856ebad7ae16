"""nz bench --peers as its users see it, with the peers that were built beside nz and with some that misbehave.
Run like test_cli.py."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

from in_folder import NZ, InFolder

PEERS = ["openmp_csr", "eigen", "graphblas", "petsc_aij", "petsc_sell", "librsb", "onemkl", "scipy"]

# A peer that is right; tests break one of its answers.
FAKE = """#!{python}
import os, struct, sys, time

def arrays(path):
    data, at = open(path, "rb").read(), 0
    def take(kind, count):
        nonlocal at
        out = struct.unpack_from(f"={{count}}{{kind}}", data, at)
        at += (struct.calcsize(f"={{count}}{{kind}}") + 63) // 64 * 64
        return out
    _, size, rows, cols, entries, *_ = take("q", 8)
    value = {{4: "f", 8: "d"}}[size]
    return value, take("q", rows + 1), take("i", entries), take(value, entries), take(value, cols)

def matrix(path):
    global value, begin, col, val, x
    value, begin, col, val, x = arrays(path)
    return "ready 0.5 Fake 1.0"

def result(path):
    y = [sum(val[k] * x[col[k]] for k in range(begin[i], begin[i + 1])) for i in range(len(begin) - 1)]
    with open(path, "r+b") as file:
        file.write(struct.pack(f"={{len(y)}}{{value}}", *y))
    return "written"

def timed(calls):
    time.sleep(0.001)
    return "took 0.0005"

{twist}

for line in sys.stdin:
    word, _, rest = line.strip().partition(" ")
    if word == "quit":
        break
    print({{"matrix": matrix, "result": result, "time": timed}}[word](rest), flush=True)
"""


class Peers(InFolder):
    WORDS = ["--peers", "--seconds", "0.001", "--kernels", "csr_serial,eigen"]

    def fake(self, twist="", mode=0o755, name="eigen", python=sys.executable):
        """A folder with one peer, which `twist` makes different."""
        folder = self.folder / "peers"
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(FAKE.format(python=python, twist=twist))
        (folder / name).chmod(mode)
        return {**os.environ, "NONZERO_PEERS": str(folder)}

    def figures(self, *words, status=0, **options):
        return json.loads(self.output_of("bench", *words, "--json", "-", status=status, **options))

    def result_of_fake(self, twist, *words, status=0, **how):
        """Our kernel goes on whatever the peer does; what became of the peer."""
        ours, theirs = self.figures("a.mtx", *self.WORDS, *words, status=status, env=self.fake(twist, **how))["matrices"][0]["results"]
        self.assertEqual((ours["kernel"], ours["verdict"]), ("csr_serial", "ok"))
        self.assertGreaterEqual(ours["samples"], 3)
        self.assertEqual((theirs["kernel"], theirs["peer"]), ("eigen", True))
        return theirs

    def test_those_that_are_built_are_right(self):
        """Whichever they are; the plain loop needs no library."""
        matrices = ["a.mtx", "rows:3,0,5,0,2", "uniform:70:5:900", "tridiagonal:0", "rmat:7"]
        found = self.figures(*matrices, "--peers", "--seconds", "0.001", "--kernels", "csr_serial", "--precision", "both")
        self.assertTrue(found["in_turns"])
        self.assertEqual(len(found["matrices"]), 2 * len(matrices))
        for matrix in found["matrices"]:
            peers = [r for r in matrix["results"] if r["peer"]]
            self.assertEqual([r["kernel"] for r in peers], PEERS)
            self.assertLessEqual({r["verdict"] for r in peers}, {"ok", "refused"}, peers)
            for r in peers:
                if r["verdict"] == "ok":
                    self.assertLessEqual(r["error_in_bounds"], 1)
                    self.assertGreater(r["seconds"], 0)
                    self.assertRegex(r["version"], r"^(OpenMP|(Eigen|SuiteSparse:GraphBLAS|PETSc|librsb|oneMKL|SciPy) [\d.]+)")
                else:
                    self.assertTrue(r["why"])
            if (Path(NZ).parent / "peers").is_dir():
                self.assertEqual(peers[0]["verdict"], "ok", peers[0])
                self.assertEqual(matrix["baseline"], "openmp_csr")

    def test_a_right_one_is_timed_in_turns_with_ours(self):
        theirs = self.result_of_fake("")
        self.assertEqual((theirs["verdict"], theirs["version"]), ("ok", "Fake 1.0"))
        self.assertEqual(theirs["prepare_seconds"], 0.5)
        self.assertAlmostEqual(theirs["seconds"] * theirs["calls_per_sample"], 0.0005)
        both = self.figures("a.mtx", *self.WORDS, env=self.fake())["matrices"][0]
        self.assertEqual(len({r["samples"] for r in both["results"]}), 1)

    def test_the_tables_and_their_sums(self):
        words = ["bench", "a.mtx", "poisson2d:4", *self.WORDS]
        text = self.output_of(*words, env=self.fake())
        self.assertEqual(text.count("others' kernels, to compare with:"), 2)
        self.assertRegex(text, r"reads [\d.]+ GB/s: the ceiling; copies [\d.]+ GB/s")
        self.assertRegex(text, r"\n  eigen +csr +0\.\d{3} .* Fake 1\.0\n")
        self.assertEqual(len(re.findall(r"\n  fastest of ours and of the others: csr_serial is [\d.]+ × as fast as eigen\n", text)), 2)
        self.assertRegex(text, r"\n  summary, double +2 matrices\n  fastest of ours against the fastest peer +[\d.]+ ×, at worst [\d.]+ × \((a.mtx|poisson2d:4)\)\n")
        found = self.figures(*words[1:], env=self.fake())
        ratios = []
        for matrix in found["matrices"]:
            ours, theirs = (r["seconds"] for r in matrix["results"])
            duel = matrix["against_peers"]["best"]
            self.assertEqual((duel["kernel"], duel["peer"]), ("csr_serial", "eigen"))
            self.assertAlmostEqual(duel["times_as_fast"], theirs / ours)
            self.assertIsNone(matrix["against_peers"]["plan"])
            ratios.append(theirs / ours)
        total = found["summary"]["double"]["best"]
        self.assertAlmostEqual(total["geometric_mean"], (ratios[0] * ratios[1]) ** 0.5)
        self.assertAlmostEqual(total["worst"], min(ratios))
        self.assertIsNone(found["summary"]["float"]["best"])

    def test_the_side_by_side_takes_them(self):
        self.run_nz("bench", "a.mtx", *self.WORDS, "--json", "out.json", env=self.fake())
        compare = Path(__file__).resolve().parents[2] / "bench/compare.py"
        done = subprocess.run([sys.executable, compare, self.folder / "out.json"], capture_output=True, text=True, check=True)
        self.assertIn("| csr_serial | eigen |", done.stdout)

    def test_one_that_is_missing_is_named(self):
        env = {**os.environ, "NONZERO_PEERS": str(self.folder / "nowhere")}
        text = self.output_of("bench", "a.mtx", "--peers", "--seconds", "0.001", "--kernels", "csr_serial", env=env)
        for name in PEERS:
            self.assertRegex(text, rf"\n  {name} +\w+ +refused: \w+ is not built: make peers\n")
        self.assertNotIn("as fast as", text)

    def test_one_that_does_not_take_the_matrix_says_why(self):
        theirs = self.result_of_fake("matrix = lambda path: 'cannot too odd for me'")
        self.assertEqual((theirs["verdict"], theirs["why"]), ("refused", "too odd for me"))

    def test_one_that_is_wrong_is_not_timed(self):
        for twist in ["val_of = arrays\ndef arrays(path):\n    v = val_of(path)\n    return (*v[:4], [1.5 * k for k in v[4]])",
                      "result = lambda path: 'written'"]:  # fmt: skip
            theirs = self.result_of_fake(twist, status=1)
            self.assertEqual(theirs["verdict"], "wrong")
            self.assertNotIn("seconds", theirs)
        text = self.run_nz("bench", "a.mtx", *self.WORDS, status=1, env=self.fake("result = lambda path: 'written'"))
        self.assertIn("WRONG", text.stdout.decode())
        self.assertIn("1 of 2 results is wrong", text.stderr.decode())

    def test_those_that_fail_cost_a_line_each(self):
        death = "    print('first', file=sys.stderr)\n    print('out of luck', file=sys.stderr)\n    sys.exit(3)"
        twists = {
            f"def matrix(path):\n{death}": "it ended with status 3: out of luck",
            f"def timed(calls):\n{death}": "it ended with status 3: out of luck",
            f"def result(path):\n{death}": "it ended with status 3: out of luck",
            "def matrix(path):\n    os.kill(os.getpid(), 9)": "it was ended by signal 9",
            "matrix = lambda path: 'hello'": "its answer makes no sense: 'hello'",
            "matrix = lambda path: ''": "its answer makes no sense: ''",
            "matrix = lambda path: 'ready'": "its answer makes no sense: 'ready'",
            "matrix = lambda path: 'ready nan Fake'": "its answer makes no sense: 'ready nan Fake'",
            "matrix = lambda path: chr(27) + '[2J'": "its answer makes no sense: '?[2J'",
            "result = lambda path: 'done'": "its answer makes no sense: 'done'",
            "timed = lambda calls: 'took -1'": "its answer makes no sense: 'took -1'",
            "timed = lambda calls: 'took 1e9'": "its answer makes no sense: 'took 1e9'",
            "timed = lambda calls: 'took inf'": "its answer makes no sense: 'took inf'",
            "matrix = lambda path: 'x' * 100000": "its answer has no end",
            "talk = matrix\nmatrix = lambda path: talk(path) + '\\nand more'": "says more than it was asked: and more",
        }  # fmt: skip
        names = ["openmp_csr", "eigen", "graphblas", "librsb", "scipy"]
        left = list(twists)
        while left:
            now, left = left[: len(names)], left[len(names) :]
            for name, twist in zip(names, now):
                env = self.fake(twist, name=name)
            words = ["--peers", "--seconds", "0.001", "--kernels", ",".join(["csr_serial", *names])]
            ours, *theirs = self.figures("a.mtx", *words, status=1, env=env)["matrices"][0]["results"]
            self.assertEqual(ours["verdict"], "ok")
            for twist, r in zip(now, theirs):
                with self.subTest(twist):
                    self.assertEqual((r["verdict"], r["why"].rstrip()), ("failed", twists[twist]))
                    self.assertNotIn("seconds", r)

    def test_one_that_hangs_is_ended(self):
        for twist in ["def matrix(path):\n    time.sleep(60)", "def timed(calls):\n    time.sleep(60)",
                      "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ndef matrix(path):\n    time.sleep(60)"]:  # fmt: skip
            began = time.monotonic()
            theirs = self.result_of_fake(twist, "--peer-seconds", "0.5", status=1)
            self.assertEqual((theirs["verdict"], theirs["why"]), ("failed", "no answer in 0.5 s"))
            self.assertLess(time.monotonic() - began, 50)

    def test_one_that_cannot_be_started_says_so(self):
        self.assertEqual(self.result_of_fake("", mode=0o644, status=1)["why"], "cannot be started: Permission denied")
        theirs = self.result_of_fake("", python="/nowhere/python", status=1)
        self.assertEqual(theirs["why"], "it ended with status 127: cannot be started")

    def test_one_process_does_not_outlive_nz(self):
        """Whether it is interrupted or killed."""
        for number in [signal.SIGINT, signal.SIGKILL]:
            env = self.fake(f"def matrix(path):\n    open({str(self.folder / 'id')!r} + '.new', 'w').write(str(os.getpid()))\n"
                            f"    os.rename({str(self.folder / 'id')!r} + '.new', {str(self.folder / 'id')!r})\n    time.sleep(300)")  # fmt: skip
            nz = subprocess.Popen([NZ, "bench", "a.mtx", *self.WORDS], cwd=self.folder, env=env, stdout=subprocess.DEVNULL)
            self.wait_for((self.folder / "id").exists)
            peer = int((self.folder / "id").read_text())
            nz.send_signal(number)
            self.assertEqual(nz.wait(timeout=60), -number)
            self.wait_for(lambda: not self.is_running(peer))
            (self.folder / "id").unlink()
            self.assertEqual(self.names(), ["a.mtx", "peers"])

    def wait_for(self, is_so):
        for _ in range(6000):
            if is_so():
                return
            time.sleep(0.01)
        self.fail("it took more than a minute")

    def is_running(self, process):
        """A process that ended and that nobody asked after is not."""
        try:
            return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        except OSError:
            return False

    def test_says_what_is_wrong(self):
        self.assert_fails(2, "bench", "a.mtx", "--peers", "--device", "emulator", saying="--device")
        self.assert_fails(2, "bench", "a.mtx", "--kernels", "eigen", "--device", "cpu", saying="give --peers too")
        self.assert_fails(2, "bench", "a.mtx", "--peers", "--kernels", "magic", saying="csr_serial")
        self.assert_fails(2, "bench", "a.mtx", "--peers", "--peer-seconds", "0")


if __name__ == "__main__":
    unittest.main()
