#pragma once
// Writing a checkpoint: whole under its final name, or not there.

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/manifest.hpp"
#include "tensor/tensor.hpp"

namespace dt::checkpoint {

/// A piece in memory.
struct SourcePiece {
  std::string tensor;
  std::string kind;
  Piece piece;
  Tensor data;  // piece.numel() elements
};

/// "step-00001000.g3"
std::string checkpoint_name(std::int64_t step, std::int64_t generation);

/// Writes `pieces` into one HDF5 file and the manifest (whose files and pieces are filled in here) into
/// `folder`/checkpoint_name(...): temporary sibling, sync of files and folder, rename, sync of the parent.
/// Blocks. Returns the final path. A crash leaves the whole checkpoint or a hidden temporary folder.
/// Errors: environment (full disk, ...); input where the name exists already. `written` is told bytes as they
/// go.
fs::path write_checkpoint(const fs::path& folder, Manifest manifest, std::span<const SourcePiece> pieces,
                          const std::function<void(std::uint64_t)>& written = {});

}  // namespace dt::checkpoint
