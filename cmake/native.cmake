# nonzero_native: how programs are compiled that are for this machine only, as all that nz is compared with.
include_guard(GLOBAL)
include(CheckCXXCompilerFlag)
find_package(OpenMP REQUIRED COMPONENTS CXX)
check_cxx_compiler_flag(-march=native NONZERO_HAS_MARCH_NATIVE)
add_library(nonzero_native INTERFACE)
target_compile_options(nonzero_native INTERFACE -O3 $<$<BOOL:${NONZERO_HAS_MARCH_NATIVE}>:-march=native>
  # GCC 12 warns of its own header of AVX-512 (its bug 105593).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
target_link_libraries(nonzero_native INTERFACE OpenMP::OpenMP_CXX)
