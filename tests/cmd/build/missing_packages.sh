#!/usr/bin/env bash
# CMake names what is missing, all at once, with the packages to install, and finds libraries of which pkg-config knows nothing.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
configure=(cmake -S "$DT_TESTS/.." -G Ninja -DCUDA=off)

PATH=/usr/bin:/bin expect_exit 1 "${configure[@]}" -B missing -DCMAKE_DISABLE_FIND_PACKAGE_Boost=ON -DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON \
  -DCMAKE_DISABLE_FIND_PACKAGE_fmt=ON
expect_match stderr '^ +Boost.Asio and Program_options$'
expect_match stderr 'Debian: libboost-program-options-dev; RHEL with EPEL: boost-devel; Spack: boost\+program_options$'
expect_match stderr 'Debian: libopenmpi-dev openmpi-bin, or libmpich-dev mpich; RHEL with EPEL: openmpi-devel, or mpich-devel; Spack: openmpi'
expect_match stderr 'CMAKE_PREFIX_PATH'
expect_equal "$(grep -c Debian: stderr)" 2 "what is missing"
expect_match stdout 'Found fmt: pc:fmt'

PKG_CONFIG_LIBDIR=$PWD expect_exit 0 "${configure[@]}" -B without_pc_files
if grep 'Found .*: pc:' stdout; then fail "pkg-config finds what it should not"; fi
