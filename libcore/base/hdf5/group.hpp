#pragma once
// The links of a group, in each form in which HDF5 stores them.

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/hdf5/object_header.hpp"

namespace dt::hdf5 {

/// The address of each linked object's header, by name. Soft and external links, which dt does not
/// follow, have no address.
using Links = std::map<std::string, std::optional<std::uint64_t>>;

bool is_group(const ObjectHeader& object);

/// Reads all links of a group.
/// Errors: input if they are damaged or two have the same name.
Links read_links(MetadataReader& source, const ObjectHeader& group);

/// Adds the links of an old group, given its "Symbol Table Message" (old_group.cpp).
void add_symbol_table_links(MetadataReader& source, const Message& symbol_table, Links& links);

void add_link(const MetadataReader& source, Links& links, std::string name,
              std::optional<std::uint64_t> address);

}  // namespace dt::hdf5
