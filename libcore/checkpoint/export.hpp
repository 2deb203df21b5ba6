#pragma once
// One model file from a checkpoint's pieces, streaming: memory is bounded by the largest tensor's block, not
// the model.

#include <cstdint>
#include <filesystem>
#include <functional>

#include "checkpoint/reader.hpp"

namespace dt::checkpoint {

/// Told the bytes written as they go.
using BytesDone = std::function<void(std::uint64_t)>;

/// A folder with config.json and model.safetensors, as transformers' from_pretrained takes it. Appears only
/// when whole.
void export_hf(const Reader& checkpoint, const std::filesystem::path& folder, bool overwrite,
               const BytesDone& done = {});
/// One HDF5 file: /parameters/<canonical name>, the attribute `config` (the Hugging Face config.json).
/// Appears only when whole.
void export_h5(const Reader& checkpoint, const std::filesystem::path& file, bool overwrite,
               const BytesDone& done = {});

}  // namespace dt::checkpoint
