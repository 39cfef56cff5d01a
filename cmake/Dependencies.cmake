# What every component may use. Each plugin finds its own.
find_package(Boost 1.74 REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED CONFIG)
find_package(fmt REQUIRED CONFIG)
find_package(Threads REQUIRED)

# Not by pkg-config: its flags are not those of the precompiled header.
find_library(EXECHOST_RE2_LIBRARY re2 REQUIRED)
find_path(EXECHOST_RE2_INCLUDE re2/re2.h REQUIRED)
add_library(exechost_re2 INTERFACE)
target_include_directories(exechost_re2 SYSTEM INTERFACE ${EXECHOST_RE2_INCLUDE})
target_link_libraries(exechost_re2 INTERFACE ${EXECHOST_RE2_LIBRARY})

# Boost as system headers; Asio without deprecated parts.
add_library(exechost_boost INTERFACE)
target_include_directories(exechost_boost SYSTEM INTERFACE ${Boost_INCLUDE_DIRS})
target_compile_definitions(exechost_boost INTERFACE BOOST_ASIO_NO_DEPRECATED)
target_link_libraries(exechost_boost INTERFACE Threads::Threads)
