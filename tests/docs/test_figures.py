"""The speeds in the documentation are those of the runs in docs/measurements/.

    python tests/docs/test_figures.py
"""

import json
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import plot  # noqa: E402

README = (ROOT / "README.md").read_text()
PAGE = (ROOT / "docs/performance.md").read_text()


class Figures(unittest.TestCase):
    def test_the_readmes_table_is_what_the_measurements_give(self):
        shown = README.split(plot.BEGIN)[1].split(plot.END)[0]
        self.assertEqual(shown, plot.readme_table(), "run bench/plot.py --readme")

    def test_every_run_names_its_machine_and_has_results(self):
        runs = sorted(plot.RUNS.glob("*.json"))
        self.assertGreater(len(runs), 0)
        for file in runs:
            run = json.loads(file.read_text())
            self.assertTrue(run["machine"], file.name)
            self.assertIn(file.stem.split("-")[0], plot.DEVICES, file.name)
            self.assertTrue(all(matrix["results"] for matrix in run["matrices"]), file.name)

    def test_every_geometric_mean_on_the_performance_page_is_what_the_measurements_give(self):
        """A mean is written as "1.81× (h200-generated, double)"."""
        stated = re.findall(r"(\d+\.\d\d)× \((\w+)-(\w+), (double|float)\)", PAGE)
        self.assertGreater(len(stated), 0)
        for value, device, matrices, precision in stated:
            _, found = plot.load(device, precision)
            chosen = [e for name, e in found.items() if (":" in name) == (matrices == "generated")]
            self.assertEqual(value, f"{plot.mean(chosen):.2f}", f"{device}-{matrices}, {precision}")


if __name__ == "__main__":
    unittest.main()
