# SPDX-License-Identifier: MIT
# Read by cpack for each kind of package.
if(CPACK_GENERATOR STREQUAL "RPM")
  # Of a .deb the debug information becomes a package of its own instead.
  set(CPACK_STRIP_FILES ON)
  # Nothing needs the plugins by their names; the slot's is that of another package's library.
  # Times, the builder's name and the order of files are those of each build otherwise.
  set(CPACK_RPM_SPEC_MORE_DEFINE "%global __provides_exclude ^lib(ckcache_[a-z_]+|ze_validation_layer)[.]so
%define _buildhost ckcache
%define use_source_date_epoch_as_buildtime 1
%define clamp_mtime_to_source_date_epoch 1
%define _build_id_links none")
endif()
