# SPDX-License-Identifier: MIT
# How a test is added, and its labels, by which tests/run.sh chooses.
#
# ckcache_test(<name> [DRIVER <driver>] [LABELS <label>...] COMMAND <word>...)
#
# Labels of each test: its kind, which is its name up to the first dot, and its driver: stub, or
# one of those in tests/run.sh. Further ones:
#   long         not in the run without arguments: it takes long, or other tests show nearly as much
#   thorough     only where it is asked for: shows on one more driver what others have shown
#   asan, tsan   also run under AddressSanitizer and UBSan, ThreadSanitizer; all unit tests and
#                what is on a stub driver have both but where UNSANITIZED is given
#   asan_alone   under AddressSanitizer only by `run.sh asan`
#   today        worth a run with drivers newer than those of the distribution this is developed on
# Exit code 77 is "skipped".
function(ckcache_test name)
  cmake_parse_arguments(PARSE_ARGV 1 test "UNSANITIZED" "DRIVER" "LABELS;COMMAND")
  string(REGEX REPLACE "\\..*" "" kind ${name})
  set(labels ${kind} ${test_DRIVER} ${test_LABELS})
  if((kind STREQUAL "unit" OR test_DRIVER STREQUAL "stub") AND NOT test_UNSANITIZED)
    list(APPEND labels asan tsan)
  endif()
  add_test(NAME ${name} COMMAND ${test_COMMAND})
  # A loaded machine takes several times as long as an idle one, and does not store in the time
  # that a process's end may take.
  set(most_seconds 600)
  if("long" IN_LIST labels OR "thorough" IN_LIST labels)
    set(most_seconds 1800)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${labels}" TIMEOUT ${most_seconds}
    SKIP_RETURN_CODE 77)
endfunction()

# ckcache_python_test(<name> <script> [<options of ckcache_test>...] [ARGS <word>...])
find_package(Python3 REQUIRED COMPONENTS Interpreter)
function(ckcache_python_test name script)
  cmake_parse_arguments(PARSE_ARGV 2 python "" "" "ARGS")
  get_filename_component(script ${script} ABSOLUTE)
  ckcache_test(${name} ${python_UNPARSED_ARGUMENTS} COMMAND ${Python3_EXECUTABLE} -B ${script} ${python_ARGS})
endfunction()

# ckcache_driver_test(<name> <program> [<driver>...] [LONG <driver>...] [THOROUGH <driver>...]
#                     [TODAY <driver>...])
# <name>.<driver> runs <program> <driver>, for each; those after such a word have its label.
function(ckcache_driver_test name program)
  cmake_parse_arguments(PARSE_ARGV 2 set "" "" "LONG;THOROUGH;TODAY")
  set(drivers ${set_UNPARSED_ARGUMENTS} ${set_LONG} ${set_THOROUGH} ${set_TODAY})
  list(REMOVE_DUPLICATES drivers)
  foreach(driver ${drivers})
    set(labels)
    foreach(label LONG THOROUGH TODAY)
      if(driver IN_LIST set_${label})
        string(TOLOWER ${label} label)
        list(APPEND labels ${label})
      endif()
    endforeach()
    ckcache_test(${name}.${driver} DRIVER ${driver} LABELS ${labels} COMMAND ${program} ${driver})
  endforeach()
endfunction()

# ckcache_wrap(<target> <function>...): calls of these go to the target's own __wrap_<function>.
# With 32 bits some have another name where files are large: <function>64.
function(ckcache_wrap target)
  foreach(function ${ARGN})
    set(name ${function})
    if(CMAKE_SIZEOF_VOID_P EQUAL 4 AND function MATCHES
       "^(open|openat|fcntl|pread|pwrite|stat|fstat|fstatat|fstatfs|statvfs)$")
      set(name ${function}64)
      target_compile_definitions(${target} PRIVATE
        __wrap_${function}=__wrap_${name} __real_${function}=__real_${name})
    endif()
    target_link_options(${target} PRIVATE -Wl,--wrap=${name})
  endforeach()
endfunction()

# ckcache_files(<target> [PUBLIC] {<NAME> <built target>}...): <NAME> is the built file's path in the
# target's sources; the file is there when the target is.
function(ckcache_files target)
  cmake_parse_arguments(PARSE_ARGV 1 files "PUBLIC" "" "")
  set(scope PRIVATE)
  if(files_PUBLIC)
    set(scope PUBLIC)
  endif()
  set(words ${files_UNPARSED_ARGUMENTS})
  while(words)
    list(POP_FRONT words name file)
    target_compile_definitions(${target} ${scope} ${name}="$<TARGET_FILE:${file}>")
    add_dependencies(${target} ${file})
  endwhile()
endfunction()
