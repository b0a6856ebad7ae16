"""The README shows what is really there.

    NZ=build/release/cli/nz python tests/docs/test_readme.py

Its C++ is lines of a program under examples/ that the build compiles, named in a comment above the block. Its console
blocks are run: after `$ ` comes a command, then all it prints; a line of three dots stands for any lines.
"""

import os
import pathlib
import re
import subprocess
import textwrap
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()


def fold(text):
    return re.sub(r"\s+", " ", text).strip()


class Readme(unittest.TestCase):
    def test_every_cpp_block_is_part_of_a_compiled_example(self):
        blocks = re.findall(r"<!-- (examples/\S+\.cpp) -->\n```cpp\n(.*?)```", README, re.S)
        self.assertEqual(len(blocks), README.count("```cpp"), "a block does not say which example it is from")
        self.assertGreater(len(blocks), 0)
        for name, text in blocks:
            example = fold((ROOT / name).read_text())
            for part in text.split("\n\n"):
                self.assertIn(fold(part), example, name)

    def test_every_console_block_prints_what_it_shows(self):
        blocks = re.findall(r"```console\n(.*?)```", README, re.S)
        self.assertGreater(len(blocks), 0)
        nz_folder = str(pathlib.Path(os.environ["NZ"]).resolve().parent)
        environment = {**os.environ, "PATH": nz_folder + os.pathsep + os.environ["PATH"], "COLUMNS": "80"}
        for block in blocks:
            for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.M):
                with self.subTest(command):
                    done = subprocess.run(command, shell=True, cwd=ROOT, env=environment, capture_output=True, text=True)
                    self.assertEqual(done.stderr, "")
                    pattern = re.escape(shown).replace(re.escape("...\n"), "(?:.*\n)*")
                    self.assertRegex(done.stdout, rf"\A{pattern}\Z", textwrap.shorten(command, 60))

    def test_every_link_leads_somewhere(self):
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", README) + re.findall(r'src="([^"]+)"', README):
            found = ROOT / target
            self.assertTrue(found.is_dir() or found.stat().st_size > 0, target)


if __name__ == "__main__":
    unittest.main()
