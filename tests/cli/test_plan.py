"""nz plan as its users see it. Run like test_cli.py."""

import json
import unittest

from in_folder import LECTURE, InFolder

MEASURED = "poisson2d:150"  # large enough for a plan to measure
ON_CPU = ["--device", "cpu"]


class Plan(InFolder):
    def candidates(self, device="cpu"):
        kernels = self.json_of("list")["kernels"]
        return [k["name"] for k in kernels if k["candidate"] and k["runs_on"] == device]

    def test_says_which_kernel_and_why(self):
        text = self.output_of("plan", MEASURED, *ON_CPU)
        self.assertRegex(text, rf"\A{MEASURED}  double\n\w+(, reordered)?: .+\n")
        self.assertIn("22500 × 22500, 111900 entries", text)
        self.assertRegex(text, r"\n  machine +CPU, \d+ threads?, \w+; reads this matrix at [\d.e+]+ GB/s\n")
        self.assertEqual(text.count("chosen: "), 1)
        for kernel in self.candidates():
            self.assertRegex(text, rf"\n  {kernel} +.*\w")

    def test_the_figures_fit_together(self):
        for precision in ["float", "double"]:
            found = self.json_of("plan", MEASURED, *ON_CPU, "--expected", "5000", "--precision", precision)
            self.assertEqual(found["precision"], precision)
            self.assertEqual(sorted(c["kernel"] for c in found["candidates"]), sorted(self.candidates()))
            chosen = [c for c in found["candidates"] if c["chosen"]]
            self.assertEqual([c["kernel"] for c in chosen], [found["kernel"]])
            self.assertGreater(found["bytes_per_second"], 0)
            self.assertLessEqual(found["bytes"], found["memory_budget"])
            self.assertEqual(found["expected_multiplies"], 5000)
            for c in found["candidates"]:
                self.assertTrue(c["verdict"])
                if c["seconds"] is not None and not found["reordered"]:
                    self.assertGreaterEqual(c["seconds"], 0.9 * found["seconds"], c["kernel"])

    def test_few_multiplies_and_small_matrices_are_not_measured(self):
        for words in [[MEASURED, "--expected", "1", *ON_CPU], ["a.mtx", *ON_CPU]]:
            found = self.json_of("plan", *words)
            self.assertEqual((found["kernel"], found["candidates"], found["seconds"]), ("csr_balanced", [], None))
            self.assertIn("csr_balanced: fewer than", self.output_of("plan", *words))

    def test_takes_a_kernel_by_name(self):
        self.assertEqual(self.json_of("plan", "a.mtx", "--kernel", "tjds_serial")["kernel"], "tjds_serial")
        self.assert_fails(2, "plan", "a.mtx", "--kernel", "csr_magic", saying="csr_balanced")

    def test_holds_the_memory_budget(self):
        mib = self.json_of("plan", MEASURED, *ON_CPU)["csr_bytes"] / 2**20
        self.assertLessEqual(self.json_of("plan", MEASURED, *ON_CPU, "--memory-budget", str(mib))["bytes"], mib * 2**20)
        self.assert_fails(1, "plan", MEASURED, *ON_CPU, "--memory-budget", "0.001", saying="csr_balanced takes")

    def test_remembers(self):
        first = self.json_of("plan", MEASURED, *ON_CPU, "--remember", "choices.json")
        self.assertFalse(first["remembered"])
        choices = json.loads((self.folder / "choices.json").read_text())["choices"]
        self.assertEqual([c["kernel"] for c in choices.values()], [first["kernel"]])
        second = self.json_of("plan", MEASURED, *ON_CPU, "--remember", "choices.json")
        self.assertEqual((second["remembered"], second["kernel"], second["candidates"]), (True, first["kernel"], []))

    def test_a_file_of_something_else_is_left_alone(self):
        self.assert_fails(1, "plan", MEASURED, *ON_CPU, "--remember", "a.mtx", saying="a.mtx: not a file of choices: it is not JSON")
        self.assertEqual((self.folder / "a.mtx").read_text(), LECTURE)

    def test_plans_for_a_gpu_in_the_emulator(self):
        found = self.json_of("plan", "poisson2d:180", "--device", "emulator", "--expected", "1000000")
        self.assertEqual(found["device"], "emulator")
        self.assertEqual(sorted(c["kernel"] for c in found["candidates"]), sorted(self.candidates("emulator")))
        self.assertEqual([c["kernel"] for c in found["candidates"] if c["chosen"]], [found["kernel"]])
        self.assertLessEqual(found["bytes"], 1.1 * found["csr_bytes"])
        text = self.output_of("plan", "a.mtx", "--device", "emulator")
        self.assertIn("csr_vector: less than 1 MiB", text)
        self.assertEqual(self.json_of("plan", "poisson2d:180", "--device", "emulator")["kernel"], "sell_slices")
        self.assertIn("bytes per entry", text)
        forced = self.json_of("plan", "a.mtx", "--device", "emulator", "--kernel", "warp_packed_slices")
        self.assertEqual((forced["kernel"], forced["reason"]), ("warp_packed_slices", "asked for by name"))
        self.assertIn("slices", forced["encodings"])
        self.assert_fails(2, "plan", "a.mtx", "--device", "emulator", "--kernel", "csr_balanced", saying="csr_vector")
        self.assert_fails(2, "plan", "a.mtx", "--device", "abacus", saying="'abacus' is not a device")

    def test_wrong_usage(self):
        self.assert_fails(2, "plan", saying="MATRIX is required")
        for bad in ["0", "-3", "many", "1.5", "nan", "1e99"]:
            self.assert_fails(2, "plan", "a.mtx", "--expected", bad, saying="--expected")
        for bad in ["-1", "nan", "much"]:
            self.assert_fails(2, "plan", "a.mtx", "--memory-budget", bad, saying="--memory-budget")
        self.assert_fails(1, "plan", "missing.mtx", saying="there is no such file")


if __name__ == "__main__":
    unittest.main()
