"""nz pagerank as its users see it, and whether it agrees with NetworkX.

    NZ=build/release/cli/nz build/venv/bin/python tests/cli/test_pagerank.py

NONZERO_MATRICES names a folder of .mtx and .mtx.gz files to check as well; without it that test is skipped.
"""

import gzip
import os
import pathlib
import unittest

import networkx
import numpy
import scipy.io
import scipy.sparse

from in_folder import InFolder

ROOT = pathlib.Path(__file__).resolve().parents[2]
LECTURE_GRAPH = """%%MatrixMarket matrix coordinate pattern general
9 9 12
5 1
7 2
8 3
2 4
1 5
2 5
3 5
4 5
7 6
2 7
6 8
9 8
"""
EDGES = """# Directed graph: a star into hub, and a pair
one hub
two\thub
three  hub
three  one
left right 2
right left
left one 0.5
one hub
"""
# What the sizes of the graphs in the folder come to: larger ones take NetworkX minutes.
MOST_LINKS = 200_000


def ranks_of_networkx(links, personalization=None, weight=None, damping=0.85):
    graph = networkx.from_scipy_sparse_array(links, create_using=networkx.DiGraph)
    tolerance = 1e-13 / max(len(graph), 1)  # of each page; ours is of all
    found = networkx.pagerank(graph, damping, personalization, 1000, tolerance, weight=weight)
    return numpy.array([found[page] for page in range(len(graph))])


class InFolderOfGraphs(InFolder):
    def setUp(self):
        super().setUp()
        self.write("lecture.mtx", LECTURE_GRAPH)
        self.write("edges.txt", EDGES)

    def ranks(self, *words):
        self.run_nz("pagerank", *words, "--tolerance", "1e-13", "-o", "rank.mtx")
        return numpy.asarray(scipy.io.mmread(self.folder / "rank.mtx")).ravel()


class PageRank(InFolderOfGraphs):
    def test_finds_what_the_lecture_found(self):
        words = ["--precision", "float", "--damping", "0.85", "--tolerance", "1e-4", "--sinks", "ignore"]
        for device in ["cpu", "emulator"]:
            found = self.json_of("pagerank", "lecture.mtx", *words, "--device", device)
            self.assertEqual(found["iterations"], 54)
            self.assertEqual(found["top"][0]["page"], 4)
            self.assertAlmostEqual(found["top"][0]["rank"], 4.042290e-01, delta=1.5e-7)
        text = self.output_of("pagerank", "lecture.mtx", "--tolerance", "1e-12")
        self.assertIn("lecture.mtx  9 pages, 12 links; each with links; double\n", text)
        self.assertRegex(text, r"\n  rank +page\n  4\.042495e-01  4\n")

    def test_shows_the_names_of_an_edge_list(self):
        text = self.output_of("pagerank", "edges.txt", "--top", "2")
        self.assertRegex(text, r"\Aedges.txt  6 pages, 7 links; 1 without links \(their rank goes to all\); double\n")
        self.assertRegex(text, r"\n  rank +name\n  \S+  hub\n  \S+  \w+\n\Z")
        found = self.json_of("pagerank", "edges.txt")
        self.assertEqual([row["name"] for row in found["top"]][0], "hub")
        self.assertEqual((found["pages"], found["links"], found["sinks"], found["converged"]), (6, 7, 1, True))
        self.assertAlmostEqual(found["sum"], 1, delta=1e-12)
        self.assertGreater(found["seconds_per_iteration"], 0)

    def test_an_edge_list_may_be_compressed_or_come_from_a_pipe(self):
        (self.folder / "edges.gz").write_bytes(gzip.compress(EDGES.encode()))
        wanted = self.json_of("pagerank", "edges.txt")["top"]
        self.assertEqual(self.json_of("pagerank", "edges.gz")["top"], wanted)
        piped = self.output_of("pagerank", "-", "--edges", "--top", "1", input=EDGES.encode())
        self.assertIn("  hub\n", piped)

    def test_counts_one_as_one(self):
        self.write("self.txt", "me me\n")
        text = self.output_of("pagerank", "self.txt")
        self.assertRegex(text, r"\Aself.txt  1 page, 1 link; each with links; double\n  1 iteration, ")

    def test_names_come_from_a_file(self):
        self.write("names", "".join(f"page {i}\n" for i in range(9)))
        self.assertIn("  page 4\n", self.output_of("pagerank", "lecture.mtx", "--names", "names"))
        self.write("few", "one\n")
        self.assert_fails(1, "pagerank", "lecture.mtx", "--names", "few", saying="each of the 9 pages")
        for name, why in [("a\tb", "there is a control character"), ("\033[2J", "there is a control character"), ("", "there is no name")]:
            self.write("odd", f"one\n{name}\n" + "more\n" * 7)
            self.assert_fails(1, "pagerank", "lecture.mtx", "--names", "odd", saying=f"odd:2: {why}")
        self.write("same", "one\ntwo\ntwo\n" + "more\n" * 6)
        self.write("weights", "two 1\n")
        self.assert_fails(1, "pagerank", "lecture.mtx", "--names", "same", "--personalize", "weights",
                          saying="weights: several pages are called 'two'")
        folder = ROOT / "examples/data"
        text = self.output_of("pagerank", str(folder / "debian-packages.mtx"), "--top", "1", "--names",
                              str(folder / "debian-packages.names"))
        self.assertIn("  libc6\n", text)

    def test_sinks_go_to_all_are_lost_or_are_refused(self):
        sums = {rule: self.json_of("pagerank", "edges.txt", "--sinks", rule)["sum"] for rule in ["redistribute", "ignore"]}
        self.assertAlmostEqual(sums["redistribute"], 1, delta=1e-9)
        self.assertLess(sums["ignore"], 0.9)
        self.assert_fails(1, "pagerank", "edges.txt", "--sinks", "refuse", saying="edges.txt: page hub has no links")
        self.write("sink.mtx", LECTURE_GRAPH.replace("9 9 12", "9 9 11").replace("9 8\n", ""))
        self.assert_fails(1, "pagerank", "sink.mtx", "--sinks", "refuse", saying="page 8 has no links (pages count from 0)")
        self.output_of("pagerank", "lecture.mtx", "--sinks", "refuse")

    def test_writes_all_ranks(self):
        self.run_nz("pagerank", "lecture.mtx", "-o", "rank.npz")
        column = scipy.sparse.load_npz(self.folder / "rank.npz").toarray().ravel()
        numpy.testing.assert_allclose(column, self.ranks("lecture.mtx"), atol=1e-8)
        text = self.output_of("pagerank", "lecture.mtx", "-o", "-")
        self.assertTrue(text.startswith("%%MatrixMarket matrix array real general\n"))
        self.assert_fails(2, "pagerank", "lecture.mtx", "-o", "rank.csv", saying=".mtx, .npy, .npz, .txt or .tsv")
        self.assert_fails(2, "pagerank", "lecture.mtx", "-o", "-", "--json", saying="standard output")
        self.assert_fails(1, "pagerank", "lecture.mtx", "-o", "nowhere/rank.mtx", saying="there is no folder nowhere")
        # Found out before the iterations that take forever.
        self.assert_fails(1, "pagerank", "lecture.mtx", "--tolerance", "0", "--max-iterations", "1000000000000",
                          "-o", "nowhere/rank.mtx", saying="there is no folder nowhere")

    def test_writes_names_beside_ranks(self):
        self.run_nz("pagerank", "edges.txt", "-o", "rank.tsv", "--tolerance", "1e-13")
        lines = [line.split("\t") for line in (self.folder / "rank.tsv").read_text().splitlines()]
        _, names = self.edges()
        wanted = dict(zip(names, self.ranks("edges.txt")))
        self.assertEqual({name: float(rank) for name, rank in lines}, wanted)
        self.assertEqual([float(rank) for _, rank in lines], sorted(wanted.values(), reverse=True))
        self.run_nz("pagerank", "lecture.mtx", "-o", "rank.txt")
        text = (self.folder / "rank.txt").read_text()
        self.assertRegex(text, r"\A4\t0\.4042\d+\n")
        self.assertEqual(text.count("\n"), 9)

    def test_what_is_not_converged_is_said_and_is_a_failure(self):
        done = self.run_nz("pagerank", "lecture.mtx", "--max-iterations", "5", status=1)
        self.assertRegex(done.stderr.decode(), r"\Anz: lecture.mtx: not converged: after 5 iterations [^\n]+\n\Z")
        self.assertIn(b"5 iterations", done.stdout)
        self.assertEqual(self.json_of("pagerank", "lecture.mtx", "--max-iterations", "5", "--tolerance", "0")["iterations"], 5)

    def test_none_of_no_iterations_is_said_to_have_changed_anything(self):
        done = self.run_nz("pagerank", "lecture.mtx", "--max-iterations", "0", status=1)
        self.assertIn(b"not converged: there was no iteration", done.stderr)
        self.assertIn(b"\n  0 iterations; ranks add up to 1\n", done.stdout)

    def test_an_empty_graph_has_no_ranks(self):
        self.write("empty.mtx", "%%MatrixMarket matrix coordinate pattern general\n0 0 0\n")
        self.write("empty.txt", "# nothing\n")
        for name in ["empty.mtx", "empty.txt"]:
            found = self.json_of("pagerank", name)
            self.assertEqual((found["pages"], found["iterations"], found["converged"], found["top"]), (0, 0, True, []))
            self.assertIn("0 pages", self.output_of("pagerank", name))

    def test_bad_graphs_are_refused_in_one_line(self):
        self.write("wide.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 3 1\n1 3\n")
        self.write("one.txt", "a b\nc\n")
        self.write("long.txt", "a b 1 2\n")
        self.write("weight.txt", "a b heavy\n")
        self.write("negative.txt", "a b -1\nb a 1\n")
        (self.folder / "noise.txt").write_bytes(bytes(range(256)))
        self.assert_fails(1, "pagerank", "wide.mtx", saying="wide.mtx: the matrix of a graph is square")
        self.assert_fails(1, "pagerank", "one.txt", saying="one.txt:2: there is one word")
        self.write("commas.csv", "a,b\n")
        self.assert_fails(1, "pagerank", "commas.csv", saying="separate them by blanks or tabs")
        self.assert_fails(1, "pagerank", "long.txt", saying="long.txt:1: there are more words")
        self.assert_fails(1, "pagerank", "weight.txt", saying="'heavy' is no weight")
        self.assert_fails(1, "pagerank", "noise.txt", saying="noise.txt: a NUL byte, which no text has")
        self.assert_fails(1, "pagerank", "negative.txt", "--weighted",
                          saying="negative.txt: the link from page a to page b has the weight -1")
        self.write("heavy.txt", "a b 1\nb a 1e308\nb c 1e308\n")
        self.assert_fails(1, "pagerank", "heavy.txt", "--weighted", saying="heavy.txt: the weights of page b add up to inf")
        self.assert_fails(1, "pagerank", "missing.txt", saying="there is no such file")
        self.assert_fails(1, "pagerank", ".", saying="nz: ")

    def test_a_byte_order_mark_is_part_of_no_name(self):
        self.write("marked.txt", "\ufeffa b\nb a\n")
        self.assert_fails(1, "pagerank", "marked.txt", saying="marked.txt:1: it starts with a byte order mark")
        self.write("marked.names", "\ufeffone\n" + "more\n" * 8)
        self.assert_fails(1, "pagerank", "lecture.mtx", "--names", "marked.names", saying="starts with a byte order mark")

    def test_wrong_usage(self):
        self.assert_fails(2, "pagerank", saying="GRAPH is required")
        for option, bad in [("--damping", "1.5"), ("--damping", "nan"), ("--tolerance", "-1"), ("--top", "-1"),
                            ("--max-iterations", "few"), ("--max-iterations", "-3"), ("--sinks", "drown"), ("--method", "guess")]:
            self.assert_fails(2, "pagerank", "lecture.mtx", option, bad, saying=option)
        self.assert_fails(2, "pagerank", "lecture.mtx", "--kernel", "csr_magic", saying="csr_balanced")
        self.assert_fails(1, "pagerank", "lecture.mtx", "--method", "cusparse", saying="needs the device cuda")

    def test_jumps_lead_where_they_are_told_to(self):
        self.write("home.txt", "# home\nleft 2\nhub\n")
        links, names = self.edges()
        weights = {names.index("left"): 2.0, names.index("hub"): 1.0}
        wanted = ranks_of_networkx(links, weights)
        numpy.testing.assert_allclose(self.ranks("edges.txt", "--personalize", "home.txt"), wanted, atol=1e-12)
        text = self.output_of("pagerank", "edges.txt", "--personalize", "home.txt")
        self.assertIn("1 without links (their rank goes where jumps go)", text)
        self.assert_fails(1, "pagerank", "edges.txt", "--personalize", "home.txt", "--sinks", "refuse",
                          saying="its rank goes where jumps go")
        vector = numpy.array([weights.get(i, 0) for i in range(len(names))]).reshape(-1, 1)
        scipy.io.mmwrite(self.folder / "home.mtx", vector)
        scipy.sparse.save_npz(self.folder / "home.npz", scipy.sparse.csr_matrix(vector))
        for file in ["home.mtx", "home.npz"]:
            numpy.testing.assert_allclose(self.ranks("edges.txt", "--personalize", file), wanted, atol=1e-12)
        self.write("far.txt", "mars 1\n")
        self.assert_fails(1, "pagerank", "edges.txt", "--personalize", "far.txt", saying="the graph has no page 'mars'")
        self.assert_fails(1, "pagerank", "lecture.mtx", "--personalize", "home.mtx", saying="each of the 9 pages")
        self.write("less.txt", "hub 1\nleft -1\n")
        self.assert_fails(1, "pagerank", "edges.txt", "--personalize", "less.txt", saying="less.txt: page left has the weight -1")
        self.write("none.txt", "hub 0\n")
        self.assert_fails(1, "pagerank", "edges.txt", "--personalize", "none.txt", saying="none.txt: no page has a weight above 0")
        self.write("number.txt", "9 1\n")
        self.assert_fails(1, "pagerank", "lecture.mtx", "--personalize", "number.txt", saying="pages are 0 to 8")

    def edges(self):
        """The links of edges.txt and the pages' names, read by other means."""
        lines = [line.split() for line in EDGES.splitlines() if not line.startswith("#")]
        names = list(dict.fromkeys(word for line in lines for word in line[:2]))
        links = scipy.sparse.lil_matrix((len(names), len(names)))
        for line in lines:
            links[names.index(line[0]), names.index(line[1])] += float(line[2]) if len(line) > 2 else 1
        return links.tocsr(), names

    def test_agrees_with_networkx_on_links_and_weights(self):
        links, _ = self.edges()
        numpy.testing.assert_allclose(self.ranks("edges.txt"), ranks_of_networkx(links), atol=1e-12)
        numpy.testing.assert_allclose(self.ranks("edges.txt", "--weighted"), ranks_of_networkx(links, weight="weight"),
                                      atol=1e-12)

    def test_agrees_with_networkx_on_a_power_law(self):
        self.run_nz("generate", "rmat", "9", "graph.npz")
        links = scipy.sparse.load_npz(self.folder / "graph.npz")
        wanted = ranks_of_networkx(links)
        for words in [["graph.npz"], ["graph.npz", "--device", "emulator", "--kernel", "csr_vector"]]:
            numpy.testing.assert_allclose(self.ranks(*words), wanted, atol=1e-12)


class RealGraphs(InFolderOfGraphs):
    def test_agree_with_networkx(self):
        folder = pathlib.Path(os.environ.get("NONZERO_MATRICES", ""))
        files = sorted(folder.glob("*.mtx*")) if os.environ.get("NONZERO_MATRICES") else []
        if not files:
            self.skipTest("NONZERO_MATRICES names no folder")
        checked = 0
        for file in files:
            rows, cols, entries, _, field, _ = scipy.io.mminfo(file)
            if rows != cols or entries > MOST_LINKS or field == "complex":
                continue
            with self.subTest(file.name):
                wanted = ranks_of_networkx(scipy.sparse.csr_array(scipy.io.mmread(file)))
                self.assertLess(numpy.abs(self.ranks(str(file)) - wanted).sum(), 1e-11)
                checked += 1
        self.assertGreater(checked, 0)


if __name__ == "__main__":
    unittest.main()
