# What `cmake --install build --prefix FOLDER` puts there, and the packages `attn` and `python3-attn` of Debian that `cpack` makes of it
# in the build folder. Tools find all
# else from where they lie, so that the folder may be moved.
include_guard()
include(CMakePackageConfigHelpers)

install(TARGETS attn attn-lsp-server DESTINATION bin)
# For developers of Attn: `cmake --install build --component mlir`.
install(TARGETS attn-opt attn-mlir-lsp-server DESTINATION bin COMPONENT mlir EXCLUDE_FROM_ALL)
install(DIRECTORY ${ATTN_ARCHIVES}/ DESTINATION lib/attn FILES_MATCHING PATTERN "*.a")
foreach(header attn caches rows compiler text grammar)
  install(FILES runtime/include/attn/${header}.h DESTINATION include/attn)
endforeach()
install(DIRECTORY compiler/std/ DESTINATION share/attn/std FILES_MATCHING PATTERN "*.attn")
install(DIRECTORY tools/editors DESTINATION share/attn)
install(FILES tools/attn/completions/attn DESTINATION share/bash-completion/completions)
install(FILES tools/attn/completions/_attn DESTINATION share/zsh/site-functions)
install(FILES tools/attn/completions/attn.fish DESTINATION share/fish/vendor_completions.d)

string(REPLACE ";" " " ATTN_BUNDLED_FLAGS "${ATTN_BUNDLED_ARCHIVES}")
string(REGEX REPLACE "(lib[^ ]+)" "\${libdir}/\\1" ATTN_BUNDLED_FLAGS "${ATTN_BUNDLED_FLAGS}")
configure_file(cmake/package/AttnConfig.cmake.in package/AttnConfig.cmake @ONLY)
configure_file(cmake/package/attn.pc.in package/attn.pc @ONLY)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/AttnConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/package/AttnConfig.cmake ${PROJECT_BINARY_DIR}/package/AttnConfigVersion.cmake
  cmake/package/AttnAddModel.cmake DESTINATION lib/cmake/Attn)
install(FILES ${PROJECT_BINARY_DIR}/package/attn.pc DESTINATION lib/pkgconfig)

add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/attn.1
  COMMAND attn --manual >${PROJECT_BINARY_DIR}/attn.1
  DEPENDS attn
  COMMENT "Writing the manual page")
add_custom_target(AttnManual ALL DEPENDS ${PROJECT_BINARY_DIR}/attn.1)
install(FILES ${PROJECT_BINARY_DIR}/attn.1 DESTINATION share/man/man1)

# The terms of all that is in it, and its bill of materials.
add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/attn.spdx.json
  COMMAND attn inspect --spdx >${PROJECT_BINARY_DIR}/attn.spdx.json
  DEPENDS attn
  COMMENT "Writing the bill of materials")
add_custom_target(AttnBillOfMaterials ALL DEPENDS ${PROJECT_BINARY_DIR}/attn.spdx.json)
install(FILES ${PROJECT_BINARY_DIR}/copyright ${PROJECT_BINARY_DIR}/attn.spdx.json DESTINATION share/doc/attn)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME attn)
set(CPACK_PACKAGE_CONTACT "the Attn authors <attn@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "compiler of transformers to native code")
set(CPACK_PACKAGE_DESCRIPTION "Attn turns a short text description of a transformer, or a published checkpoint, into a program,
a library or an object for CPUs and NVIDIA GPUs. What it makes needs no Python and no framework.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_THREADS 0)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE zstd)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
# Programs are linked by the machine's C compiler; 2.36 is Debian 12's.
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= 2.36), libc6-dev, gcc | clang | c-compiler")
set(CPACK_COMPONENTS_ALL Unspecified python)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_NAME attn)
set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-attn)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "attn (= ${PROJECT_VERSION}), python3 (>= 3.11), python3-numpy")
set(CPACK_COMPONENT_PYTHON_DESCRIPTION "Python package of attn
Compiled models as objects, whose entries take and give arrays of NumPy.")
# What Python compiles of it comes and goes with the package.
foreach(script postinst prerm)
  configure_file(cmake/package/python-${script} ${PROJECT_BINARY_DIR}/package/python/${script} COPYONLY)
  list(APPEND CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/package/python/${script})
endforeach()
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)
