"""nz bench as its users see it. Run like test_cli.py."""

import json
import os
import re
import unittest

from in_folder import LECTURE, InFolder


class Bench(InFolder):
    QUICK = ["--seconds", "0.001"]

    def kernels(self, device):
        return [k for k in self.json_of("list")["kernels"] if k["runs_on"] == device]

    def suited(self, matrix):
        """Without the kernels that take matrices of full blocks only."""
        return [r for r in matrix["results"] if not r["kernel"].startswith(("bsr", "sbsr"))]

    def figures(self, *words, status=0):
        return json.loads(self.output_of("bench", *words, *self.QUICK, "--json", "-", status=status))

    def test_a_row_for_every_kernel_of_the_device(self):
        for device in ["cpu", "emulator"]:
            with self.subTest(device):
                text = self.output_of("bench", "a.mtx", "--device", device, *self.QUICK)
                self.assertTrue(text.startswith(device))
                self.assertRegex(text, r"copies [\d.]+ GB/s")
                self.assertIn("\na.mtx  4 × 4, 7 entries, double\n  168 B with x and y", text)
                for kernel in self.kernels(device):
                    if kernel["format"] in ["bsr", "sbsr"]:
                        reason = "no size of block" if kernel["format"] == "bsr" else ".*not symmetric"
                        self.assertRegex(
                            text, rf"\n  {kernel['name']} +{kernel['format']} +refused: {kernel['format']}: {reason}"
                        )
                        continue
                    self.assertRegex(
                        text,
                        rf"\n  {kernel['name']} +{kernel['format']} +\d\.\d{{3}} +[\d.]+ (µs|ms|s) +[\d.]+ % +[\d.]+ +[\d.]+"
                        r" +[\d.]+ % +[\d.]+ (µs|ms|s) +(baseline|at once|–|[\d,]+|\d\.\de\+\d\d)"
                        r"( +(fastest|as fast, within the spread|varies too much to compare))?\n",
                    )
                is_noisy = "no row is called fastest" in text  # there is little time for each
                has_limit = device == "cpu"
                self.assertEqual(len(re.findall(r"\n  limit [\d.]+ (µs|ms|s), to read the compulsory bytes: plan reaches \d+ %\n", text)), has_limit)
                self.assertEqual(len(text.splitlines()), 7 + len(self.kernels(device)) + is_noisy + has_limit)  # with plan
                self.assertEqual(text.count("fastest"), 1)
                self.assertEqual(text.count(" base"), 1)

    def test_says_whether_the_cache_holds_it(self):
        self.assertRegex(self.output_of("bench", "a.mtx", "--device", "cpu", *self.QUICK), r"x and y(\n|: fits in the .* cache)")

    def test_the_figures_fit_together(self):
        found = self.figures("poisson2d:20", "rmat:6", "--precision", "both", "--device", "cpu")
        self.assertEqual(found["device"]["name"], "cpu")
        self.assertGreater(found["copy_bytes_per_second"], 0)
        self.assertGreater(found["read_bytes_per_second"], 0)
        self.assertEqual(found["ceiling_bytes_per_second"], found["read_bytes_per_second"])
        self.assertEqual([(m["matrix"], m["precision"]) for m in found["matrices"]],
                         [(n, p) for n in ["poisson2d:20", "rmat:6"] for p in ["float", "double"]])  # fmt: skip
        for matrix in found["matrices"]:
            value = {"float": 4, "double": 8}[matrix["precision"]]
            bytes_moved = matrix["entries"] * (value + 4) + (matrix["rows"] + 1) * 4 + (matrix["rows"] + matrix["cols"]) * value
            self.assertEqual(matrix["compulsory_bytes"], bytes_moved)
            self.assertEqual(matrix["baseline"], "csr_serial")
            timed = [r for r in matrix["results"] if r["verdict"] == "ok"]
            base = next(r for r in timed if r["kernel"] == "csr_serial")
            self.assertIsNone(base["pays_after"])
            for r in timed:
                self.assertLessEqual(r["error_in_bounds"], 1)
                self.assertLessEqual(r["low_quartile"], r["seconds"])
                self.assertGreaterEqual(r["high_quartile"], r["seconds"])
                self.assertGreaterEqual(r["samples"], 3)
                self.assertAlmostEqual(r["gflops"] * r["seconds"] * 1e9, 2 * matrix["entries"])
                self.assertAlmostEqual(r["bytes_per_second"] * r["seconds"], bytes_moved)
                self.assertAlmostEqual(r["fraction_of_ceiling"], r["bytes_per_second"] / found["ceiling_bytes_per_second"])
                gained, paid = base["seconds"] - r["seconds"], r["prepare_seconds"] - base["prepare_seconds"]
                if gained <= 0:
                    self.assertIsNone(r["pays_after"])
                elif r is not base and r["format"] == "csr" and r["kernel"] != "plan":
                    self.assertEqual(r["pays_after"], 0)  # nothing is converted for it
                elif r is not base:
                    self.assertTrue(max(0, paid / gained) - 1e-6 <= r["pays_after"] <= max(0, paid / gained) + 1 + 1e-6)

    def test_the_limit_is_measured_once_and_kept(self):
        env = {**os.environ, "XDG_CACHE_HOME": str(self.folder / "cache")}
        words = ["bench", "poisson2d:20", "--device", "cpu", "--kernels", "plan,csr_serial", *self.QUICK, "--json", "-"]
        first, second = (json.loads(self.output_of(*words, env=env)) for _ in range(2))
        self.assertEqual(first["read_curve"], second["read_curve"])
        self.assertEqual([p.name for p in (self.folder / "cache/nonzero").iterdir()], ["read_curves.json"])
        points = first["read_curve"]
        self.assertEqual(points[0], {"bytes": 0, "seconds": 0})
        matrix = first["matrices"][0]
        self.assertAlmostEqual(matrix["limit_seconds"], points[1]["seconds"] * matrix["compulsory_bytes"] / points[1]["bytes"])
        for r in matrix["results"]:
            self.assertAlmostEqual(r["fraction_of_limit"], matrix["limit_seconds"] / r["seconds"])

    def test_the_emulator_has_only_the_copy_for_a_ceiling(self):
        found = self.figures("a.mtx", "--device", "emulator")
        self.assertIsNone(found["read_curve"])
        self.assertIsNone(found["matrices"][0]["limit_seconds"])
        self.assertIsNone(found["read_bytes_per_second"])
        self.assertEqual(found["ceiling_bytes_per_second"], found["copy_bytes_per_second"])

    def test_runs_the_kernels_that_are_asked_for(self):
        for words in [["--kernels", "tjds_serial,csr_serial"], ["--kernels", "csr_serial", "--kernels", "tjds_serial"]]:
            found = self.figures(*words, "a.mtx", "--device", "cpu")["matrices"][0]
            self.assertEqual([r["kernel"] for r in found["results"]], ["csr_serial", "tjds_serial"])
        text = self.output_of("bench", "a.mtx", "--device", "cpu", "--kernels", "tjds_serial", *self.QUICK)
        self.assertNotIn("pays after", text)  # there is nothing to compare with

    def test_plans_take_part_on_every_device(self):
        for device in ["cpu", "emulator"]:
            found = self.figures("a.mtx", "--device", device, "--kernels", "plan")["matrices"][0]["results"]
            self.assertEqual([(r["kernel"], r["verdict"]) for r in found], [("plan", "ok")])
            formats = {k["name"]: k["format"] for k in self.kernels(device)}
            self.assertEqual(found[0]["format"], formats[found[0]["chosen_kernel"]])
            self.assertFalse(found[0]["reordered"])
            text = self.output_of("bench", "a.mtx", "--device", device, "--kernels", "plan", *self.QUICK)
            self.assertRegex(text, rf"\n  plan:{found[0]['chosen_kernel']} +{found[0]['format']} +\d")

    def test_random_values_are_named(self):
        self.assertEqual(self.figures("a.mtx", "--device", "cpu", "--kernels", "csr_serial")["matrices"][0]["values"], "file")
        words = ["a.mtx", "--device", "cpu", "--kernels", "csr_serial", "--values", "random"]
        self.assertEqual(self.figures(*words)["matrices"][0]["values"], "random")
        self.assertIn("\na.mtx  4 × 4, 7 entries, double, random values\n", self.output_of("bench", *words, *self.QUICK))

    def test_a_refused_format_says_so_and_the_others_go_on(self):
        words = ["dense_rows:3000:2:1", "--device", "cpu"]
        self.assertRegex(self.output_of("bench", *words, *self.QUICK), r"ell_serial +ell +refused: padding past 4 × csr\n")
        verdicts = {r["kernel"]: r["verdict"] for r in self.suited(self.figures(*words)["matrices"][0])}
        for name in ["ell_blocks", "ell_serial", "warp_packed_serial"]:
            self.assertEqual(verdicts.pop(name), "refused")
        self.assertEqual(set(verdicts.values()), {"ok"})
        roomy = self.suited(self.figures(*words, "--padding-budget", "1e9")["matrices"][0])
        self.assertEqual({r["verdict"] for r in roomy}, {"ok"})

    def test_matrices_of_nothing(self):
        for name in ["tridiagonal:0", "rows:0,0,0"]:
            for device in ["cpu", "emulator"]:
                matrix = self.figures(name, "--device", device)["matrices"][0]
                self.assertEqual({r["verdict"] for r in self.suited(matrix)}, {"ok"})
                self.assertEqual({r["gflops"] for r in self.suited(matrix)}, {0})

    def test_nan_in_the_matrix_is_right_and_the_json_valid(self):
        self.write("n.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 nan\n2 2 inf\n")

        def refuse(word):
            raise ValueError(f"{word} is no JSON")

        text = self.output_of("bench", "n.mtx", "--device", "cpu", *self.QUICK, "--json", "-")
        found = json.loads(text, parse_constant=refuse)
        self.assertEqual({r["verdict"] for r in self.suited(found["matrices"][0])}, {"ok"})

    def test_writes_json_beside_the_tables(self):
        text = self.output_of("bench", "a.mtx", "--device", "cpu", *self.QUICK, "--json", "out.json")
        self.assertIn("csr_serial", text)
        found = json.loads((self.folder / "out.json").read_text())
        self.assertEqual(found["matrices"][0]["matrix"], "a.mtx")
        self.assertEqual(self.names(), ["a.mtx", "out.json"])

    def test_fails_before_the_work_where_json_cannot_be_written(self):
        self.assert_fails(1, "bench", "--json", "nowhere/out.json", saying="nowhere/out.json: cannot write")
        self.assert_fails(1, "bench", "--json", ".", saying="cannot write")

    def test_json_does_not_overwrite_a_matrix(self):
        before = (self.folder / "a.mtx").read_bytes()
        self.assert_fails(2, "bench", "a.mtx", "--json", "./a.mtx", saying="--json would overwrite the matrix a.mtx")
        self.assertEqual((self.folder / "a.mtx").read_bytes(), before)

    def test_a_failed_run_leaves_no_json(self):
        self.write("bad.mtx", LECTURE.replace("4 4 1", "4 9 1"))
        self.run_nz("bench", "bad.mtx", "--json", "out.json", status=1)
        self.assertEqual(self.names(), ["a.mtx", "bad.mtx"])

    def test_says_what_is_wrong(self):
        self.assert_fails(2, "bench", "a.mtx", "--device", "cpu", "--kernels", "magic", saying="csr_serial")
        self.assert_fails(2, "bench", "a.mtx", "--device", "emulator", "--kernels", "csr_serial", saying="csr_vector")
        self.assert_fails(2, "bench", "a.mtx", "--device", "abacus", saying="'abacus' is not a device")
        self.assert_fails(2, "bench", "a.mtx", "--seconds", "0")
        self.assert_fails(2, "bench", "a.mtx", "--precision", "half")
        self.assert_fails(2, "bench", "-", "--precision", "both", saying="standard input")
        self.assert_fails(1, "bench", "a.mtx", "missing.mtx", saying="missing.mtx: there is no such file")

    def test_without_a_card_cuda_says_what_is_missing_and_the_cpu_is_taken(self):
        if any(d["name"] == "cuda" for d in self.json_of("list")["devices"]):
            self.skipTest("there is a GPU")
        self.assert_fails(1, "bench", "a.mtx", "--device", "cuda", saying="CUDA")
        self.assertEqual(self.figures("a.mtx")["device"]["name"], "cpu")

    def test_measures_the_matrices_of_a_folder(self):
        folder = self.folder / "real"
        folder.mkdir()
        (self.folder / "a.mtx").rename(folder / "b.mtx")
        for spec, name in [("poisson2d 20", "C.npz"), ("poisson3d 15", "d.mtx")]:
            self.run_nz("generate", *spec.split(), f"real/{name}")
        (folder / "a.mtx").write_text("%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 0\n")
        (folder / "notes.txt").write_text("not a matrix")
        words = ["bench", "real", "--device", "cpu", "--kernels", "csr_serial,plan", *self.QUICK]
        done = self.run_nz(*words, "--json", "out.json")
        self.assertRegex(done.stderr.decode(), r"\Anz: real/a.mtx:1: [^\n]*complex[^\n]*: left out\n\Z")
        text = done.stdout.decode()
        self.assertRegex(text, r"\n  summary, double +3 matrices\n")  # one of more than 10,000 entries says nothing more
        self.assertRegex(text, r"\n  plan within 5 % of our fastest +[0-3] of 3\n")
        self.assertTrue(text.endswith("\n  1 matrix could not be read\n"), text)
        found = json.loads((self.folder / "out.json").read_text())
        self.assertEqual([m["matrix"] for m in found["matrices"]], ["real/C.npz", "real/b.mtx", "real/d.mtx"])
        self.assertEqual([m["matrix"] for m in found["summary"]["could_not_be_read"]], ["real/a.mtx"])
        total = found["summary"]["double"]
        self.assertEqual((total["matrices"], total["of_more_than_10000_entries"]["matrices"]), (3, 1))
        self.assertEqual(total["plan_within_5_percent"]["matrices"], 3)
        self.assertIsNone(total["plan"])  # there is no peer
        within = [p["seconds"] <= 1.05 * s["seconds"] for m in found["matrices"] for p, s in [m["results"]]]
        self.assertEqual(total["plan_within_5_percent"]["within"], sum(within))

    def test_says_where_a_folder_has_no_matrices(self):
        for name in ["nothing", "unreadable"]:
            (self.folder / name).mkdir()
        (self.folder / "unreadable/a.mtx").write_text("nothing")
        self.assert_fails(1, "bench", "nothing", "--device", "cpu", saying="nothing: no file there ends in .mtx, .mtx.gz, .tar.gz, .npz")
        self.assert_fails(1, "bench", "unraedable/", "--device", "cpu", saying="did you mean 'unreadable'?")
        done = self.run_nz("bench", "unreadable", "--device", "cpu", *self.QUICK, status=1)
        self.assertRegex(done.stderr.decode(), r"nz: unreadable/a.mtx.*: left out\nnz: bench: no matrix could be read\n\Z")

    def test_has_a_suite_of_its_own(self):
        kinds = ["tridiagonal", "poisson2d", "poisson3d", "poisson27", "fem", "rmat", "uniform", "dense_rows", "empty_rows"]
        found = self.figures("--device", "emulator")["matrices"]
        self.assertEqual([m["matrix"].split(":")[0] for m in found], [*kinds, "poisson2d", "rmat"])
        for matrix in found:
            self.assertLess(matrix["entries"], 30_000)
            self.assertLessEqual({r["verdict"] for r in matrix["results"]}, {"ok", "refused"})
        named = self.figures("a.mtx", "--suite", "--device", "emulator", "--kernels", "csr_vector")["matrices"]
        self.assertEqual([m["matrix"] for m in named], [*(m["matrix"] for m in found), "a.mtx"])
        alone = self.json_of("info", found[5]["matrix"])
        self.assertEqual(alone["entries"], found[5]["entries"])


if __name__ == "__main__":
    unittest.main()
