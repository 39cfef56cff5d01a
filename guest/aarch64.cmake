# The same guest for aarch64, as one more artifact, where a cross compiler is found. It is not a build of its own:
# two compilers in one, since everything else stays this machine's.
find_program(EXECHOST_AARCH64_CXX aarch64-linux-gnu-g++)
mark_as_advanced(EXECHOST_AARCH64_CXX)
if(NOT EXECHOST_AARCH64_CXX OR CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  exechost_summary("guest: not for aarch64 (no aarch64-linux-gnu-g++)")
  return()
endif()

set(aarch64_guest ${CMAKE_BINARY_DIR}/${EXECHOST_LIBEXECDIR}/aarch64/exechost-guest)
set(aarch64_objects)
foreach(source IN LISTS guest_sources)
  string(REPLACE "/" "_" object ${source})
  set(object ${CMAKE_CURRENT_BINARY_DIR}/aarch64/${object}.o)
  add_custom_command(
    OUTPUT ${object}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_CURRENT_BINARY_DIR}/aarch64
    COMMAND ${EXECHOST_AARCH64_CXX} -std=c++20 ${guest_warnings} ${guest_options} -I${PROJECT_SOURCE_DIR} -I${guest_generated}
            -MD -MF ${object}.d -c ${CMAKE_CURRENT_SOURCE_DIR}/${source} -o ${object}
    DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${source} ${guest_generated}/seccomp_filters.hpp
    DEPFILE ${object}.d
    VERBATIM)
  list(APPEND aarch64_objects ${object})
endforeach()
add_custom_command(
  OUTPUT ${aarch64_guest}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/${EXECHOST_LIBEXECDIR}/aarch64
  COMMAND ${EXECHOST_AARCH64_CXX} ${guest_link_options} ${aarch64_objects} -o ${aarch64_guest}
  DEPENDS ${aarch64_objects}
  VERBATIM)
add_custom_target(exechost-guest-aarch64 ALL DEPENDS ${aarch64_guest})
install(PROGRAMS ${aarch64_guest} DESTINATION ${EXECHOST_LIBEXECDIR}/aarch64)
exechost_summary("guest: exechost-guest (static, aarch64)")
