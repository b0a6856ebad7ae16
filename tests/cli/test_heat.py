"""nz heat as its users see it. Run like test_cli.py."""

import math
import re
import struct
import unittest

from in_folder import InFolder


def numbers_of(text):
    """Those of a Matrix Market vector."""
    lines = [line for line in text.splitlines() if not line.startswith("%")]
    return [float(line) for line in lines[1:]]


class Heat(InFolder):
    def png_size(self, name):
        data = (self.folder / name).read_bytes()
        self.assertEqual(data[:8], b"\x89PNG\r\n\x1a\n")
        self.assertEqual(data[-8:-4], b"IEND")
        return struct.unpack(">II", data[16:24])

    def start_with(self, *temperatures):
        lines = "\n".join(map(str, temperatures))
        self.write("q.mtx", f"%%MatrixMarket matrix array real general\n{len(temperatures)} 1\n{lines}\n")

    def test_says_what_came_of_it_and_shows_it(self):
        text = self.output_of("heat", "--cells", "40")
        self.assertRegex(text, r"\Aheat  40 cells, fixed, hot-centre; double\n  [\d,]+ steps of \S+ to t = \S+; \|\|A q\|\| = ")
        self.assertRegex(text, "stencil on (cpu|cuda)")
        picture = [line for line in text.splitlines() if line.startswith("│")]
        self.assertEqual(len(picture), 12)
        self.assertGreater(picture[-1].count("@"), picture[0].count("@"))  # it starts at the bottom
        self.assertIn("time upwards", text)
        self.assertIn("the middle slice", self.output_of("heat", "--dim", "3", "--cells", "6", "--steps", "2"))

    def test_stops_where_it_is_told_to(self):
        found = self.json_of("heat", "--cells", "30", "--epsilon", "1e-3")
        self.assertTrue(found["converged"])
        self.assertLess(found["norm"], 1e-3)
        for steps in [0, 1, 37]:
            found = self.json_of("heat", "--cells", "30", "--steps", str(steps))
            self.assertEqual((found["steps"], found["converged"]), (steps, False))
            self.assertAlmostEqual(found["time"], steps / (2 * 31 * 31))
        found = self.json_of("heat", "--cells", "30", "--steps", "1000000", "--epsilon", "1e-3")
        self.assertTrue(found["converged"])

    def test_shows_the_norm_so_that_it_is_seen_to_be_below_epsilon(self):
        for epsilon in ["1e-4", "0.0123"]:
            text = self.output_of("heat", "--epsilon", epsilon)
            self.assertLess(float(re.search(r"\|\|A q\|\| = (\S+)\n", text)[1]), float(epsilon))
        self.assertNotIn("||A q||", self.output_of("heat", "--steps", "0"))
        self.assertIsNone(self.json_of("heat", "--steps", "0")["norm"])
        self.assertIn("  1 step of ", self.output_of("heat", "--steps", "1"))

    def test_a_sine_decays_by_its_eigenvalue(self):
        found = self.json_of("heat", "--cells", "20", "--initial", "sine", "--steps", "300")
        middle = math.sin(math.pi * 10 / 21) * math.cos(math.pi / 21) ** 300
        self.assertAlmostEqual(found["highest"], middle, delta=1e-12)

    def test_writes_the_temperatures(self):
        self.start_with(0, 0, 8, 0, 0)
        for name in ["after.mtx", "-"]:
            done = self.output_of("heat", "--initial", "q.mtx", "--steps", "2", "-o", name)
            text = (self.folder / name).read_text() if name != "-" else done
            self.assertEqual(numbers_of(text), [2, 0, 4, 0, 2])
        self.output_of("heat", "--initial", "q.mtx", "--steps", "1", "-o", "once.npz")
        text = self.output_of("heat", "--initial", "once.npz", "--steps", "1", "-o", "-")
        self.assertEqual(numbers_of(text), [2, 0, 4, 0, 2])

    def test_boundaries_are_the_lectures_two(self):
        self.start_with(8, 0, 0)
        fixed = self.output_of("heat", "--initial", "q.mtx", "--steps", "1", "-o", "-")
        insulated = self.output_of("heat", "--initial", "q.mtx", "--steps", "1", "--boundary", "insulated", "-o", "-")
        self.assertEqual(numbers_of(fixed), [0, 4, 0])
        self.assertEqual(numbers_of(insulated), [4, 4, 0])

    def test_a_file_fills_a_square_or_a_cube(self):
        self.start_with(*range(64))
        for dim, side in [("1", 64), ("2", 8), ("3", 4)]:
            found = self.json_of("heat", "--initial", "q.mtx", "--dim", dim, "--steps", "1")
            self.assertEqual((found["cells"], found["total_cells"]), (side, 64))
        self.assert_fails(1, "heat", "--initial", "q.mtx", "--cells", "9", saying="q.mtx: the file has 64 temperatures, but a grid of 9 cells a side in 1 dimension has 9")
        self.start_with(1, 2, 3)
        self.assert_fails(1, "heat", "--initial", "q.mtx", "--dim", "2", saying="the file has 3 temperatures, but a grid of 2 cells a side in 2 dimensions has 4")

    def test_methods_kernels_and_devices_agree(self):
        words = ["heat", "--dim", "2", "--cells", "12", "--steps", "9", "-o"]
        expected = numbers_of(self.output_of(*words, "-"))
        for more in [["--method", "ell+blas"], ["--kernel", "sell_slices"], ["--steps-per-pass", "3"],
                     ["--device", "emulator"], ["--device", "emulator", "--method", "ell+blas"],
                     ["--device", "emulator", "--kernel", "csr_merge"]]:
            with self.subTest(more):
                for a, b in zip(numbers_of(self.output_of(*words, "-", *more)), expected, strict=True):
                    self.assertAlmostEqual(a, b, delta=1e-14)
        self.assertEqual(self.json_of(*words[:-1], "--kernel", "sell_slices")["kernel"], "sell_slices")
        self.assertEqual(self.json_of(*words[:-1], "--steps-per-pass", "3")["steps_per_pass"], 3)
        found = self.json_of(*words[:-1], "--precision", "float")
        self.assertEqual(found["precision"], "float")
        self.assertAlmostEqual(found["highest"], max(expected), delta=1e-6)

    def test_draws_a_plot_for_every_dimension(self):
        for dim, name in [("1", "line.png"), ("2", "square.png"), ("3", "cube.png")]:
            self.output_of("heat", "--dim", dim, "--cells", "10", "--steps", "50", "--plot", name)
            width, height = self.png_size(name)
            self.assertGreater(min(width, height), 400)
        self.output_of("heat", "--cells", "10", "--steps", "50", "--every", "10", "--plot", "rows.png", "--json")
        self.assertNotEqual((self.folder / "rows.png").read_bytes(), (self.folder / "line.png").read_bytes())

    def test_draws_a_profile_where_no_step_was_made(self):
        self.output_of("heat", "--cells", "10", "--steps", "0", "--plot", "start.png")
        self.output_of("heat", "--cells", "10", "--steps", "1", "--plot", "later.png")
        self.assertGreater(min(self.png_size("start.png")), 400)
        self.assertNotEqual((self.folder / "start.png").read_bytes(), (self.folder / "later.png").read_bytes())

    def test_refuses_what_is_not_stable_with_the_bound(self):
        bound = 1 / (2 * 10 * 10)
        message = self.assert_fails(2, "heat", "--cells", "9", "--dt", "0.006", saying="not stable")
        self.assertIn(f"{bound:g}", message)
        self.output_of("heat", "--cells", "9", "--dt", f"{bound}", "--steps", "3")

    def test_refuses_what_contradicts_itself(self):
        for words, saying in [
            (["--kernel", "csr_balanced", "--steps-per-pass", "2"], "several steps in a pass"),
            (["--method", "ell+blas", "--kernel", "csr_balanced"], "contradicts"),
            (["--method", "ell+blas", "--steps-per-pass", "2"], "several steps in a pass"),
            (["--method", "cusparse"], "--device cuda"),
            (["--kernel", "csr_magic"], "csr_magic"),
            (["--epsilon", "0"], "never end"),
            (["--epsilon", "nan"], "epsilon"),
            (["--conductivity", "0"], "conductivity"),
            (["--dt", "0"], "the time step must be positive, not 0"),
            (["--dt", "-1"], "the time step must be positive, not -1"),
            (["--dim", "4"], "dim"),
            (["--dim", "2", "--every", "5"], "--every"),
            (["--plot", "heat.jpg"], ".png"),
            (["--plot", "-"], "the name of a .png file"),
            (["--json", "-o", "-"], "standard output"),
            (["--steps", "-1"], "steps"),
        ]:
            with self.subTest(words):
                self.assert_fails(2, "heat", *words, saying=saying)

    def test_more_cells_than_memory_holds_are_refused_in_one_line(self):
        self.assert_fails(1, "heat", "--dim", "2", "--cells", "1000000", "--steps", "1", saying="heat: out of memory: ")

    def test_bad_files_leave_nothing_behind(self):
        before = self.names()
        self.assert_fails(1, "heat", "--initial", "nowhere.mtx", saying="nowhere.mtx: there is no such file")
        self.assert_fails(1, "heat", "--initial", "hot-center", saying="hot-center: there is no such file; give one, or hot-centre, step, sine")
        self.assert_fails(1, "heat", "--initial", "a.mtx", "--plot", "p.png", saying="a.mtx")
        self.assert_fails(1, "heat", "--cells", "5", "--plot", "nowhere/p.png", saying="there is no folder nowhere")
        (self.folder / "folder.png").mkdir()
        self.assert_fails(1, "heat", "--cells", "5", "--plot", "folder.png", saying="folder.png: cannot write: Is a directory")
        (self.folder / "folder.png").rmdir()
        # Found out before the numbers that take forever.
        self.assert_fails(1, "heat", "--steps", "1000000000000", "--plot", "nowhere/p.png", saying="there is no folder nowhere")
        self.assert_fails(1, "heat", "--cells", "5", "-o", "nowhere/q.mtx", saying="nowhere")
        self.assertEqual(self.names(), before)
        self.start_with(1, "nan", 3)
        self.assert_fails(1, "heat", "--initial", "q.mtx", saying="temperature 2, counted from 1, is not finite")

    def test_rounding_that_keeps_it_from_the_end_is_a_failure(self):
        words = ["heat", "--cells", "50", "--boundary", "insulated", "--precision", "float", "--epsilon", "1e-15"]
        done = self.run_nz(*words, "--json", status=1)
        self.assertIn(b"rounding in float", done.stderr)
        self.assertIn(b'"converged": false', done.stdout)


if __name__ == "__main__":
    unittest.main()
