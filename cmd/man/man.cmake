# Man pages and completions: generated from the option tables by write-manuals, and the pages beside this file. write-manuals links the
# tables without MPI and CUDA, so it runs where dt-train can start neither. A cross build runs it by CMAKE_CROSSCOMPILING_EMULATOR, or
# takes a native one: -DDT_WRITE_MANUALS=PATH.
set(DT_WRITE_MANUALS "" CACHE FILEPATH "A write-manuals of the same sources that runs here, for cross builds")
set(dt_tools dt-allreduce-bench dt-checkpoint dt-merge dt-shard-data dt-train)

add_executable(write-manuals cmd/man/main.cpp)
set_target_properties(write-manuals PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/man)
target_include_directories(write-manuals PRIVATE ${PROJECT_SOURCE_DIR})
foreach(tool ${dt_tools})
  add_dependencies(write-manuals ${tool}-parts)
  target_link_libraries(write-manuals PRIVATE $<TARGET_FILE:${tool}-parts>)  # as a file: what it is linked to is not taken over
endforeach()
target_link_libraries(write-manuals PRIVATE dt_plan dt_bench dt_convert dt_data dt_run external::json)

set(dt_share ${CMAKE_BINARY_DIR}/share)
set(dt_pages ${dt_share}/man/man7/dt-environment.7)
foreach(tool ${dt_tools})
  list(APPEND dt_pages ${dt_share}/man/man1/${tool}.1 ${dt_share}/bash-completion/completions/${tool} ${dt_share}/zsh/site-functions/_${tool})
endforeach()
set(dt_write_manuals write-manuals)
if(DT_WRITE_MANUALS)
  set(dt_write_manuals ${DT_WRITE_MANUALS})
endif()
if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR AND NOT DT_WRITE_MANUALS)
  message(STATUS "A cross build without CMAKE_CROSSCOMPILING_EMULATOR or DT_WRITE_MANUALS: tools' man pages and completions are left out")
else()
  add_custom_command(OUTPUT ${dt_pages} COMMAND ${dt_write_manuals} ${dt_share} ${DT_RELEASE_DATE} DEPENDS ${dt_write_manuals}
    COMMENT "man pages and completions" VERBATIM)
  add_custom_target(manuals ALL DEPENDS ${dt_pages})
  add_dependencies(tools manuals)
  install(DIRECTORY ${dt_share}/ DESTINATION share COMPONENT documents OPTIONAL)
endif()
file(GLOB pages CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.5)
install(FILES ${pages} DESTINATION share/man/man5 COMPONENT documents)
file(GLOB pages CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.7)
install(FILES ${pages} DESTINATION share/man/man7 COMPONENT documents)
