#!/usr/bin/env bash
# Measures plans and whole iterations on a GPU, for docs/performance.md.
#
#     bench/on_gpu.sh OUT [MATRIX...]    OUT: a folder for the JSON and tables of nz; MATRIX: files of real matrices, or folders
#                                        of them, cnr-2000 among them
#
# NZ is the command to measure (build/cuda/cli/nz, which `make cuda` builds). Prints Markdown tables.
set -euo pipefail
[ $# -gt 0 ] || { sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 2; }
out=$1
shift
here=$(dirname "$0")
nz=${NZ:-$here/../build/cuda/cli/nz}
mkdir -p "$out"
ours=plan,csr_merge,csr_groups,csr_vector,csr_scalar,sell_slices,hubs_slices
peers=cusparse_csr_alg1,cusparse_csr_alg2,cusparse_csr,cusparse_coo,cusparse_sell

# A table, and in OUT the figures of all kernels. NAME, then the words of nz bench.
plans() {
  local name=$1
  shift
  printf '\n### %s\n\n' "$name"
  "$nz" bench --device cuda --precision both --kernels "$ours,$peers" --json "$out/$name.json" "$@" >"$out/$name.txt"
  python3 "$here/plans.py" "$out/$name.json"
  printf '\n```\n%s\n```\n' "$(sed -n '/^  summary, /,$p' "$out/$name.txt")"
}

plans suite --suite --replay --seconds 0.02
if [ $# -gt 0 ]; then
  plans real --seconds 0.01 "$@"
  plans real-replayed --replay --seconds 0.01 "$@"
  plans real-random --replay --values random --seconds 0.01 "$@"
fi
printf '\n### PageRank, ms of an iteration\n\n'
graphs=(rmat:22)
if [ $# -gt 0 ]; then mapfile -t -O 1 graphs < <(find "$@" -name '*cnr-2000*'); fi
python3 "$here/pagerank.py" --nz "$nz" --device cuda --iterations 528 --rounds 3 "${graphs[@]}" | tee "$out/pagerank.md"
printf '\n### Heat, a step\n\n'
python3 "$here/heat.py" --nz "$nz" --device cuda | tee "$out/heat.md"
printf '\n### Conjugate gradients, an iteration\n\n'
python3 "$here/cg.py" --nz "$nz" --device cuda --rounds 1 poisson2d:300 poisson3d:256 | tee "$out/cg.md"
