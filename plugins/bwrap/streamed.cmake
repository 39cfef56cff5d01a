# exechost_add_streamed_bwrap(NAME FOLDER): the bwrap backend once more, for tests and measurements, as one that can't
# pass descriptors: it is called "streamed" and claims guest = stream, so its commands go through frames.
function(exechost_add_streamed_bwrap name folder)
  set(bwrap ${CMAKE_CURRENT_FUNCTION_LIST_DIR})
  file(READ ${bwrap}/bwrap.json manifest)
  string(REPLACE "\"guest\": \"control_fd\"" "\"guest\": \"stream\"" manifest "${manifest}")
  string(REPLACE "\"id\": \"bwrap\"" "\"id\": \"streamed\"" manifest "${manifest}")
  string(REPLACE "TERMINAL_BWRAP_PATH" "TERMINAL_STREAMED_PATH" manifest "${manifest}")
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/streamed.json CONTENT "${manifest}" @ONLY)
  exechost_add_plugin(${name} ID streamed SOURCES ${bwrap}/plugin.cpp ${bwrap}/probe.cpp ${bwrap}/sandbox.cpp
                      MANIFEST ${CMAKE_CURRENT_BINARY_DIR}/streamed.json FOLDER ${folder} NO_INSTALL
                      LIBS exechost_flags exechost_bwrap_parts)
  target_compile_definitions(${name} PRIVATE EXECHOST_BWRAP_ID="streamed")
endfunction()
