#!/usr/bin/env python3
"""The plots of docs/performance.md and the speed table of README.md, from the runs in docs/measurements/*.json.

    nz bench --device cuda --precision both --values random --json run.json wave.mtx.gz memplus.mtx.gz
    bench/plot.py --add run.json h200-real "NVIDIA H200, CUDA 13.0"   # stores the run in docs/measurements/
    bench/plot.py                                                     # draws docs/images/plans-*.svg (needs matplotlib)
    bench/plot.py --readme                                            # writes README's table, and the page's means

A run is named h200-real, h200-generated, cpu-real or cpu-generated. Only the fields that the documentation uses are stored.
"""

import argparse
import json
import math
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[1]
RUNS, PAGE = ROOT / "docs/measurements", ROOT / "docs/performance.md"
DEVICES = {"h200": ("H200", "cuSPARSE"), "cpu": ("CPU", "peer")}  # a run's prefix: the device, whose kernels it is compared with
FIELDS = ["kernel", "chosen_kernel", "peer", "bytes", "seconds", "bytes_per_second", "fraction_of_ceiling", "prepare_seconds", "pays_after"]
# The rows of the README's table: a matrix, and what it is.
REAL = {"wave": "3-D mesh", "memplus": "circuit", "cnr-2000": "web crawl", "bcsstk16": "structural FEM",
        "c-62": "optimisation", "slam_w10000_H": "3×3 blocks", "soc-Slashdot0902": "social network", "lp_nw04": "36 long rows"}
GENERATED = {"poisson2d": "5-point grid", "poisson27": "27-point grid", "fem": "3×3-block FEM", "rmat": "power-law graph",
             "uniform": "random columns"}
BEGIN, END = "<!-- speeds: bench/plot.py --readme -->\n", "<!-- end of speeds -->"


def short_name(matrix):
    return pathlib.Path(matrix).name.removesuffix(".gz").removesuffix(".mtx")


def load(device, precision="double"):
    """The machine, and for each matrix the plan's result and the fastest peer's, from all runs of a device."""
    machines, found = {}, {}
    for file in sorted(RUNS.glob(f"{device}-*.json")):
        run = json.loads(file.read_text())
        machines[run["machine"]] = True
        for matrix in run["matrices"]:
            timed = [r for r in matrix["results"] if r.get("seconds")]
            plan = next((r for r in timed if r["kernel"] == "plan"), None)
            peer = min((r for r in timed if r["peer"]), key=lambda r: r["seconds"], default=None)
            if matrix["precision"] == precision and plan and peer:
                found[short_name(matrix["matrix"])] = (matrix, plan, peer, run["ceiling_bytes_per_second"])
    return " and ".join(machines), found


def ratio(entry):  # how many times as fast the plan is
    return entry[2]["seconds"] / entry[1]["seconds"]


def of_set(found, name):
    return [e for matrix, e in found.items() if (":" in matrix) == (name == "generated")]


def mean(entries):
    return math.exp(sum(math.log(ratio(e)) for e in entries) / len(entries)) if entries else None


def with_means(page):
    """The text of a page with its geometric means, such as "1.81× (h200-real, double)", as the runs have them."""
    return re.sub(r"\d+\.\d\d× \((\w+)-(\w+), (double|float)\)",
                  lambda m: f"{mean(of_set(load(m[1], m[3])[1], m[2])):.2f}× ({m[1]}-{m[2]}, {m[3]})", page)


def cells(entry):
    if entry is None:
        return ["–", "–", "–"]
    plan, peer = (f"{us:,.{0 if us >= 99.5 else 1 if us >= 9.95 else 2}f}" for us in (r["seconds"] * 1e6 for r in entry[1:3]))
    plan, peer = (f"**{plan}**", peer) if ratio(entry) >= 1 else (plan, f"**{peer}**")
    return [f"{plan} `{entry[1]['chosen_kernel']}`", f"{peer} {entry[2]['kernel'].removeprefix('cusparse_')}", f"{ratio(entry):.2f}"]


def readme_table():
    """The table of README.md: double precision, µs of one multiply."""
    loaded = {device: load(device) for device in DEVICES}
    head = "".join(f" {name}: plan | best {peer} | ratio |" for name, peer in DEVICES.values())
    lines = [f"| double, µs per multiply | nonzeros |{head}", "|---|---:|" + "---:|---:|---:|" * len(DEVICES)]
    means = []
    for rows, title in ((REAL, "real"), (GENERATED, "generated")):
        for key, what in rows.items():
            entries = {d: max((e for name, e in found.items() if name.split(":")[0] == key),
                              key=lambda e: e[0]["entries"], default=None) for d, (_, found) in loaded.items()}
            if known := [e for e in entries.values() if e]:
                counts = " / ".join(dict.fromkeys(f"{e[0]['entries'] / 1e6:.2g} M" for e in known))
                lines.append(" | ".join([f"| {key}, {what}", counts, *(c for d in DEVICES for c in cells(entries[d]))]) + " |")
        for device, (_, found) in loaded.items():
            if chosen := of_set(found, title):
                means.append(f"{DEVICES[device][0]}, {len(chosen)} {title} matrices: {mean(chosen):.2f}, "
                             f"at worst {min(map(ratio, chosen)):.2f}")
    is_random = all(e[0].get("values") == "random" for _, found in loaded.values() for e in of_set(found, "real"))
    notes = [f"Geometric mean of the ratios: {'; '.join(means)}.", f"Measured on {'; '.join(machine for machine, found in loaded.values() if found)}.",
             f"The real matrices have {'random values, which do not repeat' if is_random else 'the values of their files'}."]
    return "\n".join([*lines, "", " ".join(notes), ""])


def draw(device):
    """Effective bandwidth of the plan and of the fastest peer, for each matrix and precision."""
    import matplotlib
    matplotlib.rcParams.update({"svg.hashsalt": "nonzero", "svg.fonttype": "none", "font.size": 9})
    import matplotlib.pyplot as plot
    panels = {p: found for p in ("double", "float")
              if (found := {name: e for name, e in load(device, p)[1].items() if e[0]["entries"] >= 10000})}
    names = sorted(next(iter(panels.values())), key=lambda name: (":" in name, name.lower()), reverse=True)
    figure, axes = plot.subplots(1, len(panels), sharey=True, squeeze=False, figsize=(9, 1.1 + 0.21 * len(names)))
    for axis, (precision, found) in zip(axes[0], panels.items()):
        for y, entry in ((y, found[name]) for y, name in enumerate(names) if name in found):
            plan, peer = (entry[0]["compulsory_bytes"] / r["seconds"] / 1e9 for r in entry[1:3])
            axis.plot([peer, plan], [y, y], color="0.75", zorder=1)
            axis.scatter([peer], [y], facecolor="white", edgecolor="0.3", zorder=2)
            axis.scatter([plan], [y], color="tab:green" if plan >= peer else "tab:red", zorder=3)
            axis.annotate(f" {ratio(entry):.2f}", (1.0, y), xycoords=("axes fraction", "data"), va="center", fontsize=8)
        axis.axvline(max(e[3] for e in found.values()) / 1e9, color="tab:blue", linestyle="--", label="memory bandwidth")
        axis.set(xscale="log", title=precision, xlabel="GB/s over the bytes that CSR must move")
        axis.set_yticks(range(len(names)), names)
        axis.grid(axis="x", alpha=0.3)
    marks = [plot.Line2D([], [], marker="o", linestyle="", markerfacecolor=face, markeredgecolor=edge, label=label)
             for face, edge, label in (("white", "0.3", f"fastest {DEVICES[device][1]}"), ("tab:green", "tab:green", "plan, faster"),
                                       ("tab:red", "tab:red", "plan, slower"))]
    figure.legend(handles=[*marks, plot.Line2D([], [], color="tab:blue", linestyle="--", label="memory bandwidth")],
                  loc="lower center", ncols=4, fontsize=8, frameon=False)
    figure.suptitle(f"{DEVICES[device][0]}: plan and fastest {DEVICES[device][1]}; at the right, how many times as fast the plan is")
    figure.tight_layout(rect=(0, 0.2 / figure.get_figheight(), 1, 1))
    figure.savefig(ROOT / f"docs/images/plans-{device}.svg", metadata={"Date": None})


def add(source, name, machine):
    run = json.loads(pathlib.Path(source).read_text())
    run.pop("summary", None)  # it follows from the rest, and has the paths of the machine
    for matrix in run["matrices"]:
        matrix["matrix"] = short_name(matrix["matrix"])
        matrix["results"] = [{f: r[f] for f in FIELDS if r.get(f) is not None} for r in matrix["results"]]
    text = json.dumps({"machine": machine, **run}, ensure_ascii=False)
    (RUNS / f"{name}.json").write_text(text.replace('{"matrix"', '\n{"matrix"').replace('{"kernel"', '\n {"kernel"') + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--readme", action="store_true", help="write the table and the means")
    parser.add_argument("--add", nargs=3, metavar=("RUN", "NAME", "MACHINE"), help="store a run of nz bench --json")
    options = parser.parse_args()
    if options.add:
        add(*options.add)
    elif options.readme:
        before, rest = (ROOT / "README.md").read_text().split(BEGIN)
        (ROOT / "README.md").write_text(before + BEGIN + readme_table() + END + rest.split(END)[1])
        PAGE.write_text(with_means(PAGE.read_text()))
    else:
        for device in filter(lambda device: load(device)[1], DEVICES):
            draw(device)


if __name__ == "__main__":
    main()
