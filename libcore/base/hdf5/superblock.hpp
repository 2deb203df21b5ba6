#pragma once
// "II.A. Disk Format: Level 0A - Format Signature and Superblock".

#include <cstdint>

#include "base/hdf5/source.hpp"
#include "base/io/files.hpp"

namespace dt::hdf5 {

/// Reads the superblock, and returns the address of the root group's object header.
/// Errors: input, naming the file, if it is no HDF5 file, truncated, still being written, or of a
/// kind that dt does not read.
std::uint64_t read_superblock(const File& file, MetadataReader& source);

}  // namespace dt::hdf5
