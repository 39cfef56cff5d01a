# exechost_add_plugin(NAME SOURCES ... [MANIFEST file] [LIBS ...] [ID id] [FOLDER dir] [NO_INSTALL]):
# a backend plugin as ExecHost loads it.
#
# Makes ID.so (default: NAME) with ID.json beside it in FOLDER (default: lib/exechost/plugins of the
# build tree). The library exports exactly one symbol, gets only the SDK's headers and is not
# linked against libexechost. Works in ExecHost's own tree and after find_package(ExecHostSDK).
function(exechost_add_plugin name)
  set(map ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/plugin.map)
  cmake_parse_arguments(ARG "NO_INSTALL" "MANIFEST;ID;FOLDER" "SOURCES;LIBS" ${ARGN})
  if(NOT ARG_ID)
    set(ARG_ID ${name})
  endif()
  if(NOT ARG_FOLDER)
    set(ARG_FOLDER ${CMAKE_BINARY_DIR}/lib/exechost/plugins)
  endif()
  if(NOT ARG_MANIFEST)
    set(ARG_MANIFEST ${ARG_ID}.json)
  endif()
  get_filename_component(manifest ${ARG_MANIFEST} ABSOLUTE)

  add_library(${name} MODULE ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE exechost::sdk ${ARG_LIBS})
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if("CXX" IN_LIST languages)
    target_compile_features(${name} PRIVATE cxx_std_20)  # backend.hpp's
  endif()
  if(TARGET exechost_flags)
    target_link_libraries(${name} PRIVATE exechost_flags)  # ExecHost's own warnings and sanitizers
  endif()
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON PREFIX "" OUTPUT_NAME ${ARG_ID} LIBRARY_OUTPUT_DIRECTORY ${ARG_FOLDER}
                        C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  # Unique symbols would be shared with other plugins whatever their visibility, and pin the library.
  target_compile_options(${name} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-gnu-unique>)
  # The version script leaves one symbol; hidden visibility alone lets templates of libstdc++ out.
  target_link_options(${name} PRIVATE -Wl,-z,now,-z,relro -Wl,--version-script=${map})
  set_property(TARGET ${name} APPEND PROPERTY LINK_DEPENDS ${map})

  set(copied ${ARG_FOLDER}/${ARG_ID}.json)
  add_custom_command(OUTPUT ${copied} COMMAND ${CMAKE_COMMAND} -E make_directory ${ARG_FOLDER}
                     COMMAND ${CMAKE_COMMAND} -E copy ${manifest} ${copied}
                     # What others may write to is not loaded, and many a user's umask is 002.
                     COMMAND chmod go-w ${ARG_FOLDER} ${copied} DEPENDS ${manifest} VERBATIM)
  add_custom_command(TARGET ${name} POST_BUILD COMMAND chmod go-w $<TARGET_FILE:${name}> VERBATIM)
  add_custom_target(${name}_manifest DEPENDS ${copied})
  add_dependencies(${name} ${name}_manifest)

  set_property(GLOBAL APPEND PROPERTY EXECHOST_PLUGIN_TARGETS ${name})

  if(NOT ARG_NO_INSTALL)
    set(folder ${EXECHOST_PLUGINDIR})
    if(NOT folder)
      set(folder lib/exechost/plugins)
    endif()
    install(TARGETS ${name} LIBRARY DESTINATION ${folder})
    install(FILES ${manifest} DESTINATION ${folder} RENAME ${ARG_ID}.json)
  endif()
endfunction()
