# Installs what belongs beside the tools. cmake --install and packages take the same:
#   share/dt/jobs, share/dt/datasets   job scripts, which take the tools in bin beside share, and what the demo calls
#   share/doc/dt                       documents; the guide of a tool is TOOL.md
# One component for all of it: documents. A tool's component has its name.
file(GLOB scripts CONFIGURE_DEPENDS jobs/*.sh jobs/*.sbatch)
install(PROGRAMS ${scripts} DESTINATION share/dt/jobs COMPONENT documents)
install(FILES jobs/README.md DESTINATION share/dt/jobs COMPONENT documents)
file(GLOB scripts CONFIGURE_DEPENDS datasets/*.sh)
install(PROGRAMS ${scripts} DESTINATION share/dt/datasets COMPONENT documents)

file(GLOB documents CONFIGURE_DEPENDS README.md LICENSE libcore/FORMATS.md libcore/SECURITY.md libcore/CHANGES.md)
install(FILES ${documents} DESTINATION share/doc/dt COMPONENT documents)
file(GLOB guides CONFIGURE_DEPENDS cmd/*/README.md)
foreach(guide ${guides})
  cmake_path(GET guide PARENT_PATH tool)
  cmake_path(GET tool FILENAME tool)
  install(FILES ${guide} DESTINATION share/doc/dt RENAME ${tool}.md COMPONENT documents)
endforeach()
# Links between documents follow them to where they are now.
install(CODE [[
  file(GLOB documents "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/share/doc/dt/*.md")
  foreach(document ${documents})
    file(READ "${document}" text)
    string(REGEX REPLACE "\\]\\([./]*(cmd/)?(dt-[a-z-]+)/README\\.md" "](\\2.md" text "${text}")
    string(REGEX REPLACE "\\]\\([./]*libcore/(FORMATS|SECURITY|CHANGES)\\.md" "](\\1.md" text "${text}")
    string(REGEX REPLACE "\\]\\([./]*jobs/" "](../../dt/jobs/" text "${text}")
    string(REGEX REPLACE "\\]\\((\\.\\./)+README\\.md" "](README.md" text "${text}")
    file(WRITE "${document}" "${text}")
  endforeach()
]] COMPONENT documents)
