#pragma once
// Compares dt's reader of HDF5 files with the HDF5 library.

#include <filesystem>
#include <string>

namespace dt_test {

/// Reads a whole file with both. Returns "" if they agree on every dataset (name, type, shape,
/// place, payload) and on every attribute that dt reads, and refuse the same datasets. Otherwise
/// returns the first difference.
std::string hdf5_difference(const std::filesystem::path& path);

}  // namespace dt_test
