#!/usr/bin/env python3
"""Compares the default plan with the fastest peer of each matrix: a Markdown table, from the JSON of nz bench.

    nz bench --device cuda --suite --precision both --replay --json suite.json --kernels plan,cusparse_csr,cusparse_coo
    bench/plans.py suite.json

For each precision: the kernel of the plan, its time and, in parentheses, the percentage of the ceiling that the compulsory
bytes of CSR reach; the fastest peer and its time; the speed of the plan relative to it; the time of planning, and after
how many multiplies it has paid. Below it, the geometric means and the worst.
"""

import argparse
import json
import math
import pathlib

from compare import time_text


def plan_and_peer(matrix):
    """The plan's result and the fastest peer's; None where there is none."""
    timed = [result for result in matrix["results"] if result.get("seconds") is not None]
    plan = next((result for result in timed if result["kernel"] == "plan"), None)
    peer = min((result for result in timed if result["peer"]), key=lambda result: result["seconds"], default=None)
    return plan, peer


def paid_text(result):
    after = result.get("pays_after")
    return f"{time_text(result['prepare_seconds'])}, {'–' if after is None else math.ceil(after)}"


def cells_of(matrix):
    plan, peer = plan_and_peer(matrix) if matrix else (None, None)
    if plan is None or peer is None:
        return ["–"] * 4
    ratio = peer["seconds"] / plan["seconds"]
    ratio_text = f"**{ratio:.2f}**" if ratio >= 0.995 else f"{ratio:.2f}"
    chosen = ("rcm + " if plan.get("reordered") else "") + plan.get("chosen_kernel", plan["format"])
    return [f"`{chosen}` {time_text(plan['seconds'])} ({100 * plan['fraction_of_ceiling']:.0f})",
            f"{peer['kernel']} {time_text(peer['seconds'])}", ratio_text, paid_text(plan)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    found = {}
    for file in parser.parse_args().files:
        for matrix in json.loads(file.read_text())["matrices"]:
            found.setdefault(matrix["matrix"], {})[matrix["precision"]] = matrix
    precisions = [p for p in ("double", "float") if any(p in of for of in found.values())]
    print("| matrix |" + "".join(f" plan, {p} | best peer | × | planned in, paid back after |" for p in precisions))
    print("|---|" + "---|---|---:|---:|" * len(precisions))
    for name, of in found.items():
        print(f"| {pathlib.Path(name).name.removesuffix('.gz').removesuffix('.mtx')} | "
              + " | ".join(cell for p in precisions for cell in cells_of(of.get(p))) + " |")
    for p in precisions:
        pairs = {name: plan_and_peer(of[p]) for name, of in found.items() if p in of}
        ratios = {name: peer["seconds"] / plan["seconds"] for name, (plan, peer) in pairs.items() if plan and peer}
        if not ratios:
            continue
        worst = min(ratios, key=ratios.get)
        mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
        print(f"\n{p}: {mean:.2f} in the geometric mean over {len(ratios)}, at worst {ratios[worst]:.2f} ({pathlib.Path(worst).name})", end="")
    print()


if __name__ == "__main__":
    main()
