"""nz completion: the scripts complete what the commands take. Run like test_cli.py."""

import shutil
import subprocess
import unittest

from in_folder import NZ, InFolder

# Calls the completion function as bash does: the words of a command line, of which the last is completed.
CALL = """
source <("$NZ" completion bash)
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_nz
printf '%s\\n' "${COMPREPLY[@]}"
"""


class Completion(InFolder):
    def complete(self, *words):
        done = subprocess.run(["bash", "-c", CALL, "bash", "nz", *words], cwd=self.folder, env={"NZ": NZ, "PATH": "/usr/bin:/bin"},
                              capture_output=True, text=True, check=True)  # fmt: skip
        self.assertEqual(done.stderr, "")
        return sorted(word for word in done.stdout.splitlines() if word)

    def test_commands(self):
        self.assertEqual(self.complete("s"), ["solve", "spy"])
        listed = [line.split()[0] for line in self.output_of("--help").split("Subcommands:")[1].split("Examples:")[0].strip().splitlines()]
        self.assertEqual(self.complete(""), sorted([*listed, "--help", "--version"]))

    def test_options_of_every_command(self):
        for command in self.complete(""):
            if command.startswith("-"):
                continue
            with self.subTest(command):
                text = self.output_of(command, "--help")
                for option in self.complete(command, "--"):
                    self.assertIn(option, text)
        self.assertEqual(self.complete("solve", "a.mtx", "--m"), ["--max-iterations", "--method"])

    def test_values_that_are_known(self):
        self.assertEqual(self.complete("bench", "--device", ""), ["cpu", "cuda", "emulator"])
        self.assertEqual(self.complete("check", "--values", "r"), ["random"])
        self.assertEqual(self.complete("plan", "--precision", ""), ["double", "float"])
        self.assertEqual(self.complete("solve", "--tolerance", ""), [])
        kernels = {kernel["name"] for kernel in self.json_of("list")["kernels"]}
        self.assertEqual(self.complete("multiply", "a.mtx", "--kernel", ""), sorted(kernels))
        self.assertEqual(self.complete("bench", "--kernels", "csr_serial,csr_bal"), ["csr_serial,csr_balanced"])
        self.assertEqual(self.complete("completion", ""), ["bash", "fish", "zsh"])

    def test_files(self):
        self.write("with space.mtx", "")
        self.assertEqual(self.complete("info", ""), ["a.mtx", "with space.mtx"])
        self.assertEqual(self.complete("solve", "a.mtx", "-o", "w"), ["with space.mtx"])
        self.assertEqual(self.complete("list", ""), [])

    def test_scripts_are_valid_in_every_shell(self):
        for shell in ["bash", "zsh", "fish"]:
            script = self.output_of("completion", shell)
            for command in self.complete(""):
                if not command.startswith("-"):
                    self.assertIn(command, script)
            if shutil.which(shell):
                done = subprocess.run([shell, "-n", "/dev/stdin"], input=script, capture_output=True, text=True)
                self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_wrong_usage(self):
        self.assert_fails(2, "completion", saying="SHELL is required")
        self.assert_fails(2, "completion", "bsh", saying="did you mean 'bash'?")


if __name__ == "__main__":
    unittest.main()
