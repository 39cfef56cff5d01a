# exechost_embed(TARGET NAME FILE): makes FILE's text available to TARGET as
#   extern const std::string_view exechost::embedded::NAME;   (declared in embedded/NAME.hpp)
function(exechost_embed target name file)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/embedded)
  add_custom_command(
    OUTPUT ${output}/embedded/${name}.cpp ${output}/embedded/${name}.hpp
    COMMAND ${CMAKE_COMMAND} -DINPUT=${CMAKE_CURRENT_SOURCE_DIR}/${file} -DNAME=${name} -DOUTPUT=${output}/embedded/${name}
            -P ${PROJECT_SOURCE_DIR}/cmake/EmbedFile.cmake
    DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${file} ${PROJECT_SOURCE_DIR}/cmake/EmbedFile.cmake
    VERBATIM)
  target_sources(${target} PRIVATE ${output}/embedded/${name}.cpp)
  target_include_directories(${target} PRIVATE ${output})
endfunction()
