# find_package(ExecHostSDK 1): the target exechost::sdk (headers only), exechost_add_plugin(), and
# EXECHOST_TESTING_PLUGINS, the folder of the scripted backend (docs/backends/scripted.md).
get_filename_component(EXECHOST_TESTING_PLUGINS "${CMAKE_CURRENT_LIST_DIR}/../../exechost/testing" ABSOLUTE)
if(NOT TARGET exechost::sdk)
  get_filename_component(_exechost_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
  add_library(exechost::sdk INTERFACE IMPORTED)
  target_include_directories(exechost::sdk INTERFACE "${_exechost_prefix}/include")
  unset(_exechost_prefix)
endif()
include("${CMAKE_CURRENT_LIST_DIR}/ExecHostPlugin.cmake")
