# SPDX-License-Identifier: MIT
# Where things are installed, in which component, and how they are removed again.
# What names no component is the command's: manual pages, completions, documents.
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME command)

# What is installed needs no search path of its own, but for Level Zero's layer (layers/level_zero/plugin).
set(CMAKE_SKIP_INSTALL_RPATH ON)

# From the command to the libraries: what is moved as a whole finds them still.
file(RELATIVE_PATH CKCACHE_LIBDIR ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})

# From the programs that the cache starts by itself to the command.
file(RELATIVE_PATH CKCACHE_BINDIR ${CMAKE_INSTALL_FULL_LIBEXECDIR}/ckcache ${CMAKE_INSTALL_FULL_BINDIR})

# Programs that the cache starts by itself.
add_compile_definitions(CKCACHE_LIBEXECDIR="${CMAKE_INSTALL_FULL_LIBEXECDIR}/ckcache")

# ckcache_install_setting(FILE DIRECTORY NAME COMPONENT): into DIRECTORY below /etc, or what that is
# for the prefix; `cmake --install --prefix` takes it below the prefix that it names. Loaders read
# /etc/OpenCL/layers, whatever prefix there is: below another one than /usr the file there is an
# example, and enables nothing for anybody.
function(ckcache_install_setting file directory name component)
  install(CODE "
    set(settings \"${CMAKE_INSTALL_FULL_SYSCONFDIR}\")
    if(NOT CMAKE_INSTALL_PREFIX STREQUAL \"${CMAKE_INSTALL_PREFIX}\")
      set(settings \"\${CMAKE_INSTALL_PREFIX}/etc\")
    endif()
    file(INSTALL \"${file}\" DESTINATION \"\${settings}/${directory}\" TYPE FILE RENAME ${name})"
    COMPONENT ${component})
endfunction()

# What the files for everybody name the libraries by. Below /usr the dynamic linker finds the
# architecture's own, so that those files are the same on each.
if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
  set(CKCACHE_OPENCL_NAME libckcache_opencl.so)
  set(CKCACHE_PRELOAD_NAME "/usr/$LIB/ckcache/libckcache_preload.so")
else()
  set(CKCACHE_OPENCL_NAME ${CMAKE_INSTALL_FULL_LIBDIR}/libckcache_opencl.so)
  set(CKCACHE_PRELOAD_NAME ${CMAKE_INSTALL_FULL_LIBDIR}/ckcache/libckcache_preload.so)
endif()

# The build's and the source's directories are left out of what is built, so that two builds are
# equal wherever they are made. The later option wins, for a build below the source.
add_compile_options(-ffile-prefix-map=${PROJECT_SOURCE_DIR}=.
                    -ffile-prefix-map=${PROJECT_BINARY_DIR}=.)

add_custom_target(uninstall
  COMMAND ${CMAKE_COMMAND} -DBUILD=${PROJECT_BINARY_DIR}
          -P ${CMAKE_CURRENT_LIST_DIR}/Uninstall.cmake
  COMMENT "Removing what was installed from this build"
  VERBATIM)
