"""The command nz as its users see it: output, exit statuses, files.

Run as `python test_cli.py --nz PATH`, or with the path in the environment variable NZ. Needs only the standard library.
NZ_SANITIZED says that nz was built with sanitizers, which do not bear a limit on memory.
"""

import fcntl
import gzip
import io
import os
import pty
import resource
import select
import signal
import struct
import subprocess
import tarfile
import termios
import time
import unittest
import zlib

from in_folder import LECTURE, NZ, InFolder

COMMANDS = ["info", "spy", "convert", "generate", "multiply", "check", "bench", "plan", "solve", "pagerank", "heat", "list",
            "completion"]  # fmt: skip


class Program(InFolder):
    def test_help_teaches_by_example(self):
        self.assertIn("Examples", self.output_of("--help"))
        for command in COMMANDS:
            with self.subTest(command):
                text = self.output_of(command, "--help")
                self.assertIn("Examples", text)
                self.assertIn(f"nz {command}", text)

    def test_version(self):
        self.assertRegex(self.output_of("--version"), r"\Anz \d+\.\d+\.\d+\nbuilt with(out)? CUDA; SIMD targets for this CPU: [A-Z0-9_, ]+\n\Z")

    def test_wrong_usage_is_status_2(self):
        self.assert_fails(2, saying="--help")
        self.assert_fails(2, "frobnicate", saying="there is no command 'frobnicate'")
        self.assert_fails(2, "--frobnicate", saying="there is no option '--frobnicate'")
        self.assert_fails(2, "info", "a.mtx", "--precision", saying="info: --precision needs a value")
        self.assert_fails(2, "info", "a.mtx", "--threads", "1", "--threads", "2", saying="info: --threads is given more than once")
        for words in [["multiply", "a.mtx", "--x", ""], ["info", ""], ["check", ""], ["plan", "a.mtx", "--kernel", ""],
                      ["bench", "a.mtx", "--kernels", ""], ["solve", "a.mtx", "-o", ""]]:  # fmt: skip
            self.assert_fails(2, *words, saying="the value is empty")
        self.assert_fails(2, "heat", "--cells", "1e3", saying="'1e3' is not a whole number from 1 to 2147483647")
        self.assert_fails(1, "check", "a.mtx", "missing.mtx", saying="missing.mtx: there is no such file")
        self.assert_fails(2, "info", saying="MATRIX is required")
        self.assert_fails(2, "info", "a.mtx", "b.mtx", saying="b.mtx")
        self.assert_fails(2, "info", "a.mtx", "--precision", "half", saying="half")
        self.assert_fails(2, "info", "poisson2d", saying="NX is missing")
        self.assert_fails(2, "info", "poisson2d:x", saying="'x' is not a whole number")

    def test_a_misspelt_name_gets_a_suggestion(self):
        self.assert_fails(2, "inof", "a.mtx", saying="there is no command 'inof'; did you mean 'info'?")
        self.assert_fails(2, "--versoin", saying="did you mean '--version'?")
        self.assert_fails(2, "hlep", saying="did you mean '--help'?")
        self.assert_fails(2, "info", "a.mtx", "--jsn", saying="there is no option '--jsn'; did you mean '--json'?")
        self.assert_fails(2, "info", "a.mtx", "--precison=float", saying="did you mean '--precision'?")
        self.assert_fails(2, "info", "a.mtx", "--precision", "duoble", saying="did you mean 'double'?")
        self.assert_fails(2, "multiply", "a.mtx", "--kernel", "csr_mrge", saying="did you mean 'csr_merge'?")
        self.assert_fails(2, "bench", "a.mtx", "--device", "cpu", "--kernels", "csr_balancd", saying="did you mean 'csr_balanced'?")
        self.assert_fails(2, "plan", "a.mtx", "--device", "emulater", saying="did you mean 'emulator'?")
        self.assert_fails(2, "convert", "a.mtx", "b.mxt", saying="did you mean '.mtx'?")
        self.assert_fails(2, "multiply", "a.mtx", "-o", "y.ny", saying="did you mean '.npy'?")
        self.assert_fails(1, "info", "poison2d:30", saying="did you mean 'poisson2d'?")
        self.assert_fails(2, "generate", "poison2d", "30", "g.mtx", saying="did you mean 'poisson2d'?")
        for words in [["frobnicate"], ["info", "a.mtx", "--frobnicate"], ["multiply", "a.mtx", "--kernel", "magic"]]:
            self.assertNotIn("did you mean", self.assert_fails(2, *words))

    def test_bad_data_is_status_1(self):
        self.assert_fails(1, "info", "missing.mtx", saying="missing.mtx: there is no such file")
        self.assert_fails(1, "info", ".", saying=".: ")
        self.write("bad.mtx", LECTURE.replace("4 4 1", "4 9 1"))
        self.assert_fails(1, "info", "bad.mtx", saying="bad.mtx:10: ")

    def test_a_file_name_with_a_newline_still_makes_one_line(self):
        self.assert_fails(1, "info", "new\nline.mtx")

    def test_a_full_disk_is_status_1(self):
        for words in [["info", "a.mtx"], ["spy", "a.mtx"], ["list"], ["--help"], ["convert", "a.mtx", "-"]]:
            with self.subTest(words), open("/dev/full", "wb") as full:
                done = subprocess.run([NZ, *words], cwd=self.folder, stdout=full, stderr=subprocess.PIPE)
                self.assertEqual(done.returncode, 1)
                self.assertRegex(done.stderr.decode(), r"\Anz: [^\n]*No space left[^\n]*\n\Z")

    def test_the_status_is_right_when_nobody_hears_the_error(self):
        for words, status in [(["info", "missing.mtx"], 1), (["frobnicate"], 2), (["multiply", "a.mtx", "-v"], 0)]:
            with self.subTest(words), open("/dev/full", "wb") as full:
                done = subprocess.run([NZ, *words], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=full)
                self.assertEqual(done.returncode, status)

    def test_a_closed_pipe_ends_it_quietly(self):
        for words in [["convert", "poisson2d:300", "-"], ["info", "a.mtx"]]:
            with self.subTest(words):
                reader, writer = os.pipe()
                os.close(reader)  # before the program starts: afterwards it might be done already
                program = subprocess.run([NZ, *words], cwd=self.folder, stdout=writer, stderr=subprocess.PIPE, timeout=60)
                os.close(writer)
                self.assertEqual(program.stderr, b"")
                self.assertEqual(program.returncode, -signal.SIGPIPE)

    @unittest.skipIf("NZ_SANITIZED" in os.environ, "a sanitizer reserves more than the limit")
    def test_too_little_memory_is_one_line(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))

        self.assert_fails(1, "info", "diagonal:500000000", saying="out of memory", preexec_fn=limit)

    def test_what_no_memory_holds_is_refused_before_it_is_generated(self):
        saying = "uniform:2000000000:10000: out of memory: a matrix of 2000000000 rows and 20000000000000 entries takes "
        for words in [["info"], ["solve"], ["plan"], ["pagerank"]]:
            self.assert_fails(1, *words, "uniform:2000000000:10000", saying=saying)
        self.assert_fails(1, "generate", "uniform", "2000000000", "10000", "g.mtx", saying=saying)
        self.assert_fails(2, "info", "poisson2d:99999999999", saying="past what an index holds")
        self.assert_fails(2, "info", "poisson3d:2000", saying="make more rows than the 2147483647 an index holds")

    def test_threads_are_an_option_of_every_command_that_computes(self):
        for words in [["info", "a.mtx"], ["multiply", "a.mtx"], ["plan", "a.mtx"], ["pagerank", "a.mtx"], ["heat", "--steps", "1"],
                      ["solve", "poisson2d:3"]]:  # fmt: skip
            self.assertEqual(self.json_of(*words, "--threads", "1")["threads"], 1, words)
        self.assertEqual(self.json_of("check", "a.mtx", "--device", "cpu", "--threads", "3")[0]["threads"], 3)
        self.assertIn("CPU, 1 thread", self.output_of("plan", "poisson2d:150", "--device", "cpu", "--threads", "1"))
        for command in [c for c in COMMANDS if c not in ["list", "completion"]]:
            self.assertIn("--threads N", self.output_of(command, "--help"))
            for bad in ["0", "-1", "4097", "99999999999999999999", "two", "1.5"]:
                self.assert_fails(2, command, "--threads", bad, saying=f"{command}: --threads: '{bad}' is not a whole number from 1 to 4096")

    def test_an_existing_file_is_taken_before_a_generator(self):
        self.write("heat:3", LECTURE)
        self.assertEqual(self.json_of("info", "heat:3")["entries"], 7)
        self.assertEqual(self.json_of("info", "heat:4")["entries"], 10)


class Info(InFolder):
    def test_tells_the_facts(self):
        found = self.json_of("info", "a.mtx")
        self.assertEqual((found["rows"], found["cols"], found["entries"]), (4, 4, 7))
        self.assertEqual(found["symmetry"], {"pattern": False, "numeric": False, "skew": False})
        self.assertEqual(found["bandwidth"], {"largest": 3, "lower": 3, "upper": 2})
        self.assertEqual((found["empty_rows"], found["empty_cols"], found["diagonal_entries"]), (1, 0, 3))
        self.assertEqual(found["row_length"]["max"], 3)
        self.assertEqual([b["rows"] for b in found["row_length"]["histogram"]], [1, 0, 3])
        self.assertEqual(found["file"]["type"], "Matrix Market coordinate real general")
        csr = found["formats"][0]
        self.assertEqual((csr["name"], csr["bytes"], csr["padding_bytes"]), ("csr", 7 * 12 + 5 * 8, 0))

    def test_prints_them_for_people(self):
        text = self.output_of("info", "a.mtx")
        self.assertIn("a.mtx  4 × 4, 7 entries, double\n", text)
        self.assertIn("bandwidth      3 (lower 3, upper 2)", text)
        self.assertIn("█", text)
        self.assertNotIn("\x1b", text)

    def test_knows_all_formats(self):
        names = [f["name"] for f in self.json_of("list")["formats"]]
        self.assertEqual([f["name"] for f in self.json_of("info", "a.mtx")["formats"]], names)

    def test_counts_duplicates_and_zeros(self):
        self.write("d.mtx", "%%MatrixMarket matrix coordinate integer general\n2 2 3\n1 1 1\n1 1 2\n2 2 0\n")
        found = self.json_of("info", "d.mtx")
        self.assertEqual(found["duplicates_summed"], 1)
        self.assertEqual((found["entries"], found["explicit_zeros"]), (2, 1))

    def test_counts_what_is_not_finite(self):
        self.write("n.mtx", "%%MatrixMarket matrix coordinate real general\n1 4 4\n1 1 nan\n1 2 -inf\n1 3 inf\n1 4 2\n")
        found = self.json_of("info", "n.mtx")
        self.assertEqual((found["nans"], found["infinities"]), (1, 2))
        self.assertIn("  not finite     1 NaN, 2 infinities\n", self.output_of("info", "n.mtx"))
        self.assertNotIn("not finite", self.output_of("info", "a.mtx"))

    def test_names_a_refused_format(self):
        found = {f["name"]: f for f in self.json_of("info", "dense_rows:3000:2:1")["formats"]}
        self.assertIn("padding", found["ell"]["refused"])
        self.assertIsNone(found["csr"]["refused"])
        self.assertIn("refused: padding past 4 × csr", self.output_of("info", "dense_rows:3000:2:1"))
        found = {f["name"]: f for f in self.json_of("info", "a.mtx")["formats"]}
        self.assertIn("not symmetric", found["sbsr"]["refused"])
        self.assertIsNone(found["sbsr"]["bytes"])
        self.assertRegex(self.output_of("info", "a.mtx"), r"\n  sbsr +refused: not symmetric: row 1, column 3 and row 3, column 1 \(counted from 1\) differ")

    def test_sees_symmetry(self):
        self.assertIn("symmetric, pattern and values", self.output_of("info", "poisson2d:5"))
        self.write("s.mtx", "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 1 5\n")
        self.assertIn("skew-symmetric", self.output_of("info", "s.mtx"))
        self.assertIn("not square", self.output_of("info", "uniform:4:2:9"))

    def test_reads_standard_input(self):
        for name in ["-", "/dev/stdin"]:
            self.assertIn("4 × 4, 7 entries", self.output_of("info", name, input=LECTURE.encode()))

    def test_a_matrix_of_nothing(self):
        self.write("n.mtx", "%%MatrixMarket matrix coordinate real general\n0 0 0\n")
        self.assertIn("0 × 0, 0 entries", self.output_of("info", "n.mtx"))
        self.assertEqual(self.json_of("info", "n.mtx")["row_length"]["histogram"], [])


class Archives(InFolder):
    def pack(self, name, **members):
        """A .tar.gz; in the members' names __ stands for a slash and _0 for a leading dot."""
        return self.pack_in_order(name, *((member.replace("__", "/").replace("_0", "._"), text) for member, text in members.items()))

    def pack_in_order(self, name, *members):
        with tarfile.open(self.folder / name, "w:gz") as archive:
            for member, text in members:
                entry = tarfile.TarInfo(member + ".mtx")
                entry.size = len(text)
                archive.addfile(entry, io.BytesIO(text.encode()))
        return name

    def test_reads_a_gzip_file_and_its_stream(self):
        packed = gzip.compress(LECTURE.encode())
        (self.folder / "a.mtx.gz").write_bytes(packed)
        self.assertEqual(self.output_of("convert", "a.mtx.gz", "-"), self.output_of("convert", "a.mtx", "-"))
        self.assertEqual(self.output_of("convert", "-", "-", input=packed), self.output_of("convert", "a.mtx", "-"))

    def test_takes_the_only_matrix(self):
        self.assertEqual(self.json_of("info", self.pack("one.tar.gz", other=LECTURE))["entries"], 7)

    def test_takes_the_one_named_like_its_folder_wherever_it_is(self):
        for order in [("web__web_b", "web__web"), ("web__web", "web__web_b"), ("web___0web", "web__web")]:
            members = {name: LECTURE if name == "web__web" else "junk" for name in order}
            self.assertEqual(self.json_of("info", self.pack("web.tar.gz", **members))["entries"], 7)

    def test_says_what_is_wrong_with_the_others(self):
        self.assert_fails(1, "info", self.pack("two.tar.gz", a=LECTURE, b=LECTURE), saying="several .mtx files (a.mtx, b.mtx)")
        self.assert_fails(1, "info", self.pack("none.tar.gz", _0a=LECTURE), saying="holds no .mtx file")
        self.assert_fails(1, "info", self.pack("bad.tar.gz", a=LECTURE + "9 9 9\n"), saying="bad.tar.gz/a.mtx:11: ")
        (self.folder / "empty.mtx.gz").write_bytes(gzip.compress(b""))
        self.assert_fails(1, "info", "empty.mtx.gz", saying="is empty")
        self.assert_fails(1, "info", "-", input=b"", saying="is empty")
        self.assert_fails(1, "info", "-", input=b"\n" + LECTURE.encode(), saying="the first line is empty")
        with tarfile.open(self.folder / "folder.tar.gz", "w:gz") as archive:
            folder = tarfile.TarInfo("web")
            folder.type = tarfile.DIRTYPE
            archive.addfile(folder)
        self.assert_fails(1, "info", "folder.tar.gz", saying="holds no .mtx file")

    def test_a_member_that_is_there_twice_is_refused(self):
        for member in ["a", "web/web"]:
            name = self.pack_in_order("twice.tar.gz", (member, LECTURE), (member, LECTURE + "% newer\n"))
            self.assert_fails(1, "info", name, saying=f"twice.tar.gz: holds {member}.mtx twice")

    def test_comments_may_be_longer_than_what_is_read_at_a_time(self):
        banner, rest = LECTURE.split("\n", 1)
        comments = ("% " + "x" * 998 + "\n") * 40000
        (self.folder / "long.mtx.gz").write_bytes(gzip.compress(f"{banner}\n{comments}{rest}".encode(), 1))
        self.assertEqual(self.json_of("info", "long.mtx.gz")["entries"], 7)


class Spy(InFolder):
    def pixels(self, name):
        """Width, height and rows of RGB pixels of a PNG, read without any library."""
        data = (self.folder / name).read_bytes()
        self.assertEqual(data[:8], b"\x89PNG\r\n\x1a\n")
        packed, at = b"", 8
        while at < len(data):
            length, kind = struct.unpack(">I4s", data[at : at + 8])
            body = data[at + 8 : at + 8 + length]
            if kind == b"IHDR":
                width, height, depth, colour = struct.unpack(">IIBB", body[:10])
                self.assertEqual((depth, colour), (8, 2))
            packed += body if kind == b"IDAT" else b""
            at += 12 + length
        self.assertEqual(kind, b"IEND")
        return width, height, zlib.decompress(packed)

    def test_draws_a_small_matrix_in_squares(self):
        picture = self.output_of("spy", "a.mtx")
        self.assertIn("a.mtx  4 × 4, 7 entries\n", picture)
        self.assertIn("│ ■ · ■ · │\n│ · · · · │\n│ · ■ ■ ■ │\n│ ■ · · ■ │\n", picture)

    def test_fits_the_width_it_is_given(self):
        for columns in [20, 80]:
            picture = self.output_of("spy", "poisson2d:40", env={**os.environ, "COLUMNS": str(columns)})
            self.assertLessEqual(max(len(x) for x in picture.splitlines() if x[0] in "┌│└"), columns)
        self.assertIn("a dot stands for", picture)

    def test_writes_a_png(self):
        self.run_nz("spy", "a.mtx", "-o", "a.png")
        width, height, data = self.pixels("a.png")
        self.assertEqual(width, height)
        self.assertEqual(len(data), height * (1 + 3 * width))

    def test_a_picture_keeps_the_shape(self):
        self.run_nz("spy", "uniform:2000:4:1000", "-o", "u.png", "--size", "500")
        width, height, _ = self.pixels("u.png")
        self.assertAlmostEqual(height / width, 2, delta=0.1)
        self.assertLess(height, 530)

    def test_draws_nothing_and_the_extreme(self):
        self.write("n.mtx", "%%MatrixMarket matrix coordinate real general\n0 5 0\n")
        for name in ["n.mtx", "uniform:1:5:100000", "diagonal:1"]:
            self.run_nz("spy", name)
            self.run_nz("spy", name, "-o", "x.png")

    def test_refuses_other_endings_and_sizes(self):
        self.assert_fails(2, "spy", "a.mtx", "-o", "a.jpg", saying=".png")
        self.assert_fails(2, "spy", "a.mtx", "--size", "0")
        self.assert_fails(2, "spy", "a.mtx", "--size", "100000")
        self.assertEqual(self.names(), ["a.mtx"])


class ConvertAndGenerate(InFolder):
    def test_there_and_back(self):
        self.run_nz("convert", "a.mtx", "a.npz")
        self.run_nz("convert", "a.npz", "small.npz", "--compress")
        self.run_nz("convert", "small.npz", "b.mtx")
        banner, *lines = (self.folder / "b.mtx").read_text().splitlines()
        self.assertEqual(banner, "%%MatrixMarket matrix coordinate real general")
        self.assertEqual(lines, LECTURE.splitlines()[2:])

    def test_to_standard_output_whatever_that_is(self):
        text = self.output_of("convert", "a.mtx", "-")
        with open(self.folder / "out.txt", "w") as out:
            subprocess.run([NZ, "convert", "a.mtx", "-"], cwd=self.folder, stdout=out, check=True)
        self.assertEqual((self.folder / "out.txt").read_text(), text)

    def test_onto_itself(self):
        self.run_nz("convert", "a.mtx", "a.mtx")
        self.assertEqual(self.json_of("info", "a.mtx")["entries"], 7)

    def test_refuses_before_it_reads(self):
        self.assert_fails(2, "convert", "missing.mtx", "a.txt", saying=".mtx or .npz")
        self.assert_fails(2, "convert", "a.mtx", "b.mtx", "--compress", saying="--compress")

    def test_a_failed_run_leaves_the_old_file_and_no_other(self):
        self.write("bad.mtx", LECTURE + "1 1 1\n")
        self.write("old.mtx", "precious")
        self.assert_fails(1, "convert", "bad.mtx", "old.mtx", saying="bad.mtx:11")
        self.assert_fails(1, "convert", "a.mtx", "nowhere/b.mtx", saying="nowhere/b.mtx")
        self.assertEqual((self.folder / "old.mtx").read_text(), "precious")
        self.assertEqual(self.names(), ["a.mtx", "bad.mtx", "old.mtx"])

    def test_an_interrupted_write_leaves_the_old_file_and_no_other(self):
        for number in [signal.SIGINT, signal.SIGTERM]:
            with self.subTest(number):
                self.write("old.npz", "precious")
                before = self.names()
                program = subprocess.Popen(
                    [NZ, "convert", "poisson3d:110", "old.npz", "--compress"], cwd=self.folder
                )
                end = time.monotonic() + 60
                while not self.is_writing(program) and program.poll() is None and time.monotonic() < end:
                    time.sleep(0.002)
                self.assertIsNone(program.poll(), "it was done before it could be interrupted")
                program.send_signal(number)
                self.assertEqual(program.wait(60), -number)
                self.assertEqual(self.names(), before)
                self.assertEqual((self.folder / "old.npz").read_text(), "precious")

    def test_no_way_to_end_leaves_a_partial_file(self):
        for name in ["SIGQUIT", "SIGHUP", "SIGUSR1", "SIGALRM"]:
            with self.subTest(name):
                program = subprocess.Popen([NZ, "convert", "fem:30", "b.npz", "--compress"], cwd=self.folder,
                                           preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))
                while program.poll() is None and not self.is_writing(program):
                    time.sleep(0.002)
                program.send_signal(getattr(signal, name))
                self.assertEqual(program.wait(60), -getattr(signal, name))
                self.assertEqual(self.names(), ["a.mtx"])

    def test_a_limit_on_file_sizes_is_an_error_like_a_full_disk(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (50000, 50000))

        self.assert_fails(1, "generate", "poisson2d", "300", "b.mtx", saying="File too large", preexec_fn=limit)
        self.assertEqual(self.names(), ["a.mtx"])

    @unittest.skipIf("NZ_SANITIZED" in os.environ, "a sanitizer reserves more than the limit")
    def test_more_threads_than_there_is_memory_for_are_no_crash(self):
        many = {**os.environ, "OMP_NUM_THREADS": "64"}
        for megabytes in [200, 300, 500, 700]:
            def limit():
                resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))

            words = [NZ, "generate", "uniform", "4096", "100", "b.mtx"]
            done = subprocess.run(words, cwd=self.folder, env=many, preexec_fn=limit, capture_output=True, timeout=60)
            self.assertIn((done.returncode, done.stderr), [(0, b""), (1, b"nz: out of memory\n")])
            self.assertEqual(self.names(), ["a.mtx"] + (["b.mtx"] if done.returncode == 0 else []))
            (self.folder / "b.mtx").unlink(missing_ok=True)

    def test_generates_every_kind(self):
        for kind in self.json_of("list")["generators"]:
            with self.subTest(kind["name"]):
                self.run_nz("generate", kind["name"], "6", "g.mtx")
                made = self.output_of("convert", "g.mtx", "-")
                self.assertEqual(made, self.output_of("convert", kind["name"] + ":6", "-"))
                self.assertIn(kind["name"], self.output_of("generate", "--help"))

    def test_the_seed_decides(self):
        made = [self.output_of("generate", "uniform", "20", "3", "-", "--seed", s) for s in ["1", "1", "2"]]
        self.assertEqual(made[0], made[1])
        self.assertNotEqual(made[0], made[2])

    def test_generate_says_what_is_wrong(self):
        self.assert_fails(2, "generate", "nonsense", "3", "g.mtx", saying="nonsense")
        self.assert_fails(2, "generate", "poisson2d", "g.mtx", saying="NX is missing")
        self.assert_fails(2, "generate", "poisson2d", "3", saying="the file to write is missing: give it at the end, as in 'nz generate poisson2d 3 matrix.mtx'; it ends in .mtx or .npz")
        self.assert_fails(2, "generate", "poisson2d", "3.5", saying="the file to write is missing")
        self.assert_fails(2, "generate", "poisson2d", saying="the file to write is missing")
        self.assert_fails(2, "generate", "heat", "3", "4", "g.mtx")
        for seed in ["-1", "x", "1.5", "18446744073709551616"]:
            self.assert_fails(2, "generate", "uniform", "9", "g.mtx", "--seed", seed, saying="is not a whole number of up to 19 digits")
        self.assert_fails(2, "generate", "rmat", "30", "2147483647", "g.mtx", saying="more than any memory holds")
        self.assert_fails(1, "generate", "rmat", "30", "nowhere/g.mtx", saying="there is no folder nowhere")
        self.assertEqual(self.names(), ["a.mtx"])


class Multiply(InFolder):
    def vector(self, name, *values):
        lines = ["%%MatrixMarket matrix array real general", f"{len(values)} 1", *map(str, values)]
        self.write(name, "\n".join(lines) + "\n")

    def product(self, *words):
        banner, size, *values = self.output_of("multiply", *words, "-o", "-").splitlines()
        self.assertEqual(banner, "%%MatrixMarket matrix array real general")
        self.assertEqual(size, f"{len(values)} 1")
        return [float(v) for v in values]

    def test_by_ones_gives_row_sums(self):
        self.assertEqual(self.product("a.mtx"), [4, 0, 7, 2])

    def test_with_every_kernel_that_takes_it(self):
        self.vector("x.mtx", 1, 2, 3, 4)
        self.vector("y.mtx", 1, 1, 1, 1)
        options = ["--x", "x.mtx", "--alpha", "2", "--beta", "-1", "--y", "y.mtx", "--padding-budget", "100"]
        for kernel in self.kernels_here():
            if kernel["format"] in ["bsr", "sbsr"]:
                continue  # they take matrices of full blocks only
            place = ["--kernel", kernel["name"], "--device", kernel["runs_on"]]
            with self.subTest(place):
                self.assertEqual(self.product("a.mtx", *options, *place), [11, -1, 39, 9])

    def test_vectors_are_files_of_every_kind(self):
        self.write("x.txt", "# in two lines\n1 2\n3, 4\n")
        wanted = [6, 0, 20, 5]
        self.assertEqual(self.product("a.mtx", "--x", "x.txt"), wanted)
        for name in ["y.mtx", "y.npy", "y.npz", "y.txt"]:
            self.run_nz("multiply", "a.mtx", "--x", "x.txt", "-o", name)
            self.assertEqual(self.product("a.mtx", "--alpha", "0", "--beta", "1", "--y", name), wanted)
            self.run_nz("solve", "diagonal:4", "--b", name, "-o", "x" + name)
            self.assertEqual([round(v, 9) for v in self.product("diagonal:4", "--x", "x" + name)], wanted)
            self.run_nz("heat", "--initial", name, "--steps", "0", "-o", "q" + name)
            self.assertEqual(self.product("diagonal:4", "--alpha", "0", "--beta", "1", "--y", "q" + name), wanted)
            if not name.endswith(".txt"):  # for pages, lines of text are names and weights
                self.run_nz("pagerank", "a.mtx", "--personalize", name, "-o", "r" + name)
        piped = self.output_of("multiply", "a.mtx", "--x", "-", "-o", "-", input=b"1\n2\n3\n4\n")
        self.assertTrue(piped.endswith("\n6\n0\n20\n5\n"))
        self.write("bad.txt", "1\ntwo\n")
        self.assert_fails(1, "multiply", "a.mtx", "--x", "bad.txt", saying="bad.txt:2: 'two' is not a number")

    def test_takes_a_plan_where_no_kernel_is_named(self):
        self.assertEqual(self.json_of("multiply", "a.mtx", "--device", "cpu")["kernel"], "csr_balanced")
        found = self.json_of("multiply", "a.mtx", "--device", "emulator")
        self.assertEqual((found["device"], found["first"]), ("emulator", [4, 0, 7, 2]))
        self.assertEqual(self.json_of("multiply", "a.mtx", "--kernel", "csr_serial")["kernel"], "csr_serial")

    def test_summary(self):
        found = self.json_of("multiply", "a.mtx", "--kernel", "csr_serial")
        self.assertEqual((found["sum"], found["norm_1"], found["norm_max"]), (13, 13, 7))
        self.assertAlmostEqual(found["norm_2"], (16 + 49 + 4) ** 0.5)
        self.assertEqual(found["first"], [4, 0, 7, 2])
        self.assertEqual(found["kernel"], "csr_serial")
        self.assertIn("|y|_max   7\n", self.output_of("multiply", "a.mtx"))

    def test_what_is_not_finite_is_null_in_json(self):
        self.write("n.mtx", "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 nan\n")
        found = self.json_of("multiply", "n.mtx")
        self.assertEqual((found["norm_max"], found["first"]), (None, [None]))
        self.write("n.mtx", "%%MatrixMarket matrix coordinate real general\n2 1 2\n1 1 nan\n2 1 5\n")
        self.assertIsNone(self.json_of("multiply", "n.mtx")["norm_max"])  # also where a number follows it
        self.assertIn("|y|_max   nan\n", self.output_of("multiply", "n.mtx"))

    def test_standard_input_that_is_closed_is_said_to_be(self):
        self.assert_fails(1, "multiply", "-", saying="-: standard input is closed", preexec_fn=lambda: os.close(0))

    def test_writes_a_file(self):
        self.assertEqual(self.output_of("multiply", "a.mtx", "-o", "y.mtx"), "")
        self.assertEqual(self.product("a.mtx", "--x", "y.mtx"), [19, 0, 30, 6])

    def test_verbose_names_the_kernel_on_standard_error(self):
        done = self.run_nz("multiply", "a.mtx", "--kernel", "ell_serial", "-v", "-o", "y.mtx")
        self.assertRegex(done.stderr.decode(), r"\Anz: ell_serial \(ell\): .*\n\Z")

    def test_refuses_what_makes_no_sense(self):
        self.assert_fails(2, "multiply", "a.mtx", "--beta", "1", saying="--y")
        self.assert_fails(2, "multiply", "a.mtx", "--y", "y.mtx", saying="--beta")
        self.assert_fails(2, "multiply", "a.mtx", "--kernel", "magic", saying="csr_serial")
        self.assert_fails(2, "multiply", "a.mtx", "--alpha", "two")
        self.assert_fails(2, "multiply", "a.mtx", "-o", "-", "--json")
        self.assert_fails(2, "multiply", "-", "--x", "-", saying="standard input")

    def test_vectors_must_fit(self):
        self.vector("x.mtx", 1, 2, 3)
        message = "x.mtx: x must have 4 entries to fit the matrix, but has 3"
        self.assert_fails(1, "multiply", "a.mtx", "--x", "x.mtx", "-o", "y.mtx", saying=message)
        self.assertEqual(self.names(), ["a.mtx", "x.mtx"])

    def test_by_full_blocks_with_the_kernels_that_need_them(self):
        sums = self.product("fem:3")
        for kernel in ["bsr_serial", "bsr_rows", "sbsr_serial", "sbsr_chunks"]:
            self.assertEqual(self.product("fem:3", "--kernel", kernel), sums)  # exact in any order

    def test_a_refused_format_is_status_1(self):
        self.assert_fails(1, "multiply", "a.mtx", "--kernel", "bsr_serial", saying="no size of block")
        self.assert_fails(1, "multiply", "a.mtx", "--kernel", "sbsr_serial", saying="not symmetric")
        self.assert_fails(1, "multiply", "dense_rows:3000:2:1", "--kernel", "ell_serial", saying="padding")


class CheckAndList(InFolder):
    def test_every_kernel_is_right_or_refused(self):
        kernels = [k["name"] for k in self.kernels_here()]
        names = ["a.mtx", "rmat:8", "uniform:30:4:50", "dense_rows:2000:2:1"]
        matrices = self.json_of("check", *names, "--precision", "both")
        self.assertEqual(len(matrices), 2 * len(names))
        for matrix in matrices:
            self.assertEqual([r["kernel"] for r in matrix["results"]], kernels)
            for result in matrix["results"]:
                self.assertIn(result["verdict"], ["ok", "refused"])
                if result["verdict"] == "ok":
                    self.assertLessEqual(result["error_in_bounds"], 1)
                else:
                    self.assertNotEqual(result["bytes"], 0)  # not known: null
                    reason = {"bsr": "full", "sbs": "s(quare|ymmetric)"}.get(result["kernel"][:3], "padding")
                    self.assertRegex(result["why"], reason)
        self.assertIn("refused", str(matrices[-1]))

    def test_a_product_that_overflows_is_not_wrong(self):
        self.write("large.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1e308\n1 2 1e308\n")
        self.assertIn(" ok\n", self.output_of("check", "large.mtx", "--device", "cpu"))

    def test_prints_a_line_per_matrix(self):
        text = self.output_of("check", "a.mtx", "dense_rows:3000:2:1")
        title, first, second, total = text.splitlines()
        self.assertRegex(title, r"^  matrix +type +kernels +refused +error/bound$")
        self.assertRegex(first, r"^  a\.mtx +double +\d+ +\d+ +\d\.\d{3}  ok$")
        self.assertRegex(second, r"^  dense_rows:3000:2:1 +double +\d+ +[1-9]\d* +\d\.\d{3}  ok$")
        self.assertIn("all within the error bound", total)
        checked, refused = (sum(int(line.split()[i]) for line in (first, second)) for i in (2, 3))
        self.assertTrue(total.startswith(f"{checked} results, ") and total.endswith(f"; {refused} refused"), total)

    def test_prints_a_table_where_it_is_verbose(self):
        text = self.output_of("check", "a.mtx", "dense_rows:3000:2:1", "-v")
        self.assertIn("a.mtx  4 × 4, 7 entries, double\n", text)
        self.assertRegex(text, r"csr_serial +cpu +csr +124 B +17\.7 B +0\.0 % +\d\.\d{3}  ok\n")
        self.assertIn("refused: padding past 4 × csr\n", text)
        self.assertIn("all within the error bound", text)
        self.assertRegex(text, r"sbsr_serial +cpu +sbsr +– +– +– +–  refused: ")

    def test_random_values_do_not_repeat(self):
        entries = "".join(f"{i} {j}\n" for i in range(1, 65) for j in range(max(1, i - 4), min(64, i + 4) + 1))
        self.write("p.mtx", f"%%MatrixMarket matrix coordinate pattern general\n64 64 {entries.count(chr(10))}\n{entries}")
        plan = ["plan", "p.mtx", "--device", "emulator", "--kernel", "warp_packed_slices"]
        for precision in ["float", "double"]:
            same, random = (self.json_of(*plan, "--precision", precision, "--values", v) for v in ["file", "random"])
            self.assertEqual((same["values"], random["values"]), ("file", "random"))
            size = {"float": 4, "double": 8}[precision]
            self.assertLess(same["bytes"], size * same["entries"])  # the one value of a pattern is not stored for each entry
            self.assertGreaterEqual(random["bytes"], size * random["entries"])
        self.assertEqual(self.json_of(*plan)["values"], "file")
        found = self.json_of("check", "p.mtx", "--values", "random", "--device", "cpu")[0]
        self.assertEqual((found["values"], {r["verdict"] for r in found["results"]} <= {"ok", "refused"}), ("random", True))
        self.assert_fails(2, "check", "p.mtx", "--values", "randon", saying="did you mean 'random'?")

    def test_takes_every_instruction_set_that_there_is(self):
        for simd in [s["name"] for s in self.json_of("list")["instruction_sets"]]:
            with self.subTest(simd):
                results = self.json_of("check", "rmat:8", "--device", "cpu", "--simd", simd)[0]["results"]
                self.assertIn("ok", [r["verdict"] for r in results])
                self.run_nz("multiply", "a.mtx", "--kernel", "csr_balanced", "--simd", simd)
            self.assert_fails(2, "check", "a.mtx", "--simd", "MMX", saying=simd)
            self.assert_fails(2, "multiply", "a.mtx", "--simd", "MMX", saying=simd)

    def test_has_matrices_of_its_own(self):
        self.assertIn("ok", self.output_of("check"))

    def test_standard_input_is_there_only_once(self):
        self.assertIn("float", self.output_of("check", "-", "--precision", "float", input=LECTURE.encode()))
        self.assert_fails(2, "check", "-", "--precision", "both", saying="standard input")

    def test_nan_in_the_matrix_is_right_where_it_is_due(self):
        self.write("n.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 nan\n2 2 inf\n")
        self.run_nz("check", "n.mtx")

    def test_lists_every_kernel(self):
        text = self.output_of("list")
        for kernel in self.json_of("list")["kernels"]:
            places = rf"(\w+, )*{kernel['runs_on']}(, \w+)*"
            self.assertRegex(text, rf"{kernel['name']} +{kernel['format']} +{places} +(yes|no) ")

    def test_lists_the_instruction_sets_and_which_is_used(self):
        text, listed = self.output_of("list"), self.json_of("list")["instruction_sets"]
        self.assertEqual([s["used"] for s in listed], [True] + [False] * (len(listed) - 1))
        self.assertRegex(text, rf"{listed[0]['name']} +used by the CPU's kernels\n")
        for simd in listed:
            self.assertIn(f"  {simd['name']}", text)


class OnATerminal(InFolder):
    def run_on_terminal(self, *words, feed=None, **environment):
        """What nz writes to a terminal of 60 columns. `feed` sends text to its standard input, slowly."""
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 60, 0, 0))
        env = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
        program = subprocess.Popen(
            [NZ, *words], cwd=self.folder, stdin=subprocess.PIPE, stdout=slave, stderr=slave,
            env={**env, "TERM": "xterm-256color", **environment},
        )  # fmt: skip
        os.close(slave)
        for segment in feed or []:
            program.stdin.write(segment)
            program.stdin.flush()
        program.stdin.close()
        seen = b""
        while select.select([master], [], [], 60)[0]:
            try:
                seen += os.read(master, 65536)
            except OSError:  # the other end is closed
                break
        os.close(master)
        self.assertEqual(program.wait(60), 0, seen)
        return seen.decode().replace("\r\n", "\n")

    def test_colour_unless_it_is_not_wanted(self):
        self.assertIn("\x1b[1ma.mtx\x1b[0m", self.run_on_terminal("info", "a.mtx"))
        self.assertNotIn("\x1b", self.run_on_terminal("info", "a.mtx", NO_COLOR="1"))
        self.assertNotIn("\x1b", self.run_on_terminal("check", "a.mtx", TERM="dumb"))

    def test_the_picture_fits_the_screen(self):
        lines = self.run_on_terminal("spy", "poisson2d:50", NO_COLOR="1").splitlines()
        self.assertLessEqual(len(lines), 29)
        self.assertLessEqual(max(map(len, lines)), 60)
        self.assertIn("\x1b[38;5;", self.run_on_terminal("spy", "poisson2d:50"))

    def test_a_narrow_terminal_gets_fewer_columns(self):
        lines = self.run_on_terminal("bench", "a.mtx", "--device", "cpu", "--seconds", "0.001", NO_COLOR="1").splitlines()
        titles = next(line for line in lines if "GFLOP/s" in line)
        self.assertNotIn("format", titles)
        self.assertNotIn("±", titles)

    def slow_matrix(self):
        entries = 200_000
        yield f"%%MatrixMarket matrix coordinate real general\n{entries} {entries} {entries}\n".encode()
        for eighth in range(8):
            time.sleep(0.2)
            rows = range(eighth * entries // 8, (eighth + 1) * entries // 8)
            yield "".join(f"{i + 1} {i + 1} 1\n" for i in rows).encode()

    def test_a_long_read_shows_a_bar_and_erases_it(self):
        seen = self.run_on_terminal("info", "-", feed=self.slow_matrix())
        self.assertRegex(seen, r"reading /dev/stdin .* %")
        before, after = seen.rsplit("\r\x1b[K", 1)
        self.assertNotIn("reading", after)
        self.assertIn("entries", after)

    def test_a_short_read_shows_none(self):
        self.assertNotIn("reading", self.run_on_terminal("info", "a.mtx"))


if __name__ == "__main__":
    unittest.main()
