# SPDX-License-Identifier: MIT
# Run by cpack once the packages are made: completes those for Debian.
if(CPACK_GENERATOR STREQUAL "DEB")
  execute_process(COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/finish_deb.sh ${CPACK_PACKAGE_FILES}
    RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "finish_deb.sh failed")
  endif()
endif()
