"""The README and the pages under docs/ show what is really there.

    NZ=build/release/cli/nz python tests/docs/test_readme.py

Their C++ is from a program under examples/ that the build compiles, named in a comment above the block. The README's
console blocks are run: a line that starts with `$ ` is a command, followed by all it prints; a line of three dots stands
for any lines.
"""

import os
import pathlib
import re
import subprocess
import textwrap
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
# Words of an earlier vocabulary: docs/architecture.md has the glossary.
OLD_WORDS = ["under way", "nearest cache", "near cache", "think of", "does not exist", "contest", "foresee", "forecast",
             "strand", "stretch", "lanes_packed", "lets pass"]


def fold(text):
    return re.sub(r"\s+", " ", text).strip()


def without_code(text):
    return re.sub(r"^```.*?^```$", "", text, flags=re.S | re.M)


def suffixes(path):
    """a/b/c, b/c and c."""
    return ["/".join(path.parts[k:]) for k in range(len(path.parts))]


def anchors(page):
    """The anchors that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", without_code(page.read_text()), re.M)
    return {re.sub(r"[^\w\- ]", "", re.sub(r"`|\[|\]\([^)]*\)", "", h)).strip().lower().replace(" ", "-") for h in headings}


class Readme(unittest.TestCase):
    def test_has_at_most_130_lines(self):
        self.assertLessEqual(README.count("\n"), 130)

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


class Pages(unittest.TestCase):
    def test_every_cpp_block_is_part_of_a_compiled_example(self):
        for page in PAGES:
            text = page.read_text()
            blocks = re.findall(r"<!-- (examples/\S+\.c(?:pp|u)) -->\n```cpp\n(.*?)```", text, re.S)
            self.assertEqual(len(blocks), text.count("```cpp"), f"{page.name}: a block does not name its example")
            for name, code in blocks:
                example = fold((ROOT / name).read_text())
                for paragraph in code.split("\n\n"):
                    self.assertIn(fold(paragraph), example, f"{page.name}: {name}")
        self.assertIn("```cpp", README)

    def test_every_link_leads_somewhere(self):
        for page in PAGES:
            text = without_code(page.read_text())
            for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)", text):
                found = page.parent / target if target else page
                self.assertTrue(found.is_dir() or (found.is_file() and found.stat().st_size > 0), f"{page.name}: {target}")
                if anchor:
                    self.assertIn(anchor, anchors(found), f"{page.name}: {target}#{anchor}")
            for target in re.findall(r'src="([^"]+)"', text):
                self.assertTrue((page.parent / target).is_file(), f"{page.name}: {target}")

    def test_every_file_that_is_named_is_there(self):
        names = {path for folder in ["nonzero", "cli", "tests", "bench", "examples", "docs", "fuzz", "cmake"]
                 for file in (ROOT / folder).rglob("*.*") for path in suffixes(file.relative_to(ROOT))}
        for page in PAGES:
            if page.name != "CHANGELOG.md":
                for name in re.findall(r"`([\w/.-]+\.(?:[ch]pp|cuh?|def|cmake|py|sh|json|svg))`", page.read_text()):
                    self.assertTrue((ROOT / name).is_file() or name in names, f"{page.name}: {name}")

    def test_use_the_words_of_the_glossary(self):
        for page in PAGES:
            if page.name != "CHANGELOG.md":  # names what was renamed
                for word in OLD_WORDS:
                    self.assertIsNone(re.search(rf"\b{word}", page.read_text(), re.I), f"{page.name}: {word}")


if __name__ == "__main__":
    unittest.main()
