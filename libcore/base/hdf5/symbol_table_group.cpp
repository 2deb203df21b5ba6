// Groups in the form for HDF5's oldest readers, which h5py writes by default.
// Source: "III.A.1. Version 1 B-trees", "III.B. Group Symbol Table Nodes", "III.C. Symbol Table
// Entry" and "III.D. Local Heaps".

#include <algorithm>

#include "base/hdf5/group.hpp"

namespace dt::hdf5 {

namespace {

constexpr std::string_view what = "symbol table";

class SymbolTableReader {
 public:
  SymbolTableReader(MetadataReader& source, const Message& message, Links& links)
      : source_(source), links_(links) {
    FieldReader fields(source, message.content, what);  // "IV.A.2.r. The Symbol Table Message"
    const std::uint64_t tree = fields.u64();
    read_names(fields.u64());
    const std::vector<std::byte> root = source.read(tree, tree_prefix_bytes, what);
    add_tree(tree, std::to_integer<unsigned>(root[level_at]));
  }

 private:
  static constexpr std::uint64_t tree_prefix_bytes = 24, level_at = 5;

  void read_names(std::uint64_t address) {
    const std::vector<std::byte> heap = source_.read(address, 32, "local heap");
    FieldReader fields(source_, heap, "local heap");
    fields.expect("HEAP");
    fields.expect_version(0);
    fields.skip(3);
    const std::uint64_t bytes = fields.u64();
    fields.skip(8);  // free list
    names_ = source_.read(fields.u64(), bytes, "local heap");
  }

  std::string name_at(std::uint64_t offset) {
    if (offset >= names_.size()) throw source_.damaged_error("a name lies outside its local heap");
    const auto begin = names_.begin() + static_cast<std::ptrdiff_t>(offset);
    const auto end = std::find(begin, names_.end(), std::byte{0});
    const auto length = static_cast<std::size_t>(end - begin);
    source_.charge(length, "local heap");
    if (end == names_.end()) throw source_.damaged_error("a name in its local heap does not end");
    return {reinterpret_cast<const char*>(names_.data() + offset), length};
  }

  /// Levels decrease towards the leaves, which ends the recursion. The source's bound limits the
  /// work.
  void add_tree(std::uint64_t address, unsigned level) {
    const std::vector<std::byte> prefix = source_.read(address, tree_prefix_bytes, what);
    FieldReader fields(source_, prefix, what);
    fields.expect("TREE");
    if (fields.u8() != 0) throw fields.damaged_error("is a B-tree of something else");
    if (fields.u8() != level) throw fields.damaged_error("has a node of a wrong level");
    const std::uint64_t entries = fields.u16();
    const std::vector<std::byte> content = source_.read(address + tree_prefix_bytes, entries * 16, what);
    FieldReader children(source_, content, what);
    for (std::uint64_t i = 0; i < entries; ++i) {
      children.skip(8);  // key
      const std::uint64_t child = children.u64();
      if (level > 0) {
        add_tree(child, level - 1);
      } else {
        add_node(child);
      }
    }
  }

  void add_node(std::uint64_t address) {
    constexpr std::uint64_t prefix_bytes = 8, entry_bytes = 40;
    constexpr std::uint32_t soft_link = 2;
    const std::vector<std::byte> prefix = source_.read(address, prefix_bytes, what);
    FieldReader fields(source_, prefix, what);
    fields.expect("SNOD");
    fields.expect_version(1);
    fields.skip(1);
    const std::uint64_t entries = fields.u16();
    const std::vector<std::byte> content = source_.read(address + prefix_bytes, entries * entry_bytes, what);
    FieldReader entry(source_, content, what);
    for (std::uint64_t i = 0; i < entries; ++i) {
      std::string name = name_at(entry.u64());
      const std::uint64_t object = entry.u64();
      const bool is_soft = entry.u32() == soft_link;
      entry.skip(4 + 16);  // reserved, scratch-pad
      add_link(source_, links_, std::move(name), is_soft ? std::nullopt : std::optional(object));
    }
  }

  MetadataReader& source_;
  Links& links_;
  std::vector<std::byte> names_;
};

}  // namespace

void add_symbol_table_links(MetadataReader& source, const Message& symbol_table, Links& links) {
  SymbolTableReader(source, symbol_table, links);
}

}  // namespace dt::hdf5
