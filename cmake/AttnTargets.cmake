# How Attn's own targets are declared. `attn_library` is for compiler code: it sees MLIR and LLVM headers as system
# headers, is compiled without exceptions as LLVM is, and links the one shared MLIR library (never a static one beside it).
include_guard()

set(ATTN_WARNINGS -Wall -Wextra -Wno-unused-parameter)

function(attn_compiler_flags target)
  target_include_directories(${target} SYSTEM PUBLIC ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  target_compile_definitions(${target} PUBLIC ${LLVM_DEFINITIONS_LIST})
  target_compile_options(${target} PRIVATE ${ATTN_WARNINGS} -fno-exceptions -ffile-prefix-map=${PROJECT_SOURCE_DIR}=.)
endfunction()

# attn_library(name SOURCES... [LINK libs...]): a static library of compiler code.
function(attn_library name)
  cmake_parse_arguments(ARG "" "" "LINK;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  attn_compiler_flags(${name})
  target_link_libraries(${name} PUBLIC ${ARG_LINK} MLIR LLVM)
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()

# attn_tool(name SOURCES... [LINK libs...]): an executable in build/bin.
function(attn_tool name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  attn_compiler_flags(${name})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} MLIR LLVM)
endfunction()

# attn_unit_test(name SOURCES... [LINK libs...]): a GoogleTest executable in build/test/unit, found by tools/check.sh.
function(attn_unit_test name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  attn_compiler_flags(${name})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gtest GTest::gtest_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/test/unit)
  add_test(NAME ${name} COMMAND ${name})
endfunction()
