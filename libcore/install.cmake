# Installs what belongs beside the tools. cmake --install and packages take the same:
#   share/dt/jobs, share/dt/datasets   job scripts, which take the tools in bin beside share, and what the demo calls
#   share/dt/modulefiles               a module file
#   share/doc/dt                       documents in the repository's own tree, so that links between them hold
# All of it is one component: documents. A tool's component has the tool's name.
file(GLOB scripts CONFIGURE_DEPENDS jobs/*.sh jobs/*.sbatch)
install(PROGRAMS ${scripts} DESTINATION share/dt/jobs COMPONENT documents)
file(GLOB scripts CONFIGURE_DEPENDS datasets/*.sh)
install(PROGRAMS ${scripts} DESTINATION share/dt/datasets COMPONENT documents)

file(GLOB_RECURSE documents RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS
  .github/*.md cmd/*.md datasets/*.md jobs/*.md libcore/*.md tests/*.md)
foreach(document README.md LICENSE ${documents})
  cmake_path(GET document PARENT_PATH folder)
  install(FILES ${document} DESTINATION share/doc/dt/${folder} COMPONENT documents)
endforeach()

# The module file names the folder of dt, which `cmake --install --prefix` chooses.
install(CODE "
  set(version ${PROJECT_VERSION})
  set(file \"\${CMAKE_INSTALL_PREFIX}/share/dt/modulefiles/dt/${PROJECT_VERSION}.lua\")
  message(STATUS \"Installing: \$ENV{DESTDIR}\${file}\")
  configure_file(\"${PROJECT_SOURCE_DIR}/jobs/site/dt.lua.in\" \"\$ENV{DESTDIR}\${file}\" @ONLY)
  list(APPEND CMAKE_INSTALL_MANIFEST_FILES \"\${file}\")" COMPONENT documents)
