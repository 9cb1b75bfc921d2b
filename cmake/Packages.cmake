# SPDX-License-Identifier: MIT
# Binary packages by CPack: `sh tools/build_packages.sh` makes them as a distribution would, `cpack
# -G DEB` in a build with the prefix /usr as that build was configured. Each component is a package;
# cmake/packages/ holds what CPack cannot say of a .deb.
set(CKCACHE_PACKAGE_CONTACT "The ckcache authors <ckcache@example.org>" CACHE STRING
  "Maintainer's name and address in packages")
set(CKCACHE_PACKAGE_RELEASE 1 CACHE STRING "Revision of the packages of this version")
set(packages ${CMAKE_CURRENT_LIST_DIR}/packages)

set(CPACK_PACKAGE_CONTACT ${CKCACHE_PACKAGE_CONTACT})
set(CPACK_PACKAGE_VENDOR "The ckcache authors")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX ${CMAKE_INSTALL_PREFIX})
set(CPACK_PROJECT_CONFIG_FILE ${packages}/config.cmake)
set(CPACK_POST_BUILD_SCRIPTS ${packages}/finish.cmake)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_COMPONENTS_ALL command opencl)
set(CPACK_COMPONENTS_GROUPING IGNORE)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${CKCACHE_PACKAGE_RELEASE})
set(CPACK_DEBIAN_PACKAGE_SOURCE ckcache)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Splits what the programs' debug information is off; -dbgsym packages as Debian's own.
set(CPACK_DEBIAN_DEBUGINFO_PACKAGE ON)

set(CPACK_RPM_COMPONENT_INSTALL ON)
set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_RELEASE ${CKCACHE_PACKAGE_RELEASE})
set(CPACK_RPM_PACKAGE_LICENSE MIT)
set(CPACK_RPM_PACKAGE_GROUP Unspecified)
set(CPACK_RPM_PACKAGE_RELOCATABLE OFF)
# Directories that belong to others.
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION
  ${CMAKE_INSTALL_FULL_SYSCONFDIR}/default ${CMAKE_INSTALL_FULL_SYSCONFDIR}/profile.d
  ${CMAKE_INSTALL_FULL_SYSCONFDIR}/OpenCL ${CMAKE_INSTALL_PREFIX}/lib/systemd
  ${CMAKE_INSTALL_PREFIX}/lib/systemd/user-environment-generators
  ${CMAKE_INSTALL_PREFIX}/lib/systemd/user-generators
  ${CMAKE_INSTALL_PREFIX}/lib/systemd/user ${CMAKE_INSTALL_PREFIX}/lib/systemd/system
  ${CMAKE_INSTALL_FULL_LIBDIR}/cmake ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig)

set(paragraph "OpenCL and Level Zero programs compile their kernels each time they start.
 ckcache keeps what the driver compiled, for unmodified programs: they compile
 their kernels once per machine instead of once per run.")

# ckcache_package(COMPONENT SECTION DEB RPM SUMMARY TEXT): what both kinds of packages say of it.
function(ckcache_package component section deb rpm summary text)
  string(TOUPPER ${component} upper)
  # A paragraph of its own for what this package is; CPack indents the lines.
  string(REPLACE "\n " "\n" description "${summary}\n${paragraph}\n.\n${text}")
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${deb} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_DESCRIPTION "${description}" PARENT_SCOPE)
  string(REPLACE "\n " "\n" description "${paragraph}\n\n${text}")
  set(CPACK_RPM_${upper}_PACKAGE_NAME ${rpm} PARENT_SCOPE)
  set(CPACK_RPM_${upper}_PACKAGE_SUMMARY "${summary}" PARENT_SCOPE)
  set(CPACK_RPM_${upper}_PACKAGE_DESCRIPTION "${description}" PARENT_SCOPE)
endfunction()

set(same_version "(= ${PROJECT_VERSION}-${CKCACHE_PACKAGE_RELEASE})")
set(same_rpm "= ${PROJECT_VERSION}-${CKCACHE_PACKAGE_RELEASE}")

ckcache_package(command utils ckcache ckcache "cache for compiled compute kernels: command"
"This package has the command that runs programs with the cache, shows what
 it did, and looks after it; and a switch for everybody on the machine.")
set(CPACK_DEBIAN_COMMAND_PACKAGE_DEPENDS "libckcache-opencl ${same_version}")
# Loaded at first use, where there is a remote tier: nothing that links says so.
set(sodium "libsodium23")
set(CPACK_DEBIAN_COMMAND_PACKAGE_RECOMMENDS ${sodium})
set(CPACK_DEBIAN_OPENCL_PACKAGE_RECOMMENDS ${sodium})
set(CPACK_RPM_COMMAND_PACKAGE_REQUIRES "ckcache-opencl ${same_rpm}")
# Which packages leave the mark, for rpm; for a .deb finish_deb.sh says it.
file(STRINGS ${PROJECT_SOURCE_DIR}/tools/service/watched watched REGEX "^/|^LIBDIR")
list(TRANSFORM watched REPLACE "^LIBDIR" "${CMAKE_INSTALL_FULL_LIBDIR}")
list(TRANSFORM watched REPLACE "/usr/lib/llvm-NN"
  "${CMAKE_INSTALL_FULL_LIBDIR}/libLLVM ${CMAKE_INSTALL_FULL_LIBDIR}/llvm")
list(JOIN watched " " watched)
configure_file(${packages}/rpm_triggers.in ${CMAKE_BINARY_DIR}/rpm_triggers @ONLY)
set(CPACK_RPM_COMMAND_POST_UNINSTALL_SCRIPT_FILE ${CMAKE_BINARY_DIR}/rpm_triggers)
set(CPACK_RPM_COMMAND_USER_FILELIST
  "%config(noreplace) ${CMAKE_INSTALL_FULL_SYSCONFDIR}/default/ckcache"
  "%config(noreplace) ${CMAKE_INSTALL_FULL_SYSCONFDIR}/profile.d/ckcache.sh")

ckcache_package(opencl libs libckcache-opencl ckcache-opencl
"cache for compiled compute kernels: OpenCL layer"
"This package has the layer for OpenCL. ICD loaders that read
 /etc/OpenCL/layers (Khronos' own, ocl-icd since 2.3.2) load it for every
 program; CKCACHE_DISABLE=1 switches it off.")
set(CPACK_DEBIAN_OPENCL_PACKAGE_ENHANCES "ocl-icd-libopencl1")
set(CPACK_DEBIAN_OPENCL_PACKAGE_SUGGESTS "ckcache")
set(CPACK_RPM_OPENCL_USER_FILELIST "%config(noreplace) ${CKCACHE_LAY_DIR}/ckcache.lay")

if(TARGET ckcache_level_zero)
  list(APPEND CPACK_COMPONENTS_ALL level_zero)
  ckcache_package(level_zero libs libckcache-level-zero ckcache-level-zero
"cache for compiled compute kernels: Level Zero layer"
"This package has the layer for Level Zero, what lets layers in there, and a
 library to preload that enables it. Nothing is enabled by installing it.")
  set(CPACK_DEBIAN_LEVEL_ZERO_PACKAGE_ENHANCES "libze1")
  set(CPACK_DEBIAN_LEVEL_ZERO_PACKAGE_SUGGESTS "ckcache")
  set(CPACK_DEBIAN_LEVEL_ZERO_PACKAGE_RECOMMENDS ${sodium})
  set(CPACK_DEBIAN_COMMAND_PACKAGE_RECOMMENDS "libckcache-level-zero ${same_version}, ${sodium}")
endif()

if(TARGET ckcache-storage-redis OR TARGET ckcache-storage-http)
  list(APPEND CPACK_COMPONENTS_ALL storage)
  ckcache_package(storage utils ckcache-storage ckcache-storage
"cache for compiled compute kernels: storage helpers"
"This package has the programs that connect machines to a cache they share, on
 Redis, Valkey or an HTTP server. ccache can use them too.")
  set(CPACK_DEBIAN_COMMAND_PACKAGE_SUGGESTS "ckcache-storage")
  set(CPACK_DEBIAN_STORAGE_PACKAGE_ENHANCES "ckcache, ccache")
endif()

list(APPEND CPACK_COMPONENTS_ALL library library_dev)
ckcache_package(library libs libckcache1 libckcache1
"cache for compiled compute kernels: library"
"This package has the library for frameworks that want the cache in their own
 hands.")
ckcache_package(library_dev libdevel libckcache-dev ckcache-devel
"cache for compiled compute kernels: development files"
"This package has what is needed to build programs with the library for
 frameworks that want the cache in their own hands.")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_RECOMMENDS ${sodium})
set(CPACK_DEBIAN_LIBRARY_DEV_PACKAGE_DEPENDS "libckcache1 ${same_version}")
set(CPACK_RPM_LIBRARY_DEV_PACKAGE_REQUIRES "libckcache1 ${same_rpm}")

if(TARGET cachecore_public)
  list(APPEND CPACK_COMPONENTS_ALL cachecore)
  ckcache_package(cachecore libdevel libcachecore-dev cachecore-devel
"cache for compiled compute kernels: library for runtimes"
"This package has the cache as a static library and a header, for runtimes
 that keep handles of their own.")
  set(CPACK_DEBIAN_CACHECORE_PACKAGE_DEPENDS "libdeflate-dev, libxxhash-dev")
  set(CPACK_DEBIAN_CACHECORE_PACKAGE_RECOMMENDS ${sodium})
  # An .rpm takes these from the file of pkg-config.
endif()
include(CPack)
