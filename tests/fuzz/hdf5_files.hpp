#pragma once
// Reads HDF5 files as dt's tools do.
// Errors: those of the readers.

#include <filesystem>

namespace dt_fuzz {

/// Reads all that dt-train and dt-shard-data --verify read of a token shard.
void read_shard(const std::filesystem::path& path);

/// Reads every dataset's place, the ends of its payload, and attributes that dt has names for.
void read_hdf5(const std::filesystem::path& path);

}  // namespace dt_fuzz
