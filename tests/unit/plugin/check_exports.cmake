# cmake -DNM=... -DLIBRARY=... -DEXPECTED=... -P check_exports.cmake: fails unless the library exports
# exactly EXPECTED (a symbol's name, or nothing).
execute_process(COMMAND ${NM} -D --defined-only --format=posix ${LIBRARY} OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
string(REGEX REPLACE "\n$" "" output "${output}")
string(REPLACE "\n" ";" lines "${output}")
set(names "")
foreach(line IN LISTS lines)
  string(REGEX REPLACE " .*" "" name "${line}")
  list(APPEND names ${name})
endforeach()
if(NOT "${names}" STREQUAL "${EXPECTED}")
  message(FATAL_ERROR "${LIBRARY} exports \"${names}\", it has to export \"${EXPECTED}\"")
endif()
