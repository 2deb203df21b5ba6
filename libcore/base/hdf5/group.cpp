#include "base/hdf5/group.hpp"

#include <algorithm>

#include "base/hdf5/dense_storage.hpp"

namespace dt::hdf5 {

namespace {

void add_link(const MetadataReader& source, Links& links, std::string name,
              std::optional<std::uint64_t> address) {
  if (name.empty() || name.find_first_of(std::string_view("/\0", 2)) != std::string::npos)
    throw source.damaged_error(fmt::format("a link has no name, or one with a slash or a NUL: '{}'", name));
  const auto [found, is_new] = links.emplace(std::move(name), address);
  if (!is_new) throw source.damaged_error(fmt::format("a group has two links named '{}'", found->first));
}

constexpr std::string_view what = "symbol table";

/// Reads groups in the form for HDF5's oldest readers, which h5py writes by default.
/// Source: "III.A.1. Version 1 B-trees", "III.B. Group Symbol Table Nodes", "III.C. Symbol Table
/// Entry" and "III.D. Local Heaps".
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
    if (end == names_.end()) throw source_.damaged_error("a name in its local heap is not terminated");
    return {reinterpret_cast<const char*>(names_.data() + offset), length};
  }

  /// Levels decrease towards the leaves, which ends the recursion. The source's bound limits the
  /// work.
  void add_tree(std::uint64_t address, unsigned level) {
    const std::vector<std::byte> prefix = source_.read(address, tree_prefix_bytes, what);
    FieldReader fields(source_, prefix, what);
    fields.expect("TREE");
    if (fields.u8() != 0) throw fields.damaged_error("has a B-tree of the wrong type");
    if (fields.u8() != level) throw fields.damaged_error("has a node at the wrong level");
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

constexpr std::uint8_t link_names_tree = 5;  // "Version 2 B-tree, Type 5 Record Layout": hash of the name, ID

/// "IV.A.2.g. The Link Message".
void add_link_message(const MetadataReader& source, Bytes message, Links& links) {
  constexpr std::uint8_t order_flag = 0x04, type_flag = 0x08, charset_flag = 0x10, hard = 0;
  FieldReader fields(source, message, "link");
  fields.expect_version(1);
  const std::uint8_t flags = fields.u8();
  const std::uint8_t type = (flags & type_flag) != 0 ? fields.u8() : hard;
  if ((flags & order_flag) != 0) fields.skip(8);
  if ((flags & charset_flag) != 0) fields.skip(1);
  const Bytes name = fields.take(fields.number(std::size_t{1} << (flags & 0x03)));
  std::string text(reinterpret_cast<const char*>(name.data()), name.size());
  add_link(source, links, std::move(text), type == hard ? std::optional(fields.u64()) : std::nullopt);
}

/// "IV.A.2.c. The Link Info Message": the place of links outside the group's header.
void add_dense_links(MetadataReader& source, const Message& info, Links& links) {
  constexpr std::uint8_t order_flag = 0x01;
  FieldReader fields(source, info.content, "link info");
  fields.expect_version(0);
  if ((fields.u8() & order_flag) != 0) fields.skip(8);
  const std::uint64_t heap_address = fields.u64();
  const std::uint64_t tree_address = fields.u64();
  if (heap_address == undefined_address) return;
  FractalHeap heap(source, heap_address);
  const BTreeRecords records = read_btree_v2(source, tree_address, link_names_tree, 4 + heap.id_bytes());
  for (std::size_t i = 0; i < records.size(); ++i) {
    // A link too large for the heap's blocks has a name of more than 4 KiB and is left out.
    if (const auto link = heap.find(records[i].subspan(4))) add_link_message(source, *link, links);
  }
}

}  // namespace

bool is_group(const ObjectHeader& object) {
  for (const Message& message : object.messages()) {
    if (message.type == MessageType::symbol_table || message.type == MessageType::link_info) return true;
  }
  return false;
}

Links read_links(MetadataReader& source, const ObjectHeader& group) {
  Links links;
  if (const Message* table = group.find(MessageType::symbol_table, source)) {
    SymbolTableReader(source, *table, links);
    return links;
  }
  for (const Message& message : group.messages()) {
    if (message.type == MessageType::link) add_link_message(source, message.content, links);
  }
  if (const Message* info = group.find(MessageType::link_info, source)) add_dense_links(source, *info, links);
  return links;
}

}  // namespace dt::hdf5
