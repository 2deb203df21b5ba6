#include "base/hdf5/group.hpp"

#include "base/hdf5/btree_v2.hpp"
#include "base/hdf5/fractal_heap.hpp"

namespace dt::hdf5 {

namespace {

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

void add_link(const MetadataReader& source, Links& links, std::string name,
              std::optional<std::uint64_t> address) {
  if (name.empty() || name.find_first_of(std::string_view("/\0", 2)) != std::string::npos)
    throw source.damaged_error(fmt::format("a link has no name, or one with a slash or a NUL: '{}'", name));
  const auto [found, is_new] = links.emplace(std::move(name), address);
  if (!is_new) throw source.damaged_error(fmt::format("a group has two links named '{}'", found->first));
}

Links read_links(MetadataReader& source, const ObjectHeader& group) {
  Links links;
  if (const Message* table = group.find(MessageType::symbol_table, source)) {
    add_symbol_table_links(source, *table, links);
    return links;
  }
  for (const Message& message : group.messages()) {
    if (message.type == MessageType::link) add_link_message(source, message.content, links);
  }
  if (const Message* info = group.find(MessageType::link_info, source)) add_dense_links(source, *info, links);
  return links;
}

}  // namespace dt::hdf5
