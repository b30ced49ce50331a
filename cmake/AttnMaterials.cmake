# What Attn's tools, the page of attn explore, and what attn compiles are linked from, a row each: for bills of materials
# (compiler/emit/Materials.h) and for the copyright file of a package. Debian's packages say versions and terms; elsewhere
# both are left out.
include_guard()

# name | a file of it that is linked or included | licence, as SPDX writes it | what it goes into
# Pictures, Sounds, Texts and Server: artifacts that take or have these, and the tools. Compiler: the tools and
# libattn-compiler.so alone.
set(ATTN_MATERIALS
  "libpng|libpng.a|libpng-2.0|Pictures"
  "libjpeg-turbo|libjpeg.a|IJG AND BSD-3-Clause AND Zlib|Pictures"
  "zlib|libz.a|Zlib|Pictures"
  "FLAC|libFLAC.a|BSD-3-Clause|Sounds"
  "libogg|libogg.a|BSD-3-Clause|Sounds"
  "pcre2|libpcre2-8.a|BSD-3-Clause|Texts"
  "utf8proc|libutf8proc.a|MIT AND Unicode-DFS-2015|Texts"
  "libevent-extra|libevent_extra.a|BSD-3-Clause|Server"
  "libevent|libevent_core.a|BSD-3-Clause|Server"
  "llvm|${LLVM_LIBRARY_DIR}/libLLVMCore.a|Apache-2.0 WITH LLVM-exception|Compiler"
  "mlir|${LLVM_LIBRARY_DIR}/libMLIRIR.a|Apache-2.0 WITH LLVM-exception|Compiler"
  "zstd|libzstd.a|BSD-3-Clause|Compiler"
  "protobuf|libprotobuf-lite.a|BSD-3-Clause|Compiler"
  "fmt|/usr/include/fmt/core.h|MIT|Compiler"
  "libstdc++|libstdc++.a|GPL-3.0-or-later WITH GCC-exception-3.1|Compiler")

# attn_debian_package(file package version): the package that a file is of, and its version; else nothing.
function(attn_debian_package file package version)
  execute_process(COMMAND dpkg-query -S "${file}" OUTPUT_VARIABLE found ERROR_QUIET RESULT_VARIABLE failed)
  string(REGEX REPLACE ":.*" "" found "${found}")
  set(${package} "${found}" PARENT_SCOPE)
  if(found)
    execute_process(COMMAND dpkg-query -W -f "\${Version}" "${found}" OUTPUT_VARIABLE text ERROR_QUIET)
  endif()
  set(${version} "${text}" PARENT_SCOPE)
endfunction()

# Archives that artifacts are linked with go beside those of the runtime: linking needs no package of theirs, and artifacts are
# the same bytes on every machine.
set(ATTN_ARCHIVES ${CMAKE_ARCHIVE_OUTPUT_DIRECTORY}/attn)
set(ATTN_BUNDLED_ARCHIVES)
set(rows)
set(copyrights)
foreach(row ${ATTN_MATERIALS})
  string(REPLACE "|" ";" row "${row}")
  list(GET row 0 name)
  list(GET row 1 file)
  list(GET row 2 licence)
  list(GET row 3 part)
  if(NOT IS_ABSOLUTE ${file})
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=${file} OUTPUT_VARIABLE path OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(NOT EXISTS ${path})
      message(FATAL_ERROR "${file} of ${name} is missing (tools/setup.sh demo installs it)")
    endif()
    file(REAL_PATH ${path} path)
  else()
    set(path ${file})
  endif()
  if(NOT part STREQUAL Compiler)
    configure_file(${path} ${ATTN_ARCHIVES}/${file} COPYONLY)
    list(APPEND ATTN_BUNDLED_ARCHIVES ${file})
  endif()
  attn_debian_package("${path}" package version)
  string(APPEND rows "ATTN_MATERIAL(\"${name}\", \"${version}\", \"${licence}\", \"${package}\", ${part})\n")
  if(package AND EXISTS /usr/share/doc/${package}/copyright)
    file(READ /usr/share/doc/${package}/copyright text)
    string(APPEND copyrights "\n\n======== ${name} ========\n\n${text}")
  endif()
endforeach()

# The page: npm's packages, whose terms stand in the page itself.
file(READ ${PROJECT_SOURCE_DIR}/tools/explore/package-lock.json lock)
string(JSON packages GET "${lock}" packages)
string(JSON count LENGTH "${packages}")
math(EXPR last "${count} - 1")
foreach(index RANGE 1 ${last}) # the first is the page
  string(JSON path MEMBER "${packages}" ${index})
  string(JSON isTool ERROR_VARIABLE none GET "${packages}" ${path} dev)
  if(isTool STREQUAL ON OR isTool STREQUAL true)
    continue()
  endif()
  string(JSON version GET "${packages}" ${path} version)
  string(JSON licence GET "${packages}" ${path} license)
  string(REGEX REPLACE "^node_modules/" "" name ${path})
  string(APPEND rows "ATTN_MATERIAL(\"${name}\", \"${version}\", \"${licence}\", \"\", Page)\n")
endforeach()

file(CONFIGURE OUTPUT compiler/emit/Materials.inc CONTENT "${rows}" @ONLY)
file(READ ${PROJECT_SOURCE_DIR}/LICENSE text)
file(CONFIGURE OUTPUT copyright CONTENT "${text}${copyrights}" @ONLY)
