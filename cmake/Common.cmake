# Flags, layout and helper functions shared by every component.
include(GNUInstallDirs)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# One layout for the build tree and for any prefix: programs find their parts relative to themselves.
set(EXECHOST_LIBDIR lib)
set(EXECHOST_LIBEXECDIR libexec/exechost)
set(EXECHOST_PLUGINDIR ${EXECHOST_LIBDIR}/exechost/plugins)

# ccache when it is there. Precompiled headers need the first four allowances; paths are hashed
# relative to the source tree, so that another checkout of it finds the same results.
find_program(EXECHOST_CCACHE ccache)
if(EXECHOST_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${EXECHOST_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()

add_library(exechost_flags INTERFACE)
target_compile_options(exechost_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror
                       -fstack-protector-strong $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>)
target_compile_options(exechost_flags INTERFACE $<$<CONFIG:Release>:-D_FORTIFY_SOURCE=2>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 reports false positives inside its own std::string for these.
  target_compile_options(exechost_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict -Wno-array-bounds -Wno-stringop-overflow>)
endif()
target_link_options(exechost_flags INTERFACE -Wl,-z,now,-z,relro)
if(EXECHOST_SANITIZE)
  target_compile_options(exechost_flags INTERFACE -fsanitize=${EXECHOST_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer
                         $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-maybe-uninitialized> $<$<COMPILE_LANG_AND_ID:C,GNU>:-Wno-maybe-uninitialized>)
  if(EXECHOST_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Asio's fences around handlers, which TSan doesn't see: its queue is locked anyway.
    target_compile_options(exechost_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-tsan>)
  endif()
  target_link_options(exechost_flags INTERFACE -fsanitize=${EXECHOST_SANITIZE})
endif()

# exechost_add_module(NAME SOURCES ... PUBLIC libs... PRIVATE libs...): one part of core, with the
# shared precompiled header.
function(exechost_add_module name)
  cmake_parse_arguments(ARG "NO_PCH" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/core/include
                             ${PROJECT_SOURCE_DIR}/sdk/include)
  target_link_libraries(${name} PUBLIC ${ARG_PUBLIC} PRIVATE exechost_flags ${ARG_PRIVATE})
  if(NOT ARG_NO_PCH)
    target_precompile_headers(${name} REUSE_FROM exechost_base)
  endif()
endfunction()

set_property(GLOBAL PROPERTY EXECHOST_SUMMARY "")
function(exechost_summary line)
  set_property(GLOBAL APPEND PROPERTY EXECHOST_SUMMARY "${line}")
endfunction()
function(exechost_print_summary)
  get_property(lines GLOBAL PROPERTY EXECHOST_SUMMARY)
  message(STATUS "ExecHost ${PROJECT_VERSION}:")
  foreach(line IN LISTS lines)
    message(STATUS "  ${line}")
  endforeach()
endfunction()
