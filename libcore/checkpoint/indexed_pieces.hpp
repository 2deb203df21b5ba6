#pragma once
// The pieces in the index file of a checkpoint of version 2. Memory grows with tensors and boxes, not with
// pieces.

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/io/mapped_file.hpp"
#include "checkpoint/index_format.hpp"
#include "checkpoint/piece_index.hpp"

namespace dt::checkpoint {

/// The body of an index file. Verifies blocks when they are first read. Nothing that it returns refers to the
/// file, which another process may change.
class IndexBody {
 public:
  /// `expected` says what the manifest does of the file. `origin` names it in errors. Where `bytes` map a
  /// `file`, blocks are first read from it: what a device or a server refuses is then an error, not the end
  /// of the process.
  /// Errors: input if the bytes are not those of the index that the manifest means.
  IndexBody(std::span<const std::byte> bytes, const StoredFile& expected, std::string origin,
            const File* file = nullptr);

  std::uint64_t size() const { return body_.size(); }
  /// Copies bytes that must lie in the body.
  /// Errors: input, naming the block that is damaged.
  void read(std::uint64_t begin, std::span<std::byte> out) const;
  template <class T>
  T read(std::uint64_t begin) const {
    T value;
    read(begin, std::as_writable_bytes(std::span(&value, 1)));
    return value;
  }
  Error error(const std::string& what) const;

 private:
  /// Returns the bytes as the file has them. `buffer` may hold them.
  std::span<const std::byte> load(std::uint64_t begin, std::uint64_t count,
                                  std::vector<std::byte>& buffer) const;
  void verify(std::uint64_t block) const;

  std::span<const std::byte> all_;
  std::span<const std::byte> body_;
  std::string origin_;
  const File* file_;
  std::vector<std::uint64_t> digests_;
  std::unique_ptr<std::atomic<bool>[]> verified_;  // by block
};

class IndexedPieces : public PieceIndex {
 public:
  /// Maps the file. `manifest` must outlive the object.
  IndexedPieces(const Manifest& manifest, const fs::path& path);
  IndexedPieces(const Manifest& manifest, std::vector<std::byte> file);

  StoredPiece piece(std::uint64_t number) const override;
  /// Returns the pieces of a file in the order of their offsets.
  std::vector<StoredPiece> of_file(std::size_t file) const override;
  bool has_pieces(std::size_t file) const override;
  void check() const override;

 protected:
  std::pair<std::int64_t, std::int64_t> interval(std::uint64_t number) const override;

 private:
  /// The number of a tensor, and of one of its boxes.
  struct BoxOwner {
    std::size_t tensor;
    std::size_t box;
  };

  void parse();
  void parse_tensor(const index_format::TensorEntry& entry, std::uint64_t boxes_end,
                    std::span<const char> names);
  StoredBox parse_box(std::uint64_t number, const StoredTensor& tensor) const;
  /// Returns an entry after checking all that readers rely on.
  index_format::PieceEntry entry(std::uint64_t number) const;
  const StoredTensor& tensor_of(const index_format::PieceEntry& entry) const;
  const StoredBox& box_of(const index_format::PieceEntry& entry) const;
  std::uint64_t payload_bytes(const index_format::PieceEntry& entry) const;
  StoredPiece piece_of(const index_format::PieceEntry& entry) const;
  std::pair<std::uint32_t, std::uint32_t> range_of_file(std::size_t file) const;
  std::vector<index_format::PieceEntry> entries_of_file(std::size_t file) const;

  const Manifest& manifest_;
  File file_;
  std::unique_ptr<MappedFile> mapped_;
  std::vector<std::byte> memory_;
  std::unique_ptr<IndexBody> body_;
  index_format::Header header_{};
  index_format::Layout layout_{};
  std::vector<BoxOwner> boxes_;
};

}  // namespace dt::checkpoint
