#include "base/hdf5/fractal_heap.hpp"

#include <algorithm>
#include <bit>

#include "base/numeric/integer.hpp"

namespace dt::hdf5 {

namespace {

constexpr std::string_view what = "fractal heap";

std::size_t log2_of(std::uint64_t power) {
  return static_cast<std::size_t>(std::countr_zero(power));
}

}  // namespace

FractalHeap::FractalHeap(MetadataReader& source, std::uint64_t address)
    : source_(&source), address_(address) {
  constexpr std::uint64_t header_bytes = 146;  // without filters
  constexpr std::uint8_t checksum_flag = 0x02;
  const std::vector<std::byte> header = source.read(address, header_bytes, what);
  FieldReader fields(source, header, what);
  fields.expect("FRHP");
  fields.expect_version(0);
  id_bytes_ = fields.u16();
  if (fields.u16() != 0)
    throw source.unsupported_error("its fractal heap has filters, which dt does not read");
  without_checksum(source, header, what);
  has_checksums_ = (fields.u8() & checksum_flag) != 0;
  const std::uint64_t largest_object = fields.u32();
  fields.skip(12 * 8);  // huge objects, free space, counts
  columns_ = fields.u16();
  first_bytes_ = fields.u64();
  const std::uint64_t largest_direct = fields.u64();
  const std::size_t heap_bits = fields.u16();
  fields.skip(2);  // starting number of rows in the root block
  root_ = fields.u64();
  root_rows_ = fields.u16();
  if (!std::has_single_bit(columns_) || !std::has_single_bit(first_bytes_) ||
      !std::has_single_bit(largest_direct) || largest_direct < first_bytes_ || heap_bits > 63 ||
      log2_of(largest_direct) > heap_bits || log2_of(first_bytes_) + log2_of(columns_) > heap_bits)
    throw fields.damaged_error("has blocks of sizes that no heap has");
  direct_rows_ = log2_of(largest_direct) - log2_of(first_bytes_) + 2;
  most_rows_ = heap_bits - log2_of(first_bytes_) - log2_of(columns_) + 1;
  if (root_rows_ > most_rows_) throw fields.damaged_error(fmt::format("has {} rows", root_rows_));
  offset_width_ = ceil_div(heap_bits, 8U);
  length_width_ =
      std::min<std::size_t>(ceil_div(log2_of(largest_direct), 8U),
                            ceil_div(static_cast<std::size_t>(std::bit_width(largest_object)), 8U));
  if (length_width_ == 0 || id_bytes_ < 1 + offset_width_ + length_width_)
    throw fields.damaged_error(fmt::format("has IDs of {} bytes", id_bytes_));
}

/// "Doubling table": blocks of the first two rows have the same size. Blocks of each later row have
/// twice the size of the row before.
std::uint64_t FractalHeap::row_bytes(std::size_t row) const {
  return row == 0 ? first_bytes_ : first_bytes_ << (row - 1);
}

std::uint64_t FractalHeap::row_offset(std::size_t row) const {
  return row == 0 ? 0 : columns_ * first_bytes_ << (row - 1);
}

/// Returns the number of rows of an indirect block that covers `block_bytes` of the heap.
std::size_t FractalHeap::rows_of(std::uint64_t block_bytes) const {
  const std::size_t first_row = log2_of(first_bytes_) + log2_of(columns_);
  return log2_of(block_bytes) < first_row ? 0 : log2_of(block_bytes) - first_row + 1;
}

FieldReader FractalHeap::block_fields(Bytes block, std::string_view signature,
                                      std::uint64_t heap_offset) const {
  FieldReader fields(*source_, block, what);
  fields.expect(signature);
  fields.expect_version(0);
  if (fields.u64() != address_ || fields.number(offset_width_) != heap_offset)
    throw fields.damaged_error("has a block that belongs to another heap or place");
  return fields;
}

/// "Fractal Heap Indirect Block".
const std::vector<std::uint64_t>& FractalHeap::children(std::uint64_t address, std::size_t rows,
                                                        std::uint64_t heap_offset) {
  const auto [found, is_new] = indirect_blocks_.try_emplace({heap_offset, rows});
  if (!is_new) return found->second;
  const std::vector<std::byte> block =
      source_->read(address, 4 + 1 + 8 + offset_width_ + rows * columns_ * 8 + 4, what);
  FieldReader fields = block_fields(without_checksum(*source_, block, what), "FHIB", heap_offset);
  while (!fields.remaining().empty()) found->second.push_back(fields.u64());
  return found->second;
}

/// Walks from the root to the direct block that holds an offset of the heap. The walk ends, since
/// an indirect block within another has fewer rows than the row that it lies in.
FractalHeap::DirectBlock FractalHeap::find_direct_block(std::uint64_t heap_offset) {
  if (root_ == undefined_address) throw source_->damaged_error("its fractal heap is empty");
  if (root_rows_ == 0) return {root_, first_bytes_, 0};
  std::uint64_t address = root_, begin = 0;
  for (std::size_t rows = root_rows_;;) {
    std::size_t row = 0;
    while (row + 1 < rows && heap_offset - begin >= row_offset(row + 1)) ++row;
    const std::uint64_t column = (heap_offset - begin - row_offset(row)) / row_bytes(row);
    if (rows == 0 || column >= columns_)
      throw source_->damaged_error("an ID of its fractal heap lies outside it");
    const std::uint64_t child = children(address, rows, begin).at(row * columns_ + column);
    if (child == undefined_address) throw source_->damaged_error("an ID of its fractal heap names no block");
    begin += row_offset(row) + column * row_bytes(row);
    if (row < direct_rows_) return {child, row_bytes(row), begin};
    rows = rows_of(row_bytes(row));
    address = child;
  }
}

/// "Fractal Heap Direct Block". Its checksum covers the whole block, with zeros in place of the
/// checksum.
Bytes FractalHeap::direct_block(const DirectBlock& place) {
  const auto [found, is_new] = direct_blocks_.try_emplace(place.heap_offset);
  std::vector<std::byte>& block = found->second;
  if (!is_new) return block;
  block = source_->read(place.address, place.bytes, what);
  FieldReader fields = block_fields(block, "FHDB", place.heap_offset);
  if (!has_checksums_) return block;
  const std::size_t position = block.size() - fields.remaining().size();
  const std::uint32_t expected = fields.u32();
  std::fill_n(block.begin() + static_cast<std::ptrdiff_t>(position), 4, std::byte{0});
  if (!is_checksum(expected, block)) throw fields.damaged_error("has a block whose checksum differs");
  return block;
}

/// "III.G. Fractal Heap ID": version and type in the first byte, then offset and length of a
/// managed object.
std::optional<Bytes> FractalHeap::find(Bytes id) {
  FieldReader fields(*source_, id, what);
  const std::uint8_t kind = fields.u8();
  if ((kind & 0xc0) != 0) throw fields.damaged_error("has IDs of another version");
  if ((kind & 0x30) != 0) return std::nullopt;
  const std::uint64_t offset = fields.number(offset_width_);
  const std::uint64_t bytes = fields.number(length_width_);
  const DirectBlock place = find_direct_block(offset);
  const std::uint64_t begin = offset - place.heap_offset;
  if (begin > place.bytes || bytes > place.bytes - begin)
    throw fields.damaged_error(fmt::format("has an object of {} bytes that its block does not hold", bytes));
  source_->charge(bytes, what);
  return direct_block(place).subspan(begin, bytes);
}

}  // namespace dt::hdf5
