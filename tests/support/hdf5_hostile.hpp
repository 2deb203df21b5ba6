#pragma once
// Writes HDF5 files by their library. dt refuses them, or reads them without following what they
// refer to.

#include <filesystem>

namespace dt_test {

/// Writes a file of:
/// /overflow: u32 of 2^62 + 20000 elements, whose bytes wrap around to 80,000, which are stored
/// /virtual, /external: f32 of 4 elements that lie in other files
/// /good: u32 of 4 elements, 0 to 3
/// /loop: a group that holds itself as /loop/loop
/// /deep/g/g/…/bottom: u8 of 1 element within `depth` groups
/// and the attribute "variable" of /, text of variable length.
void write_hostile_hdf5(const std::filesystem::path& path, int depth);

}  // namespace dt_test
