# Decides whether to build what runs on NVIDIA GPUs, and sets NONZERO_HAS_CUDA: finds nvcc, also where it is not in the
# PATH, chooses what to compile for, and enables the language. With NONZERO_CUDA=AUTO, an nvcc that is missing, too old or
# broken means a build without CUDA. Included from the top level: a language must be enabled where all targets that use
# it can see it.
set(NONZERO_HAS_CUDA OFF)
if(NOT (NONZERO_CUDA STREQUAL AUTO OR NONZERO_CUDA))
  return()
endif()

find_program(CMAKE_CUDA_COMPILER nvcc HINTS ENV CUDACXX ENV CUDA_PATH ENV CUDA_HOME PATHS /usr/local/cuda PATH_SUFFIXES bin)
if(NOT CMAKE_CUDA_COMPILER)
  set(problem "there is no nvcc in the PATH, CUDA_PATH or /usr/local/cuda/bin")
else()
  # C++20 came with 12.0. That it compiles for this host is tried before CMake does so, for which a failure is fatal.
  execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --version OUTPUT_VARIABLE version ERROR_QUIET)
  string(REGEX MATCH "release ([0-9]+\\.[0-9]+)" version "${version}")
  file(WRITE ${PROJECT_BINARY_DIR}/try-cuda.cu "__global__ void nothing() {}\nint main() { nothing<<<1, 1>>>(); }\n")
  execute_process(COMMAND ${CMAKE_CUDA_COMPILER} -std=c++20 -c ${PROJECT_BINARY_DIR}/try-cuda.cu
    -o ${PROJECT_BINARY_DIR}/try-cuda.o RESULT_VARIABLE failure OUTPUT_QUIET ERROR_QUIET)
  if("${CMAKE_MATCH_1}" VERSION_LESS 12.0)
    set(problem "${CMAKE_CUDA_COMPILER} is older than CUDA 12.0 (${CMAKE_MATCH_1})")
  elseif(failure)
    set(problem "${CMAKE_CUDA_COMPILER} cannot compile C++20 with this host's compiler")
  endif()
endif()
if(problem AND NONZERO_CUDA STREQUAL AUTO)
  message(STATUS "Building without CUDA: ${problem}")
  unset(CMAKE_CUDA_COMPILER CACHE)
  return()
elseif(problem)
  message(FATAL_ERROR "NONZERO_CUDA is on, but ${problem}; install the CUDA toolkit or set CMAKE_CUDA_COMPILER")
endif()
set(NONZERO_HAS_CUDA ON)

if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
  if(EXISTS /dev/nvidiactl)
    set(CMAKE_CUDA_ARCHITECTURES native)
  else()
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90)  # and, through its PTX, all that came after 9.0
  endif()
endif()

enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # nvcc has had C++20 since 12.0, but CMake 3.25 does not know it
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
endif()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_EXTENSIONS OFF)
