"""The speeds in the documentation are those of the runs in docs/measurements/.

    python tests/docs/test_figures.py
"""

import json
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import plot  # noqa: E402

README = (ROOT / "README.md").read_text()


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

    def test_the_means_on_the_performance_page_are_what_the_measurements_give(self):
        page = plot.PAGE.read_text()
        self.assertRegex(page, r"\d\.\d\d× \(h200-real, double\)")
        self.assertEqual(page, plot.with_means(page), "run bench/plot.py --readme")


if __name__ == "__main__":
    unittest.main()
