#include "base/hdf5/btree_v2.hpp"

#include <bit>

#include "base/numeric/integer.hpp"

namespace dt::hdf5 {

namespace {

constexpr std::string_view what = "B-tree of version 2";
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
    const std::vector<std::byte> header = source.read(address, header_bytes, what);
    FieldReader fields(source, without_checksum(source, header, what), what);
    fields.expect("BTHD");
    fields.expect_version(0);
    if (fields.u8() != type) throw fields.damaged_error("indexes something else");
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
    const std::vector<std::byte> node =
        source_.read(address, node_overhead_bytes + record_bytes + (num_records + 1) * pointer_bytes, what);
    FieldReader fields(source_, without_checksum(source_, node, what), what);
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

}  // namespace

BTreeRecords read_btree_v2(MetadataReader& source, std::uint64_t address, std::uint8_t type,
                           std::size_t least_record_bytes) {
  return Tree(source, address, type, least_record_bytes).take();
}

}  // namespace dt::hdf5
