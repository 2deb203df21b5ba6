#include "base/hdf5/dense_storage.hpp"

#include <algorithm>
#include <bit>

#include "base/numeric/integer.hpp"

namespace dt::hdf5 {

namespace {

constexpr std::string_view tree_label = "B-tree of version 2";
constexpr std::uint64_t header_bytes = 38;
constexpr std::uint64_t node_overhead_bytes = 10;  // signature, version, type; checksum
constexpr std::uint16_t largest_depth = 32;
constexpr std::uint64_t most_records = std::uint64_t{1} << 32;  // per node

/// Returns the number of bytes that hold a number up to `limit`.
std::size_t width_of(std::uint64_t limit) {
  return ceil_div(static_cast<std::size_t>(std::bit_width(limit | 1)), 8U);
}

class Tree {
 public:
  Tree(MetadataReader& source, std::uint64_t address, std::uint8_t type, std::size_t least_record_bytes)
      : source_(source), type_(type) {
    const std::vector<std::byte> header = source.read(address, header_bytes, tree_label);
    FieldReader fields(source, without_checksum(source, header, tree_label), tree_label);
    fields.expect("BTHD");
    fields.expect_version(0);
    if (fields.u8() != type) throw fields.damaged_error("has an unexpected record type");
    const std::uint64_t node_bytes = fields.u32();
    records_.record_bytes = fields.u16();
    const std::uint16_t depth = fields.u16();
    fields.skip(1 + 1);  // percentages at which nodes split and merge
    const std::uint64_t root = fields.u64();
    const std::uint64_t root_records = fields.u16();
    if (records_.record_bytes < least_record_bytes)
      throw fields.damaged_error("has records that are too short");
    if (depth > largest_depth || node_bytes < node_overhead_bytes + records_.record_bytes)
      throw fields.damaged_error(fmt::format("has a depth of {} and nodes of {} bytes", depth, node_bytes));
    find_widths(node_bytes, depth);
    if (root != undefined_address) add_node(root, root_records, depth);
  }
  BTreeRecords take() { return std::move(records_); }

 private:
  /// Computes the widths of fields in child node pointers from the number of records that nodes can
  /// have.
  void find_widths(std::uint64_t node_bytes, std::uint16_t depth) {
    std::uint64_t most = (node_bytes - node_overhead_bytes) / records_.record_bytes;
    std::uint64_t total = most;
    count_width_ = width_of(most);
    total_widths_ = {0};
    for (std::uint16_t level = 1; level <= depth; ++level) {
      const std::uint64_t pointer_bytes = 8 + count_width_ + total_widths_.back();
      const std::uint64_t left = node_bytes - node_overhead_bytes;
      if (left < pointer_bytes) throw source_.damaged_error("the nodes of its B-tree are too short");
      most = (left - pointer_bytes) / (records_.record_bytes + pointer_bytes);
      if (total > (std::uint64_t{1} << 56) / (most + 1))
        throw source_.damaged_error("its B-tree is too deep");
      total = (most + 1) * total + most;
      total_widths_.push_back(width_of(total));
    }
  }

  /// "Version 2 B-tree, Internal Node" and "Leaf Node". Levels end the recursion. The source's
  /// bound limits the work if nodes share children.
  void add_node(std::uint64_t address, std::uint64_t num_records, std::uint16_t level) {
    if (num_records > source_.file_bytes() || num_records > most_records)
      throw source_.damaged_error(fmt::format("a node of its B-tree has {} records", num_records));
    const std::uint64_t record_bytes = num_records * records_.record_bytes;
    const std::uint64_t pointer_bytes = level == 0 ? 0 : 8 + count_width_ + total_widths_[level - 1U];
    const std::vector<std::byte> node = source_.read(
        address, node_overhead_bytes + record_bytes + (num_records + 1) * pointer_bytes, tree_label);
    FieldReader fields(source_, without_checksum(source_, node, tree_label), tree_label);
    fields.expect(level == 0 ? "BTLF" : "BTIN");
    fields.expect_version(0);
    if (fields.u8() != type_) throw fields.damaged_error("has nodes of another type");
    const Bytes records = fields.take(record_bytes);
    records_.bytes.insert(records_.bytes.end(), records.begin(), records.end());
    for (std::uint64_t i = 0; level > 0 && i <= num_records; ++i) {
      const std::uint64_t child = fields.u64();
      const std::uint64_t child_records = fields.number(count_width_);
      if (level > 1) fields.skip(total_widths_[level - 1U]);
      add_node(child, child_records, static_cast<std::uint16_t>(level - 1));
    }
  }

  MetadataReader& source_;
  std::uint8_t type_;
  BTreeRecords records_;
  std::size_t count_width_ = 0;
  std::vector<std::size_t> total_widths_;  // per level, for the records below a child; 0 for leaves
};

constexpr std::string_view heap_label = "fractal heap";

std::size_t log2_of(std::uint64_t power) {
  return static_cast<std::size_t>(std::countr_zero(power));
}

}  // namespace

BTreeRecords read_btree_v2(MetadataReader& source, std::uint64_t address, std::uint8_t type,
                           std::size_t least_record_bytes) {
  return Tree(source, address, type, least_record_bytes).take();
}

FractalHeap::FractalHeap(MetadataReader& source, std::uint64_t address)
    : source_(&source), address_(address) {
  constexpr std::uint64_t header_bytes = 146;  // without filters
  constexpr std::uint8_t checksum_flag = 0x02;
  const std::vector<std::byte> header = source.read(address, header_bytes, heap_label);
  FieldReader fields(source, header, heap_label);
  fields.expect("FRHP");
  fields.expect_version(0);
  id_bytes_ = fields.u16();
  if (fields.u16() != 0)
    throw source.unsupported_error("its fractal heap has filters, which dt does not read");
  without_checksum(source, header, heap_label);
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
    throw fields.damaged_error("has invalid block sizes");
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
  FieldReader fields(*source_, block, heap_label);
  fields.expect(signature);
  fields.expect_version(0);
  if (fields.u64() != address_ || fields.number(offset_width_) != heap_offset)
    throw fields.damaged_error("has a block that belongs to another heap or offset");
  return fields;
}

/// "Fractal Heap Indirect Block".
const std::vector<std::uint64_t>& FractalHeap::children(std::uint64_t address, std::size_t rows,
                                                        std::uint64_t heap_offset) {
  const auto [found, is_new] = indirect_blocks_.try_emplace({heap_offset, rows});
  if (!is_new) return found->second;
  const std::vector<std::byte> block =
      source_->read(address, 4 + 1 + 8 + offset_width_ + rows * columns_ * 8 + 4, heap_label);
  FieldReader fields = block_fields(without_checksum(*source_, block, heap_label), "FHIB", heap_offset);
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
    if (child == undefined_address)
      throw source_->damaged_error("an ID of its fractal heap refers to no block");
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
  block = source_->read(place.address, place.bytes, heap_label);
  FieldReader fields = block_fields(block, "FHDB", place.heap_offset);
  if (!has_checksums_) return block;
  const std::size_t position = block.size() - fields.remaining().size();
  const std::uint32_t expected = fields.u32();
  std::fill_n(block.begin() + static_cast<std::ptrdiff_t>(position), 4, std::byte{0});
  if (!is_checksum(expected, block)) throw fields.damaged_error("has a block whose checksum does not match");
  return block;
}

/// "III.G. Fractal Heap ID": version and type in the first byte, then offset and length of a
/// managed object.
std::optional<Bytes> FractalHeap::find(Bytes id) {
  FieldReader fields(*source_, id, heap_label);
  const std::uint8_t kind = fields.u8();
  if ((kind & 0xc0) != 0) throw fields.damaged_error("has IDs of an unknown version");
  if ((kind & 0x30) != 0) return std::nullopt;
  const std::uint64_t offset = fields.number(offset_width_);
  const std::uint64_t bytes = fields.number(length_width_);
  const DirectBlock place = find_direct_block(offset);
  const std::uint64_t begin = offset - place.heap_offset;
  if (begin > place.bytes || bytes > place.bytes - begin)
    throw fields.damaged_error(fmt::format("has an object of {} bytes that extends beyond its block", bytes));
  source_->charge(bytes, heap_label);
  return direct_block(place).subspan(begin, bytes);
}

}  // namespace dt::hdf5
