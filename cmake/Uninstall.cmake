# SPDX-License-Identifier: MIT
# Removes what the last installation from a build put down (its manifest names it), with DESTDIR as
# it was then. Directories go when they are empty and either carry this project's name or lie below
# a DESTDIR; others may have been there before.
#   cmake -DBUILD=DIRECTORY -P Uninstall.cmake
cmake_minimum_required(VERSION 3.20)

# Not the manifests of single components: packaging writes them too, and installs nothing.
set(manifest ${BUILD}/install_manifest.txt)
if(NOT EXISTS ${manifest})
  message(FATAL_ERROR "Nothing was installed from ${BUILD}: it has no install_manifest.txt")
endif()
file(STRINGS ${manifest} files)

set(root $ENV{DESTDIR})
set(directories)
foreach(file IN LISTS files)
  if(EXISTS ${root}${file} OR IS_SYMLINK ${root}${file})
    file(REMOVE ${root}${file})
    message(STATUS "Removed ${root}${file}")
  endif()
  get_filename_component(directory ${file} DIRECTORY)
  while(NOT directory STREQUAL "/")
    get_filename_component(name ${directory} NAME)
    if(root OR name MATCHES "^(ckcache|cachecore)$")
      list(APPEND directories ${directory})
    endif()
    get_filename_component(directory ${directory} DIRECTORY)
  endwhile()
endforeach()

# The deepest first: a longer name is never above a shorter one.
list(REMOVE_DUPLICATES directories)
list(SORT directories ORDER DESCENDING)
foreach(directory IN LISTS directories)
  file(GLOB rest LIST_DIRECTORIES true ${root}${directory}/* ${root}${directory}/.[!.]*)
  if(IS_DIRECTORY ${root}${directory} AND NOT rest)
    file(REMOVE_RECURSE ${root}${directory})
  endif()
endforeach()
file(REMOVE ${manifest})
