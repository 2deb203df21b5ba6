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

}  // namespace dt::hdf5
