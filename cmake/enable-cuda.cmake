# Decides whether to build what runs on NVIDIA GPUs, and sets NONZERO_HAS_CUDA: finds nvcc, also where it is not in the
# PATH, chooses what to compile for, and enables the language. Included from the top level: a language must be enabled
# where all targets that use it can see it.
set(NONZERO_HAS_CUDA OFF)
if(NONZERO_CUDA STREQUAL AUTO OR NONZERO_CUDA)
  find_program(CMAKE_CUDA_COMPILER nvcc HINTS ENV CUDACXX ENV CUDA_PATH ENV CUDA_HOME PATHS /usr/local/cuda
    PATH_SUFFIXES bin)
  if(CMAKE_CUDA_COMPILER)
    set(NONZERO_HAS_CUDA ON)
  elseif(NONZERO_CUDA STREQUAL AUTO)
    message(STATUS "No nvcc in the PATH, CUDA_PATH or /usr/local/cuda/bin: building without CUDA")
  else()
    message(FATAL_ERROR "NONZERO_CUDA is on, but there is no nvcc in the PATH, CUDA_PATH or /usr/local/cuda/bin; "
      "install the CUDA toolkit or set CMAKE_CUDA_COMPILER")
  endif()
endif()
if(NOT NONZERO_HAS_CUDA)
  return()
endif()

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
