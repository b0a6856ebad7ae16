"""docs/kernels.md has a section for every kernel of the table that is ours and not serial, and for no other.

    NZ=build/release/cli/nz python tests/docs/test_kernels.py
"""

import json
import os
import pathlib
import re
import subprocess
import unittest

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "kernels.md").read_text()


class KernelPage(unittest.TestCase):
    def test_has_a_heading_for_every_kernel_but_the_serial_ones_and_for_no_other(self):
        listed = subprocess.run([os.environ["NZ"], "list", "--json"], capture_output=True, text=True, check=True).stdout
        rows = [row for row in json.loads(listed)["kernels"] if not row["peer"]]
        for device in ["cpu", "emulator"]:
            self.assertIn(device, {row["runs_on"] for row in rows})
        kernels = {row["name"] for row in rows if not row["name"].endswith("_serial")}
        headings = re.findall(r"^### ([^:\n]+):", PAGE, re.M)
        self.assertEqual({name for heading in headings for name in heading.split(" and ")}, kernels)


if __name__ == "__main__":
    unittest.main()
