# board.cmake: what both systems have here: programs for a board of the emulator. OX_BOARD is the folder of its start code, OX_BOARD_START the
# file of that, OX_BOARD_LINK the linker's options; the toolchain's file has the compiler and its flags.
set(OX_BOARD_STUBS ${CMAKE_CURRENT_LIST_DIR})
set(OX_BOARD_SOURCES ${OX_BOARD}/board.c ${OX_BOARD}/semihost.c ${OX_BOARD}/${OX_BOARD_START} ${CMAKE_CURRENT_LIST_DIR}/print.c)
separate_arguments(OX_BOARD_LINK)

function(ox_board_program target)
  target_sources(${target} PRIVATE ${OX_BOARD_SOURCES})
  set_source_files_properties(${OX_BOARD_SOURCES} TARGET_DIRECTORY ${target} PROPERTIES COMPILE_OPTIONS "${OX_BOARD_OPTIONS}")
  target_link_options(${target} PRIVATE ${OX_BOARD_LINK})
  target_link_libraries(${target} PRIVATE m)
endfunction()
