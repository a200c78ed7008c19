# What every target of ours shares: C17 with GNU extensions, warnings as errors, sanitizers.

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

add_library(optrail_flags INTERFACE)
target_compile_definitions(optrail_flags INTERFACE _GNU_SOURCE OPTRAIL_VERSION="${PROJECT_VERSION}")
target_compile_options(optrail_flags INTERFACE
  -Wall -Wextra -Werror -Wshadow -Wpointer-arith -Wvla -Wformat=2
  $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition>
  -fno-common -fstack-protector-strong)
if(OPTRAIL_SANITIZE)
  target_compile_options(optrail_flags INTERFACE
    -fsanitize=${OPTRAIL_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -O1)
  target_link_options(optrail_flags INTERFACE -fsanitize=${OPTRAIL_SANITIZE})
endif()

# optrail_library(NAME SOURCES... [USES targets...] [PRIVATE targets...])
# A folder's static library. Its headers are seen by those that link it and by nobody else.
function(optrail_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;USES;PRIVATE" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC ${ARG_USES} PRIVATE optrail_flags ${ARG_PRIVATE})
endfunction()
