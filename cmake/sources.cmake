# sources.cmake: what the Makefile has of src/sources.mk, src/loops/builds.h, src/ox.h and tools/about.h, as variables of CMake.

# OX_<NAME> for every line NAME := WORDS of src/sources.mk.
file(STRINGS ${OX_ROOT}/src/sources.mk lines REGEX "^[A-Z_]+ := ")
foreach(line IN LISTS lines)
  string(REGEX MATCH "^([A-Z_]+) := (.*)$" line "${line}")
  set(name OX_${CMAKE_MATCH_1})
  string(REPLACE " " ";" ${name} "${CMAKE_MATCH_2}")
endforeach()

# ox_glob VARIABLE PATTERN...: the files of the tree.
function(ox_glob variable)
  list(TRANSFORM ARGN PREPEND ${OX_ROOT}/)
  file(GLOB found RELATIVE ${OX_ROOT} CONFIGURE_DEPENDS ${ARGN})
  set(${variable} ${found} PARENT_SCOPE)
endfunction()

# Name, licence and address; the number in the soname.
file(STRINGS ${OX_ROOT}/tools/about.h lines REGEX "^#define OX_[A-Z]+ \".*\"$")
foreach(line IN LISTS lines)
  string(REGEX MATCH "^#define OX_([A-Z]+) \"(.*)\"$" line "${line}")
  set(OX_ABOUT_${CMAKE_MATCH_1} "${CMAKE_MATCH_2}")
endforeach()
file(STRINGS ${OX_ROOT}/Makefile line REGEX "^SONAME +:= libox\\.so\\.[0-9]+$")
string(REGEX MATCH "[0-9]+$" OX_SOVERSION "${line}")

# The machine of the compiler, as builds.h names it.
set(target)
if(CMAKE_C_COMPILER_TARGET)
  set(target --target=${CMAKE_C_COMPILER_TARGET})
endif()
execute_process(COMMAND ${CMAKE_C_COMPILER} ${target} -dumpmachine OUTPUT_VARIABLE machine ERROR_QUIET)
string(REGEX REPLACE "-.*" "" OX_MACHINE "${machine}")
string(STRIP "${OX_MACHINE}" OX_MACHINE)

# ox_rows KIND: names of the rows of builds.h for this machine in OX_<KIND>_ROWS, and for each name OX_<name>_FLAGS and OX_<name>_WIDE.
macro(ox_rows kind)
  set(OX_${kind}_ROWS)
  file(READ ${OX_ROOT}/src/loops/builds.h rows) # a row may end with a backslash, which would join it to the next one of a list
  string(REGEX MATCHALL "${kind}\\([a-z0-9_]+, ${OX_MACHINE}, [^\n\\]*" rows "${rows}")
  foreach(row IN LISTS rows)
    string(REGEX MATCH "${kind}\\(([a-z0-9_]+), [^\"]*\"([^\"]*)\"(, \"([^\"]*)\")?" row "${row}")
    list(APPEND OX_${kind}_ROWS ${CMAKE_MATCH_1})
    string(REPLACE " " ";" OX_${CMAKE_MATCH_1}_FLAGS "${CMAKE_MATCH_2}")
    string(REPLACE " " ";" OX_${CMAKE_MATCH_1}_WIDE "${CMAKE_MATCH_4}")
  endforeach()
endmacro()
ox_rows(BUILD)
ox_rows(DOT)

# ox_taken VARIABLE FLAG...: the flags, if the compiler takes them.
function(ox_taken variable)
  string(JOIN " " flags ${ARGN})
  string(MAKE_C_IDENTIFIER "OX_TAKES ${flags}" takes)
  set(CMAKE_REQUIRED_FLAGS -Werror)
  check_c_compiler_flag("${flags}" ${takes})
  if(${takes})
    set(${variable} ${ARGN} PARENT_SCOPE)
  else()
    set(${variable} "" PARENT_SCOPE)
  endif()
endfunction()

# ox_fill FROM TO: a text with @NAME@, @VERSION@ and so on; a line for an address is left out while there is none.
function(ox_fill from to)
  file(READ ${from} text)
  if(NOT OX_ABOUT_ADDRESS)
    string(REGEX REPLACE "[^\n]*@ADDRESS@[^\n]*\n" "" text "${text}")
  endif()
  set(NAME ${OX_ABOUT_NAME})
  set(VERSION ${PROJECT_VERSION})
  set(LICENCE ${OX_ABOUT_LICENCE})
  set(ADDRESS ${OX_ABOUT_ADDRESS})
  set(PREFIX ${CMAKE_INSTALL_PREFIX})
  set(LIBDIR ${CMAKE_INSTALL_LIBDIR})
  string(CONFIGURE "${text}" text @ONLY)
  file(WRITE ${to} "${text}")
endfunction()
