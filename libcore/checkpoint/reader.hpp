#pragma once
// Reading a checkpoint in any layout: only the blocks that intersect what is asked for, each verified.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/manifest.hpp"
#include "tensor/tensor.hpp"

namespace dt::checkpoint {

/// One thing that is wrong with a checkpoint.
struct Problem {
  std::string where;  // file, and tensor where known
  std::string what;
  bool is_unreadable = false;  // not damage: a permission or a limit keeps it from being read
};

class Reader {
 public:
  /// Loads and checks the manifest, and that each file exists with its size. Errors: input.
  /// Keeps up to `cached_blocks` of digest_block_bytes that were needed in part. The default does for slices
  /// of up to eight tensor-parallel ranks, whose rows lie in as many blocks side by side. 0: each is read
  /// again by each read() that needs it.
  explicit Reader(const fs::path& checkpoint, std::size_t cached_blocks = 8);
  ~Reader();
  Reader(Reader&&) noexcept;

  const fs::path& path() const;
  const Manifest& manifest() const;
  bool has(const std::string& kind, const std::string& tensor) const;
  /// Copies the part of a global tensor that `wanted` names into `out` (wanted.numel() elements; f32 and f64
  /// convert). Of a file that is touched for the first time, the bytes outside the tensors are checked as
  /// well, so that who reads all tensors has checked all files. Errors: input, naming file and tensor: a
  /// digest that differs, elements that no stored piece holds.
  void read(const std::string& kind, const std::string& tensor, const Piece& wanted, const Tensor& out) const;

  /// Of payload, by read(), so far: whole blocks, each once unless it was needed again much later. Up to 128
  /// MiB of the last ones are kept in memory.
  std::uint64_t bytes_read() const;

  /// Checks every digest of every file; memory bounded. `checked` is told bytes as they go.
  std::vector<Problem> verify(const std::function<void(std::uint64_t)>& checked = {}) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The same for a folder of any state of ruin: a manifest that cannot be read is a Problem, not an error.
/// Processes that share the work give `take`, which is asked once for the manifest and then for each of its
/// files, in order, whether it is the caller's to check.
std::vector<Problem> verify_checkpoint(const fs::path& checkpoint,
                                       const std::function<void(std::uint64_t)>& checked = {},
                                       const std::function<bool()>& take = {});

/// Names in the checkpoint's folder that its manifest does not know, sorted. They mean nothing.
std::vector<std::string> foreign_files(const fs::path& checkpoint, const Manifest& manifest);

/// Whether there is no optimizer's state, as in an imported checkpoint: training begins with it, but cannot
/// go on from it. That is no damage.
bool holds_weights_alone(const Manifest& manifest);
/// Errors: input, where it does.
void require_moments(const Reader& reader);

}  // namespace dt::checkpoint
