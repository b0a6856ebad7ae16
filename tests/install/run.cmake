# Installs a build into an empty folder, builds consumer.cpp against that alone, with CMake and with pkg-config, and
# runs it and the installed nz. Needs BUILD (the build folder), WORK (a folder to use), COMPILER, GENERATOR, SANITIZE,
# LIBDIR, DATADIR, VERSION, NZ (the installed command's path, or empty), PKG_CONFIG (its path, or empty).
file(REMOVE_RECURSE ${WORK})
set(prefix ${WORK}/prefix)

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})
set(flags "")
if(SANITIZE)
  set(flags -fsanitize=${SANITIZE})
endif()
run(${CMAKE_COMMAND} -G ${GENERATOR} -S ${CMAKE_CURRENT_LIST_DIR} -B ${WORK}/build -DCMAKE_PREFIX_PATH=${prefix}
  -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CXX_FLAGS=${flags} -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF)
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/build/consumer)

if(PKG_CONFIG)
  cmake_path(GET prefix PARENT_PATH moved)
  file(RENAME ${prefix} ${moved}/moved)  # the package may be moved to another folder
  set(prefix ${moved}/moved)
  set(ENV{PKG_CONFIG_PATH} ${prefix}/${LIBDIR}/pkgconfig)
  execute_process(COMMAND ${PKG_CONFIG} --cflags --libs "nonzero = ${VERSION}" OUTPUT_VARIABLE found
    COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(found UNIX_COMMAND "${found}")
  run(${COMPILER} -std=c++20 ${flags} ${CMAKE_CURRENT_LIST_DIR}/consumer.cpp ${found} -o ${WORK}/with_pkg_config)
  run(${WORK}/with_pkg_config)
endif()

if(NZ)
  run(${prefix}/${NZ} --version)
  # Where nz can print completion files, each shell's is installed.
  execute_process(COMMAND ${prefix}/${NZ} completion bash RESULT_VARIABLE failure OUTPUT_QUIET ERROR_QUIET)
  foreach(file bash-completion/completions/nz zsh/site-functions/_nz fish/vendor_completions.d/nz.fish)
    if(NOT failure AND NOT EXISTS ${prefix}/${DATADIR}/${file})
      message(FATAL_ERROR "${DATADIR}/${file} was not installed")
    endif()
  endforeach()
endif()
