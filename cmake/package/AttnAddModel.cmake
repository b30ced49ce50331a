include_guard()

# attn_add_model(TARGET SPEC [WEIGHTS FILE] [TARGETS LEVEL...] [PRECISION TYPE] [SET DIM=N...] [TYPE KIND] [OPTIONS...])
#
# Compiles a spec whenever it, a file that it uses, its weights or the compiler has changed. What is made:
#   STATIC (default), SHARED   a library TARGET to link with, and TARGET.h, which it lets people include
#   EXECUTABLE                 a program, bin/TARGET in the build folder, which `all` builds
# WEIGHTS   a checkpoint that becomes part of it; without, it takes its weights when it runs
# TARGETS   x86-64-v3, x86-64-v4, sm_90a, ...: code for each of them; by default for the CPU that compiles
# OPTIONS   further options of `attn compile`
# The path of what was made is TARGET's property ATTN_ARTIFACT.
function(attn_add_model target spec)
  cmake_parse_arguments(PARSE_ARGV 2 ARG "" "WEIGHTS;PRECISION;TYPE" "TARGETS;SET;OPTIONS")
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "attn_add_model(${target}): \"${ARG_UNPARSED_ARGUMENTS}\" is none of its arguments, which are "
      "WEIGHTS, TARGETS, PRECISION, SET, TYPE and OPTIONS")
  endif()
  if(ARG_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "attn_add_model(${target}): ${ARG_KEYWORDS_MISSING_VALUES} needs a value")
  endif()
  get_filename_component(spec "${spec}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_SOURCE_DIR}")
  if(NOT EXISTS "${spec}")
    message(FATAL_ERROR "attn_add_model(${target}): there is no spec ${spec}")
  endif()
  set(folder "${CMAKE_CURRENT_BINARY_DIR}")
  if(NOT ARG_TYPE OR ARG_TYPE STREQUAL "STATIC")
    set(kind static)
    set(artifact "${folder}/lib${target}.a")
  elseif(ARG_TYPE STREQUAL "SHARED")
    set(kind shared)
    set(artifact "${folder}/lib${target}.so")
  elseif(ARG_TYPE STREQUAL "EXECUTABLE")
    set(kind exe)
    set(artifact "${folder}/bin/${target}") # in the folder itself it would have the name of a rule
    file(MAKE_DIRECTORY "${folder}/bin")
  else()
    message(FATAL_ERROR "attn_add_model(${target}): TYPE ${ARG_TYPE} is none of STATIC, SHARED and EXECUTABLE")
  endif()

  set(options ${ARG_OPTIONS})
  if(ARG_WEIGHTS)
    get_filename_component(weights "${ARG_WEIGHTS}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_SOURCE_DIR}")
    list(APPEND options --embed-weights "--weights=${weights}")
  endif()
  if(ARG_PRECISION)
    list(APPEND options --precision=${ARG_PRECISION})
  endif()
  set(sizes)
  foreach(size ${ARG_SET})
    list(APPEND sizes --set=${size})
  endforeach()
  if(ARG_TARGETS)
    list(JOIN ARG_TARGETS "," levels)
    list(APPEND options --target=${levels})
  endif()
  add_custom_command(OUTPUT "${artifact}"
    COMMAND Attn::attn compile "${spec}" --emit=${kind} -o "${artifact}" "--depfile=${artifact}.d" ${sizes} ${options}
    DEPENDS Attn::attn "${spec}"
    DEPFILE "${artifact}.d"
    COMMENT "Compiling ${target}"
    VERBATIM)
  if(kind STREQUAL "exe")
    add_custom_target(${target} ALL DEPENDS "${artifact}")
    set_target_properties(${target} PROPERTIES ATTN_ARTIFACT "${artifact}")
    return()
  endif()

  set(header "${folder}/${target}.h")
  add_custom_command(OUTPUT "${header}"
    COMMAND Attn::attn compile "${spec}" --emit=header -o "${header}" "--depfile=${header}.d" ${sizes}
    DEPENDS Attn::attn "${spec}"
    DEPFILE "${header}.d"
    VERBATIM)
  add_custom_target(${target}_files DEPENDS "${artifact}" "${header}")
  string(TOUPPER ${kind} form)
  add_library(${target} ${form} IMPORTED GLOBAL)
  add_dependencies(${target} ${target}_files)
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION "${artifact}" ATTN_ARTIFACT "${artifact}"
    INTERFACE_INCLUDE_DIRECTORIES "${folder}")
  target_link_libraries(${target} INTERFACE Attn::headers)
  if(kind STREQUAL "static")
    target_link_libraries(${target} INTERFACE ${Attn_ARCHIVES} Threads::Threads m ${CMAKE_DL_LIBS})
  else()
    set_target_properties(${target} PROPERTIES IMPORTED_NO_SONAME TRUE)
  endif()
endfunction()
