# Writes the completion files of the shells, as the command NZ prints them, into the folder INTO.
# One that NZ cannot print is left out.
file(REMOVE_RECURSE ${INTO})
foreach(shell_and_file bash:nz zsh:_nz fish:nz.fish)
  string(REPLACE : ";" shell_and_file ${shell_and_file})
  list(POP_FRONT shell_and_file shell file)
  execute_process(COMMAND ${NZ} completion ${shell} OUTPUT_VARIABLE text RESULT_VARIABLE failure ERROR_QUIET)
  if(NOT failure AND text)
    file(WRITE ${INTO}/${file} "${text}")
  endif()
endforeach()
