# SPDX-License-Identifier: MIT
# ckcache_embed(TARGET FILE SYMBOL): gives the target's C code the bytes of a file, with a zero
# behind them, as `extern const char SYMBOL[];`. As a script (cmake -D FILE= -D SYMBOL= -D OUTPUT=
# -P): writes the source that has them.
if(CMAKE_SCRIPT_MODE_FILE)
  file(READ ${FILE} bytes HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  string(REGEX REPLACE "(................................................................................)" "\\1\n" bytes "${bytes}")
  file(WRITE ${OUTPUT} "extern const char ${SYMBOL}[];\nconst char ${SYMBOL}[] = {\n${bytes}0\n};\n")
  return()
endif()

function(ckcache_embed target file symbol)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${symbol}.c)
  set(script ${PROJECT_SOURCE_DIR}/cmake/Embed.cmake)
  add_custom_command(OUTPUT ${output} DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${file} ${script}
    COMMAND ${CMAKE_COMMAND} -D FILE=${CMAKE_CURRENT_SOURCE_DIR}/${file} -D SYMBOL=${symbol}
            -D OUTPUT=${output} -P ${script}
    COMMENT "Embedding ${file}" VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()
