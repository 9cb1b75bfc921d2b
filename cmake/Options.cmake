# SPDX-License-Identifier: MIT
# Build options and the flags that every target shares.
option(CKCACHE_TESTS "Build the test suite" OFF)
option(CKCACHE_WERROR "Treat warnings as errors" OFF)
# Off for distributions, whose dynamic linker finds the library.
option(CKCACHE_RUNPATH "Level Zero's layer looks for libckcache beside itself" ON)
set(CKCACHE_SANITIZE "" CACHE STRING "Sanitizers for every target: address,undefined or thread")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(ppc|powerpc)")
  set(CMAKE_C_EXTENSIONS ON)	# else altivec.h, by OpenCL's headers, makes a vector of bool
endif()
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

add_compile_definitions(_GNU_SOURCE)
if(CMAKE_SIZEOF_VOID_P EQUAL 4)
  add_compile_definitions(_FILE_OFFSET_BITS=64)	# as on others: large files, inodes and limits
endif()
add_compile_options(-Wall -Wextra -Wshadow -Wformat-security -Wpointer-arith -Wvla -fno-strict-aliasing
                    $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes>
                    $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes>)
if(CKCACHE_WERROR)
  add_compile_options(-Werror)
endif()
if(CKCACHE_SANITIZE)
  add_compile_options(-fsanitize=${CKCACHE_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${CKCACHE_SANITIZE})
endif()
