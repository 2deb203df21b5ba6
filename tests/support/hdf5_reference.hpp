#pragma once
// dt's reader of HDF5 files against the HDF5 library.

#include <filesystem>
#include <string>

namespace dt_test {

/// Reads a whole file with both. Returns "" where they agree on every dataset (name, type, shape, place,
/// payload) and every attribute that dt reads, and both refuse the same datasets; else the first difference.
std::string hdf5_difference(const std::filesystem::path& path);

}  // namespace dt_test
