# nonzero_add_kernel_sources(TEMPLATE PREFIX): for each line NONZERO_GPU_KERNEL(name) of nonzero/gpu/kernels.def, writes
# PREFIX_name with TEMPLATE's extension into the build folder, with @KERNEL@ replaced by the name, and adds it to the library.
# So every kernel is a translation unit of its own, and adding one is adding a line there.
function(nonzero_add_kernel_sources template prefix)
  set(list ${PROJECT_SOURCE_DIR}/nonzero/gpu/kernels.def)
  set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${list})
  file(STRINGS ${list} lines REGEX "^ *NONZERO_GPU_KERNEL\\([a-z0-9_]+\\)")
  if(NOT lines)
    message(FATAL_ERROR "${list} has no line NONZERO_GPU_KERNEL(name)")
  endif()
  cmake_path(REMOVE_EXTENSION template LAST_ONLY OUTPUT_VARIABLE source)
  cmake_path(GET source EXTENSION LAST_ONLY extension)
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^ *NONZERO_GPU_KERNEL\\(([a-z0-9_]+)\\).*" "\\1" KERNEL "${line}")
    set(written ${PROJECT_BINARY_DIR}/kernels/${prefix}_${KERNEL}${extension})
    configure_file(${template} ${written} @ONLY)
    target_sources(nonzero PRIVATE ${written})
  endforeach()
endfunction()
