"""Feeds .ci/check-includes small trees and expects every broken rule, and nothing else, to be reported."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECKER = pathlib.Path(__file__).resolve().parents[2] / ".ci" / "check-includes"

RIGHT = [
    ("nonzero/io/read.cpp", "<nonzero/core/types.hpp>"),
    ("nonzero/io/read.cpp", "<nonzero/core/threads.hpp>"),
    ("nonzero/io/read.cpp", "<vector>"),
    ("nonzero/io/read.cpp", '"scan.hpp"'),
    ("nonzero/gpu/kernels/csr_vector.cuh", "<nonzero/gpu/threads.cuh>"),
    ("nonzero/gpu/warp_slices_internal.hpp", "<nonzero/core/threads.hpp>"),
    ("nonzero/gpu/kernels/warp_packed_slices.cuh", "<nonzero/core/threads.hpp>"),
    ("nonzero/gpu/emulator/kernels.cpp", "<nonzero/gpu/kernels/csr_vector.cuh>"),
    ("nonzero/gpu/emulator/launch_internal.hpp", "<nonzero/gpu/emulator/grid_internal.hpp>"),
    ("nonzero/gpu/cuda/csr_kernels.cu", "<nonzero/gpu/cuda/kernels_internal.hpp>"),
    ("nonzero/gpu/convert/device_slices.cuh", "<nonzero/gpu/warp_slices_internal.hpp>"),
    ("nonzero/io/assemble.cpp", "<nonzero/formats/invariants_internal.hpp>"),
    ("nonzero/plan/kernels.cpp", "<nonzero/cpu/csr_rows.hpp>"),
    ("nonzero/gpu/cuda/memory.cu", "<cuda_runtime.h>"),
    ("nonzero/gpu/cuda/memory.cu", "<nonzero/gpu/kernels/csr_vector.cuh>"),
    ("tests/gpu/cuda/graph_test.cpp", "<cuda_runtime_api.h>"),
    ("tests/gpu/cuda/launch_test.cpp", "<nonzero/gpu/cuda/gpu.cuh>"),
    ("nonzero/gpu/cuda/streams.cu", "<nvtx3/nvToolsExt.h>"),
    ("tests/gpu/threads_test.cpp", "<nonzero/gpu/threads.cuh>"),
    ("nonzero/io/read.cpp", "<future>"),
    ("nonzero/cpu/csr_rows.cpp", "<hwy/highway.h>"),
    ("nonzero/gpu/emulator/fibers.cpp", "<boost/context/fiber.hpp>"),
    ("nonzero/nonzero.hpp", "<nonzero/io/read.hpp>"),
    ("cli/info.cpp", "<nonzero/gpu/cuda/devices.hpp>"),
    ("cli/info.cpp", "<CLI/CLI.hpp>"),
    ("tests/formats/csr_test.cpp", "<nonzero/formats/invariants_internal.hpp>"),
    ("tests/formats/csr_test.cpp", '"tests/battery/battery.hpp"'),
    ("tests/formats/csr_test.cpp", "<tests/battery/battery.hpp>"),
    ("bench/read.cpp", "<Eigen/Sparse>"),
    ("bench/read.cpp", "<nlohmann/json.hpp>"),
    ("nonzero/plan/choices.cpp", "<nlohmann/json.hpp>"),
    ("nonzero/io/read.cpp", "<nonzero/io/scan_internal.hpp>"),
]

WRONG = [
    ("nonzero/core/types.hpp", "<nonzero/formats/csr.hpp>", "core may not include formats"),
    ("nonzero/formats/csr.cpp", "<nonzero/io/read.hpp>", "formats may not include io"),
    ("nonzero/formats/csr.cpp", "<nonzero/core/threads.hpp>", "threads only under"),
    ("nonzero/formats/csr.cpp", "<omp.h>", "threads only under"),
    ("nonzero/reference/multiply.cpp", "<nonzero/plan/kernels.hpp>", "reference may not include plan"),
    ("nonzero/cpu/csr_rows.cpp", "<nonzero/gpu/kernels/csr_vector.cuh>", "cpu may not include gpu"),
    ("nonzero/gpu/kernels/csr_vector.cuh", "<nonzero/gpu/emulator/lanes.hpp>", "gpu may not include gpu/emulator"),
    ("nonzero/gpu/emulator/lanes.cpp", "<nonzero/gpu/cuda/memory.hpp>", "gpu/emulator may not include gpu/cuda"),
    ("nonzero/gpu/kernels/csr_vector.cuh", "<cuda_runtime.h>", "CUDA only under nonzero/gpu/cuda"),
    ("cli/list.cpp", "<cuda_runtime.h>", "CUDA only under nonzero/gpu/cuda"),
    ("tests/gpu/devices_test.cpp", "<cuda_runtime.h>", "CUDA only under nonzero/gpu/cuda, tests/gpu/cuda"),
    ("nonzero/gpu/cuda/memory.hpp", "<cuda_runtime.h>", "no CUDA type in a header"),
    ("nonzero/io/read.cpp", "<immintrin.h>", "SIMD only under nonzero/cpu"),
    ("nonzero/io/read.cpp", "<arm_neon.h>", "SIMD only under nonzero/cpu"),
    ("nonzero/plan/plan.cpp", "<hwy/highway.h>", "SIMD only under nonzero/cpu"),
    ("nonzero/gpu/kernels/csr_vector.cuh", "<boost/context/fiber.hpp>", "Boost.Context only under nonzero/gpu/emulator"),
    ("nonzero/algorithms/cg.cpp", "<petscmat.h>", "PETSc and MPI only under bench"),
    ("nonzero/io/read.cpp", "<CLI/CLI.hpp>", "what only programs need only under cli"),
    ("nonzero/plan/plan.cpp", "<CLI/CLI.hpp>", "what only programs need only under cli"),
    ("nonzero/io/read.cpp", "<nlohmann/json.hpp>", "JSON only under nonzero/plan, cli"),
    ("nonzero/io/read.cpp", "<nonzero/nonzero.hpp>", "io may not include nonzero.hpp"),
    ("nonzero/io/read.cpp", "<cli/progress.hpp>", "nothing but the tests includes cli"),
    ("nonzero/io/read.cpp", "<nonzero/utils/text.hpp>", "in no folder of the architecture"),
    ("nonzero/utils/text.cpp", "<vector>", "in no folder of the architecture"),
    ("nonzero/io/read.cpp", '"../formats/csr.hpp"', "a quoted include stays in its own folder"),
    ("cli/info.cpp", '"nonzero/formats/csr.hpp"', "a quoted include stays in its own folder"),
    ("cli/info.cpp", "<nonzero/cpu/csr_rows.hpp>", "cli may include public headers only"),
    ("examples/heat.cpp", "<nonzero/formats/invariants_internal.hpp>", "examples may include public headers only"),
    ("bench/read.cpp", "<nonzero/io/scan_internal.hpp>", "bench may include public headers only"),
    ("bench/spmv.cpp", "<tests/battery/battery.hpp>", "nothing but the tests includes tests"),
    ("nonzero/plan/kernels.cpp", "<nonzero/gpu/kernels/csr_vector.cuh>", "only nvcc and the emulator compile CUDA C++"),
    ("nonzero/gpu/cuda/devices.cpp", "<nonzero/gpu/cuda/gpu.cuh>", "only nvcc and the emulator compile CUDA C++"),
    ("nonzero/gpu/cuda/kernels_internal.hpp", "<nonzero/gpu/kernels.cuh>", "only nvcc and the emulator"),
    ("nonzero/gpu/cuda/device.hpp", "<nonzero/gpu/cuda/gpu.cuh>", "a public header may include public headers only"),
    ("nonzero/gpu/emulator/device.hpp", "<nonzero/gpu/kernels.cuh>", "a public header may include public headers only"),
    ("nonzero/io/read.hpp", "<nonzero/io/scan_internal.hpp>", "a public header may include public headers only"),
    ("nonzero/io/read.cpp", "<nonzero/formats/invariants_internal.hpp>", "an _internal.hpp stays in its folder and those below it"),
    ("nonzero/plan/kernels.cpp", "<nonzero/gpu/cuda/kernels_internal.hpp>", "an _internal.hpp stays in its folder and those below it"),
    ("nonzero/gpu/kernels/csr_vector.cuh", "<curand.h>", "CUDA only under nonzero/gpu/cuda"),
    ("nonzero/gpu/kernels/csr_vector.cuh", "<curand_kernel.h>", "CUDA only under nonzero/gpu/cuda"),
    ("nonzero/plan/measure.cpp", "<nvtx3/nvToolsExt.h>", "CUDA only under nonzero/gpu/cuda"),
    ("nonzero/formats/csr.cpp", "<future>", "threads only under"),
    ("nonzero/reference/multiply.cpp", "<condition_variable>", "threads only under"),
    ("nonzero/reference/multiply.cpp", "<shared_mutex>", "threads only under"),
]

WATCHED = [
    "__shared__ shared<V> window[threads_per_block];",
    "__shared__ shared_array<V, 256> window;",
    "__shared__ nz::gpu::shared<int> cell;",
    "// In `__shared__` memory.",
    "int x = 0;  // __shared__ int x",
]

UNWATCHED = [
    "__shared__ V window[threads_per_block];",
    "extern __shared__ double window[];",
    "__shared__ std::shared_array<V, 256> window;",
    "static __shared__ shared_counter next;",
    "__shared__ shared<V> a; __shared__ V b;",
]


def report(path, header):
    """The checker's exit status and output for a tree of one file, whose line 3 is the include."""
    return report_of_line(path, f"  #  include {header}  // why")


def report_of_line(path, line):
    """The same for any third line."""
    with tempfile.TemporaryDirectory() as root:
        file = pathlib.Path(root, path)
        file.parent.mkdir(parents=True)
        file.write_text(f"#pragma once\n// #include <nothing>\n{line}\n")
        done = subprocess.run([sys.executable, CHECKER, root], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout


class TheChecker(unittest.TestCase):
    def test_says_nothing_of_what_follows_the_arrows(self):
        for path, header in RIGHT:
            with self.subTest(path=path, header=header):
                self.assertEqual(report(path, header), (0, "every include follows the arrows\n"))

    def test_reports_file_line_and_arrow_of_what_does_not(self):
        for path, header, problem in WRONG:
            with self.subTest(path=path, header=header):
                status, output = report(path, header)
                self.assertEqual(status, 1)
                self.assertRegex(output, rf"^{path}:[13]: ")
                self.assertIn(problem, output)
                self.assertEqual(output.count("\n"), 1)

    def test_reports_shared_memory_that_the_emulator_cannot_watch(self):
        for line in WATCHED:
            with self.subTest(line=line):
                self.assertEqual(report_of_line("nonzero/gpu/csr_rows.cuh", line)[0], 0)
        for line in UNWATCHED:
            with self.subTest(line=line):
                self.assertEqual(
                    report_of_line("nonzero/gpu/csr_rows.cuh", line),
                    (1, "nonzero/gpu/csr_rows.cuh:3: __shared__ memory is a shared<...> or a shared_array<...>\n"))
        self.assertEqual(report_of_line("tests/gpu/shared_test.cpp", UNWATCHED[0])[0], 0)

    def test_reports_a_kernel_that_highway_would_compile_from_another_file(self):
        for path, line, expected in [
            ("nonzero/cpu/csr_rows.cpp", '#define HWY_TARGET_INCLUDE "nonzero/cpu/csr_rows.cpp"', ""),
            ("nonzero/cpu/csr_rows.cpp", "#undef HWY_TARGET_INCLUDE", ""),
            ("nonzero/cpu/csr_rows.cpp", '#define HWY_TARGET_INCLUDE "nonzero/cpu/ell_rows.cpp"',
             "HWY_TARGET_INCLUDE must name this file, not nonzero/cpu/ell_rows.cpp"),
            ("nonzero/cpu/csr_rows.cpp", '#  define HWY_TARGET_INCLUDE "csr_rows.cpp"',
             "HWY_TARGET_INCLUDE must name this file, not csr_rows.cpp"),
        ]:
            with self.subTest(line=line):
                status, output = report_of_line(path, line)
                self.assertEqual(status, 1 if expected else 0)
                if expected:
                    self.assertEqual(output, f"{path}:3: {expected}\n")


if __name__ == "__main__":
    unittest.main()
