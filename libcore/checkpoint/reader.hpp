#pragma once
// Reads a checkpoint in any layout. Loads only blocks that intersect the request, and verifies
// each.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/manifest.hpp"
#include "checkpoint/piece_index.hpp"
#include "checkpoint/verify.hpp"
#include "tensor/tensor.hpp"

namespace dt::checkpoint {

class Reader {
 public:
  /// Loads and checks the manifest. Checks that each file exists with its size. Reads an index only when
  /// pieces are asked for. Keeps up to `cached_blocks` of digest_block_bytes that were needed in part. The
  /// default suffices for slices of up to eight tensor-parallel ranks, whose rows lie in as many blocks side
  /// by side. Each read() reads its blocks again if `cached_blocks` is 0.
  /// Errors: input.
  explicit Reader(const fs::path& checkpoint, std::size_t cached_blocks = 8);
  ~Reader();
  Reader(Reader&&) noexcept;

  const fs::path& path() const;
  const Manifest& manifest() const;
  /// Errors: input for an index that is damaged.
  const PieceIndex& pieces() const;
  bool has(const std::string& kind, const std::string& tensor) const;
  /// Copies the part `wanted` of a global tensor into `out`, which has wanted.numel() elements. The
  /// first read from a file also checks the bytes outside its tensors. Reading all tensors
  /// therefore checks all files.
  /// Numerics: converts between f64, f32, bf16 and f16.
  /// Errors: input, naming file and tensor: a digest that differs, elements that no stored piece
  /// holds.
  void read(const std::string& kind, const std::string& tensor, const Piece& wanted, const Tensor& out) const;

  /// Returns the payload bytes that read() has loaded so far. Loads are whole blocks, each once
  /// unless it is needed again much later. Up to `cached_blocks` of the last blocks stay in memory.
  std::uint64_t bytes_read() const;

  /// Checks every digest of every file in bounded memory. `checked` receives the number of bytes as
  /// they are checked.
  std::vector<Problem> verify(const std::function<void(std::uint64_t)>& checked = {}) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Checks that the checkpoint has optimizer state.
/// Errors: input if it has none.
void require_optimizer_state(const Reader& reader);

}  // namespace dt::checkpoint
