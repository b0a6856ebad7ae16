"""Runs .ci/changed-files in small repositories."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / ".ci" / "changed-files"


class Repository:
    """A repository in a folder of its own, whose commits write files."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments):
        identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org"]
        subprocess.run(["git", *identity, *arguments], cwd=self.folder, check=True, capture_output=True)

    def write(self, **texts):
        """Writes files; in a name, __ stands for a slash and the last _ for the dot."""
        for name, text in texts.items():
            stem, _, extension = name.replace("__", "/").rpartition("_")
            path = self.folder / f"{stem}.{extension}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def commit(self, **texts):
        self.write(**texts)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "a change")

    def changed(self, *arguments, base=""):
        environment = {**os.environ, "NONZERO_BASE": base}
        done = subprocess.run([SCRIPT, *arguments], cwd=self.folder, env=environment, check=True, capture_output=True,
                              text=True)
        return done.stdout.split()


class ChangedFiles(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.repository = Repository(folder.name)
        self.repository.commit(nonzero__a_hpp="", nonzero__a_cpp="#include <nonzero/a.hpp>\n", nonzero__b_hpp="",
                               nonzero__c_cpp="#include <nonzero/b.hpp>\n", cli__d_cpp="", docs__e_hpp="")

    def test_on_main_are_those_of_the_last_commit(self):
        self.repository.commit(cli__d_cpp="int d;\n")
        self.repository.commit(nonzero__a_hpp="int a;\n", docs__e_hpp="int e;\n")
        self.assertEqual(self.repository.changed("headers"), ["nonzero/a.hpp"])
        self.assertEqual(self.repository.changed("sources"), ["nonzero/a.cpp"])
        self.assertEqual(self.repository.changed("sources", base="HEAD~2"), ["cli/d.cpp", "nonzero/a.cpp"])

    def test_on_a_branch_are_those_since_it_left_main(self):
        self.repository.git("checkout", "--quiet", "-b", "work")
        self.repository.commit(cli__d_cpp="int d;\n")
        self.repository.commit(nonzero__c_cpp="int c;\n")
        self.assertEqual(self.repository.changed("sources"), ["cli/d.cpp", "nonzero/c.cpp"])

    def test_in_a_clone_are_those_that_origin_has_not(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.rmtree(folder)
            self.repository.git("clone", "--quiet", ".", folder)
            clone = Repository(folder)
            clone.commit(cli__d_cpp="int d;\n")
            clone.commit(nonzero__c_cpp="int c;\n")
            self.assertEqual(clone.changed("sources"), ["cli/d.cpp", "nonzero/c.cpp"])

    def test_of_a_header_are_a_source_that_includes_it(self):
        self.repository.commit(nonzero__b_hpp="int b;\n")
        self.assertEqual(self.repository.changed("sources"), ["nonzero/c.cpp"])

    def test_need_not_be_committed_and_do_not_include_what_is_gone(self):
        self.repository.write(cli__new_cpp="")
        (self.repository.folder / "cli/d.cpp").unlink()
        self.repository.commit(nonzero__a_cpp="int a;\n")
        self.repository.write(cli__newer_cpp="")
        self.assertEqual(self.repository.changed("sources"), ["cli/new.cpp", "cli/newer.cpp", "nonzero/a.cpp"])

    def test_are_some_of_all_without_history(self):
        self.assertEqual(self.repository.changed("sources"), ["cli/d.cpp", "nonzero/a.cpp", "nonzero/c.cpp"])
        self.assertEqual(self.repository.changed("sources", "2"), ["cli/d.cpp", "nonzero/a.cpp"])
        shutil.rmtree(self.repository.folder / ".git")
        self.assertEqual(self.repository.changed("headers", "2"), ["nonzero/a.hpp", "nonzero/b.hpp"])


if __name__ == "__main__":
    unittest.main()
