# Lists what dt is built from. CMake finds each row and names all that are missing at once, the Makefile installs the Debian packages,
# and README.md shows the table (tests/lint/check_dependencies.sh).
#
# Columns: target | shown as | ways to find it | Debian | RHEL with EPEL | Spack. A comma before "or" begins an alternative, which the
# Makefile does not install. The first way that succeeds gives the library's target, external::TARGET:
#   pc:MODULE,…              files of pkg-config
#   package:NAME/PART=LIB+…  a package or find module of CMake (and which of its components), and the targets that it brings
#   file:NAME,…=HEADER       a library's file, the first of the names that is anywhere, and the folder of a header
# Rows without a way are looked for by CMake itself.
find_package(PkgConfig QUIET)
set(dt_dependencies
  "openmp | C++20 compiler with OpenMP: gcc 12, clang 16 or newer | package:OpenMP/CXX=OpenMP::OpenMP_CXX | build-essential, or clang-19 libomp-19-dev | gcc-toolset-12-gcc-c++, or gcc-c++ of RHEL 10 | gcc"
  "cmake | CMake 3.25 or newer | | cmake | cmake | cmake"
  "ninja | Ninja | | ninja-build | ninja-build | ninja"
  "pkg_config | pkg-config | package:PkgConfig= | pkg-config | pkgconf-pkg-config | pkgconf"
  "mpi | MPI | package:MPI/C=MPI::MPI_C | libopenmpi-dev openmpi-bin, or libmpich-dev mpich | openmpi-devel, or mpich-devel | openmpi, or mpich"
  "program_options | Boost.Asio and Program_options | package:Boost/program_options=Boost::program_options | libboost-program-options-dev | boost-devel | boost+program_options"
  "fmt | fmt | package:fmt=fmt::fmt pc:fmt | libfmt-dev | fmt-devel | fmt"
  "hdf5 | HDF5 | pc:hdf5 package:HDF5/C=hdf5::hdf5 | libhdf5-dev | hdf5-devel | hdf5"
  "highway | Highway | pc:libhwy,libhwy-contrib package:hwy=hwy::hwy+hwy::hwy_contrib | libhwy-dev | highway-devel | highway"
  "json | JSON for Modern C++ | package:nlohmann_json=nlohmann_json::nlohmann_json pc:nlohmann_json | nlohmann-json3-dev | json-devel | nlohmann-json"
  "simdjson | simdjson | pc:simdjson package:simdjson=simdjson::simdjson | libsimdjson-dev | simdjson-devel | simdjson"
  "oniguruma | Oniguruma | pc:oniguruma file:onig=oniguruma.h | libonig-dev | oniguruma-devel | oniguruma"
  "utf8proc | utf8proc | pc:libutf8proc file:utf8proc=utf8proc.h | libutf8proc-dev | utf8proc-devel | utf8proc"
  "xxhash | xxHash | pc:libxxhash file:xxhash=xxhash.h | libxxhash-dev | xxhash-devel | xxhash"
  # The static library where it is there: of libarchive dt takes the little that reads tar and zip. As a shared library it would bring
  # XML, Unicode and 15 more to every program. Where the static library needs more than dt links: -DARCHIVE_LIBRARY=…/libarchive.so.
  "archive | libarchive | file:libarchive.a,archive=archive.h | libarchive-dev | libarchive-devel | libarchive"
  # Makes codes of authenticity (base/io/secret.hpp), and encrypts.
  "nettle | Nettle | file:libnettle.a,nettle=nettle/hmac.h | nettle-dev | nettle-devel | nettle"
  "zlib | zlib | pc:zlib package:ZLIB=ZLIB::ZLIB | zlib1g-dev | zlib-devel | zlib"
  "bzip2 | bzip2 | package:BZip2=BZip2::BZip2 pc:bzip2 | libbz2-dev | bzip2-devel | bzip2"
  "lzma | liblzma | pc:liblzma package:LibLZMA=LibLZMA::LibLZMA | liblzma-dev | xz-devel | xz"
  "lz4 | LZ4 | pc:liblz4 file:lz4=lz4frame.h | liblz4-dev | lz4-devel | lz4"
  "zstd | Zstandard | pc:libzstd file:zstd=zstd.h | libzstd-dev | libzstd-devel | zstd")

# dt_find_by_way(target kind words): looks for a library in one way. Sets found, and libraries and include_dir to what the way brings.
function(dt_find_by_way target kind words)
  set(found FALSE)
  set(libraries "")
  set(include_dir "")
  if(kind STREQUAL "pc" AND COMMAND pkg_check_modules)
    string(REPLACE "," ";" modules "${words}")
    pkg_check_modules(external_${target} QUIET IMPORTED_TARGET ${modules})
    set(found ${external_${target}_FOUND})
    set(libraries PkgConfig::external_${target})
  elseif(kind STREQUAL "package" AND words MATCHES "^([^/=]+)/?([^=]*)=(.*)$")
    set(package ${CMAKE_MATCH_1})
    set(components ${CMAKE_MATCH_2})
    string(REPLACE "+" ";" libraries "${CMAKE_MATCH_3}")
    find_package(${package} QUIET COMPONENTS ${components})
    set(found ${${package}_FOUND})
  elseif(kind STREQUAL "file" AND words MATCHES "^(.*)=(.*)$")
    set(header ${CMAKE_MATCH_2})
    string(REPLACE "," ";" names "${CMAKE_MATCH_1}")
    string(TOUPPER ${target} variable)
    find_library(${variable}_LIBRARY NAMES ${names})
    find_path(${variable}_INCLUDE_DIR ${header})
    if(${variable}_LIBRARY AND ${variable}_INCLUDE_DIR)
      set(found TRUE)
    endif()
    set(libraries ${${variable}_LIBRARY})
    set(include_dir ${${variable}_INCLUDE_DIR})
  endif()
  foreach(library ${libraries})
    if(library MATCHES "::" AND NOT TARGET ${library})
      set(found FALSE)
    endif()
  endforeach()
  return(PROPAGATE found libraries include_dir)
endfunction()

# dt_find_dependencies(rows...): makes external::TARGET of each row, or stops and names the packages of all rows that were not found.
function(dt_find_dependencies)
  set(missing "")
  foreach(row ${ARGN})
    string(REGEX REPLACE " *\\| *" ";" row "${row}")
    list(POP_FRONT row target shown ways)
    string(REPLACE " " ";" ways "${ways}")
    set(found TRUE)
    foreach(way ${ways})
      string(REGEX MATCH "^([a-z]+):(.*)$" way "${way}")
      dt_find_by_way(${target} ${CMAKE_MATCH_1} "${CMAKE_MATCH_2}")
      if(found)
        message(STATUS "Found ${shown}: ${way}")
        add_library(external::${target} INTERFACE IMPORTED)
        target_link_libraries(external::${target} INTERFACE ${libraries})
        target_include_directories(external::${target} INTERFACE ${include_dir})
        break()
      endif()
    endforeach()
    if(NOT found)
      list(GET row 0 debian)
      list(GET row 1 rhel)
      list(GET row 2 spack)
      string(APPEND missing "  ${shown}\n    Debian: ${debian}; RHEL with EPEL: ${rhel}; Spack: ${spack}\n")
    endif()
  endforeach()
  if(missing)
    message(FATAL_ERROR "these build dependencies were not found:\n${missing}"
      "  Install them, or name the folders that they are installed in: -DCMAKE_PREFIX_PATH=\"/opt/one;/opt/other\"")
  endif()
endfunction()
