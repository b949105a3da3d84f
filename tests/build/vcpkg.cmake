# vcpkg.cmake: what a port calls, as far as the one of ox does, where vcpkg is not installed: cmake -DPORT=... -DTREE=... -DLINKAGE=... -DROOT=... -P.
# Each function does what vcpkg's documentation says of it, for a release build alone. What the port needs is the system's.
set(VCPKG_LIBRARY_LINKAGE ${LINKAGE})
set(VCPKG_HOST_EXECUTABLE_SUFFIX "")
set(CURRENT_PACKAGES_DIR ${ROOT}/package)
set(CURRENT_HOST_INSTALLED_DIR ${ROOT}/host)
set(CURRENT_BUILDTREES_DIR ${ROOT}/build)

# run(COMMAND...): an error with what it said if it fails.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(status)
    message(FATAL_ERROR "${said}")
  endif()
endfunction()

find_program(PROTOC_C protoc-c REQUIRED)
file(MAKE_DIRECTORY ${CURRENT_HOST_INSTALLED_DIR}/tools/protobuf-c)
file(CREATE_LINK ${PROTOC_C} ${CURRENT_HOST_INSTALLED_DIR}/tools/protobuf-c/protoc-c SYMBOLIC)

function(vcpkg_cmake_configure)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCE_PATH" "OPTIONS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "vcpkg_cmake_configure does not take ${arg_UNPARSED_ARGUMENTS}")
  endif()
  string(COMPARE EQUAL "${VCPKG_LIBRARY_LINKAGE}" "dynamic" shared)
  run(${CMAKE_COMMAND} -S ${arg_SOURCE_PATH} -B ${CURRENT_BUILDTREES_DIR} -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=${shared}
    -DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR} -DCMAKE_INSTALL_LIBDIR:STRING=lib -DCMAKE_INSTALL_BINDIR:STRING=bin ${arg_OPTIONS} ${MORE})
endfunction()

function(vcpkg_cmake_install)
  run(${CMAKE_COMMAND} --build ${CURRENT_BUILDTREES_DIR} --target install --parallel 2)
endfunction()

# Packages lie in share/NAME: files that are looked for from lib/cmake/NAME on are one folder nearer.
function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "PACKAGE_NAME;CONFIG_PATH" "")
  set(to ${CURRENT_PACKAGES_DIR}/share/${arg_PACKAGE_NAME})
  file(MAKE_DIRECTORY ${CURRENT_PACKAGES_DIR}/share)
  file(RENAME ${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH} ${to})
  file(REMOVE_RECURSE ${CURRENT_PACKAGES_DIR}/lib/cmake)
  set(up "get_filename_component(_IMPORT_PREFIX \"\${_IMPORT_PREFIX}\" PATH)\n")
  file(GLOB files ${to}/*.cmake)
  foreach(file ${files})
    file(READ ${file} text)
    string(REPLACE "/../../../" "/../../" text "${text}")
    string(REPLACE "${up}${up}${up}" "${up}${up}" text "${text}")
    file(WRITE ${file} "${text}")
  endforeach()
endfunction()

function(vcpkg_fixup_pkgconfig)
  file(GLOB files ${CURRENT_PACKAGES_DIR}/lib/pkgconfig/*.pc)
  if(NOT files)
    message(FATAL_ERROR "there is no lib/pkgconfig/*.pc")
  endif()
endfunction()

function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "FILE_LIST")
  file(INSTALL ${arg_FILE_LIST} DESTINATION ${CURRENT_PACKAGES_DIR}/share/${PORT} RENAME copyright)
endfunction()

include(${TREE}/packaging/vcpkg/${PORT}/portfile.cmake)
