# find_package(ExecHostSDK 1): the target exechost::sdk (headers only) and exechost_add_plugin().
if(NOT TARGET exechost::sdk)
  get_filename_component(_exechost_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
  add_library(exechost::sdk INTERFACE IMPORTED)
  target_include_directories(exechost::sdk INTERFACE "${_exechost_prefix}/include")
  unset(_exechost_prefix)
endif()
include("${CMAKE_CURRENT_LIST_DIR}/ExecHostPlugin.cmake")
