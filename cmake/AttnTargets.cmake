# How Attn's own targets are declared. `attn_library` is for compiler code: it sees MLIR and LLVM headers as system
# headers, is compiled without exceptions as LLVM is, and links MLIR and LLVM statically (never a shared one beside it).
include_guard()

# MLIR and LLVM, of which an executable takes what it calls. Loading the shared libraries instead takes 80 ms at each start,
# for 300,000 addresses are written anew, and an executable would have to find them. The targets of MLIR's own packages
# link the shared library of LLVM.
file(GLOB ATTN_LLVM_ARCHIVES ${LLVM_LIBRARY_DIR}/libMLIR*.a ${LLVM_LIBRARY_DIR}/libLLVM*.a)
list(FILTER ATTN_LLVM_ARCHIVES EXCLUDE REGEX "/libMLIR(CAPI|Test)")
list(JOIN ATTN_LLVM_ARCHIVES "," ATTN_LLVM_ARCHIVES)
add_library(AttnLlvm INTERFACE)
# Only libc and libm are loaded, so that tools run on every Debian since 12. Nothing that is called needs libxml2.
target_link_libraries(AttnLlvm INTERFACE "$<LINK_GROUP:RESCAN,${ATTN_LLVM_ARCHIVES}>" libz.a libzstd.a xml2 m dl)
target_link_options(AttnLlvm INTERFACE -Wl,--gc-sections -Wl,--as-needed -static-libstdc++ -static-libgcc)

set(ATTN_WARNINGS -Wall -Wextra -Wno-unused-parameter)

function(attn_compiler_flags target)
  target_include_directories(${target} SYSTEM PUBLIC ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  target_compile_definitions(${target} PUBLIC ${LLVM_DEFINITIONS_LIST})
  target_compile_options(${target} PRIVATE ${ATTN_WARNINGS} -fno-exceptions -ffile-prefix-map=${PROJECT_SOURCE_DIR}=.)
endfunction()

# What most sources of the compiler include, read once: a source compiles in a quarter of the time. Every source still
# includes what it uses (clang-tidy reads it so).
add_library(AttnPrecompiled STATIC cmake/precompiled.cpp)
attn_compiler_flags(AttnPrecompiled)
target_compile_options(AttnPrecompiled PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
target_precompile_headers(AttnPrecompiled PRIVATE
  <mlir/Dialect/Arith/IR/Arith.h> <mlir/Dialect/Func/IR/FuncOps.h> <mlir/Dialect/Math/IR/Math.h> <mlir/Dialect/MemRef/IR/MemRef.h>
  <mlir/Dialect/SCF/IR/SCF.h> <mlir/Dialect/Vector/IR/VectorOps.h> <mlir/IR/Builders.h> <mlir/IR/BuiltinOps.h> <mlir/IR/IRMapping.h>
  <mlir/IR/Matchers.h> <mlir/IR/PatternMatch.h> <mlir/Pass/Pass.h> <llvm/ADT/StringExtras.h> <llvm/ADT/StringMap.h>
  <llvm/ADT/TypeSwitch.h> <llvm/Support/FormatVariadic.h> <llvm/Support/raw_ostream.h>)

# The same and the dialect, whose generated classes take longer to read than all the rest: for what stands on the dialect.
add_library(AttnDialectPrecompiled STATIC cmake/precompiled.cpp)
attn_compiler_flags(AttnDialectPrecompiled)
target_compile_options(AttnDialectPrecompiled PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
get_target_property(headers AttnPrecompiled PRECOMPILE_HEADERS)
target_precompile_headers(AttnDialectPrecompiled PRIVATE ${headers} ${PROJECT_SOURCE_DIR}/dialect/AttnDialect.h)
add_dependencies(AttnDialectPrecompiled AttnDialectIncGen)

# Reads the precompiled headers, which are of position-independent code; those with the dialect if one of LINK, the
# libraries that a target links, is made of it.
function(attn_precompiled name)
  target_compile_options(${name} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  if("${ARGN}" MATCHES "Attn(Dialect|Emit|Frontend|Transforms|Kernels|Cpu|Gpu|Compiler|Reference|Target|Tuning|Link)|Kernel")
    target_precompile_headers(${name} REUSE_FROM AttnDialectPrecompiled)
  else()
    target_precompile_headers(${name} REUSE_FROM AttnPrecompiled)
  endif()
endfunction()

# Sources of a target are compiled several at once, in a third of the time, most of which goes to templates that each would
# instantiate anew. So a name that a source keeps to itself, static or in a nameless namespace, has to be the only one of
# its kind in the target. A source that takes much memory alone is left out, so that each compilation stays below 1 GB.
option(ATTN_UNITY "Compile several sources of a target at once" OFF)
function(attn_unity name)
  if(ATTN_UNITY)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 10)
  endif()
endfunction()

# attn_library(name SOURCES... [LINK libs...]): a static library of compiler code.
function(attn_library name)
  cmake_parse_arguments(ARG "" "" "LINK;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  attn_compiler_flags(${name})
  target_link_libraries(${name} PUBLIC ${ARG_LINK} AttnLlvm)
  attn_precompiled(${name} ${ARG_LINK})
  attn_unity(${name})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()

# attn_tool(name SOURCES... [LINK libs...]): an executable in build/bin, with fixed addresses, which start-up need not write.
function(attn_tool name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  attn_compiler_flags(${name})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} AttnLlvm)
  target_link_options(${name} PRIVATE -no-pie)
  target_compile_options(${name} PRIVATE -fPIC)
  attn_precompiled(${name} ${ARG_LINK})
  attn_unity(${name})
endfunction()

# attn_unit_test(name SOURCES... [LINK libs...]): a GoogleTest executable in build/test/unit, found by tools/check.sh.
function(attn_unit_test name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  attn_compiler_flags(${name})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gtest GTest::gtest_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/test/unit)
  if(ARG_LINK MATCHES "Attn|Kernel|Attention") # tests of the compiler; others include no MLIR
    target_compile_options(${name} PRIVATE -fPIC)
    attn_precompiled(${name} ${ARG_LINK})
  endif()
  attn_unity(${name})
  add_test(NAME ${name} COMMAND ${name})
endfunction()
