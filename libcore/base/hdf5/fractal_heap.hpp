#pragma once
// "III.G. Fractal Heap": where links and attributes lie that are too many for an object's header.

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/hdf5/source.hpp"

namespace dt::hdf5 {

/// Heaps without filters. Blocks are read when an object in them is asked for, each once.
class FractalHeap {
 public:
  /// `source` outlives it. Errors: input, where it is damaged.
  FractalHeap(Source& source, std::uint64_t address);
  std::size_t id_bytes() const { return id_bytes_; }
  /// The object that a heap ID names; nothing where it lies outside the heap's blocks ("huge"), being larger
  /// than dt reads, or in the ID itself ("tiny"), being smaller than any that dt reads.
  std::optional<Bytes> find(Bytes id);

 private:
  struct Place {
    std::uint64_t address, bytes, heap_offset;  // of a direct block
  };
  std::uint64_t row_bytes(std::size_t row) const;
  std::uint64_t row_offset(std::size_t row) const;
  std::size_t rows_of(std::uint64_t block_bytes) const;
  Place place_of(std::uint64_t heap_offset);
  Fields block_fields(Bytes block, std::string_view signature, std::uint64_t heap_offset) const;
  const std::vector<std::uint64_t>& children(std::uint64_t address, std::size_t rows,
                                             std::uint64_t heap_offset);
  Bytes direct_block(const Place& place);

  Source* source_;
  std::uint64_t address_;
  std::size_t id_bytes_ = 0;
  std::size_t offset_width_ = 0, length_width_ = 0;  // of IDs
  bool has_checksums_ = false;                       // of direct blocks
  std::size_t columns_ = 0;                          // "table width"
  std::uint64_t first_bytes_ = 0;                    // "starting block size"
  std::size_t direct_rows_ = 0;                      // rows whose blocks are direct
  std::size_t most_rows_ = 0;                        // of the root block
  std::uint64_t root_ = undefined_address;
  std::size_t root_rows_ = 0;                                      // 0: the root is a direct block
  std::map<std::uint64_t, std::vector<std::byte>> direct_blocks_;  // by their place in the heap
  /// The addresses of an indirect block's children, by its place in the heap and its rows.
  std::map<std::pair<std::uint64_t, std::size_t>, std::vector<std::uint64_t>> indirect_blocks_;
};

}  // namespace dt::hdf5
