#include "support/hdf5_reference.hpp"

#include <fmt/ranges.h>
#include <map>
#include <optional>
#include <set>
#include <variant>

#include "base/error.hpp"
#include "base/hdf5/hdf5_file.hpp"
#include "base/hdf5/hdf5_library.hpp"

namespace dt_test {

namespace {

using namespace dt;
using Attribute = std::variant<std::monostate, std::string, std::int64_t>;  // monostate: dt refuses it

/// A dataset as the library reads it. The type is absent if dt is to refuse the dataset.
struct Dataset {
  std::optional<DType> dtype;
  std::vector<std::uint64_t> shape;
  std::uint64_t offset = 0;
  std::vector<std::byte> payload;
};

struct Content {
  std::map<std::string, Dataset> datasets;
  std::map<std::pair<std::string, std::string>, Attribute> attributes;
};

std::optional<DType> dtype_of(hid_t type) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16, DType::f64, DType::i64, DType::i32,
                            DType::u64, DType::u32, DType::u16, DType::u8}) {
    if (H5Tequal(type, hdf5_type(dtype).id()) > 0) return dtype;
  }
  return std::nullopt;
}

Attribute read_attribute(hid_t attribute) {
  const Hdf5Handle type(H5Aget_type(attribute), H5Tclose), space(H5Aget_space(attribute), H5Sclose);
  if (H5Sget_simple_extent_npoints(space.id()) != 1 || H5Tcommitted(type.id()) > 0) return {};
  if (H5Tget_class(type.id()) == H5T_INTEGER) {
    std::uint64_t wide = 0;
    std::int64_t integer = 0;
    H5Aread(attribute, H5T_NATIVE_UINT64, &wide);
    H5Aread(attribute, H5T_NATIVE_INT64, &integer);
    if (H5Tget_sign(type.id()) == H5T_SGN_NONE && wide >> 63 != 0) return {};
    return integer;
  }
  if (H5Tget_class(type.id()) != H5T_STRING || H5Tis_variable_str(type.id()) > 0) return {};
  std::string text(H5Tget_size(type.id()), '\0');
  if (text.size() > 65536) return {};
  H5Aread(attribute, type.id(), text.data());
  text.resize(std::min(text.find('\0'), text.size()));
  if (H5Tget_strpad(type.id()) == H5T_STR_SPACEPAD) text.resize(text.find_last_not_of(' ') + 1);
  return text;
}

Dataset read_dataset(hid_t dataset) {
  const Hdf5Handle type(H5Dget_type(dataset), H5Tclose), space(H5Dget_space(dataset), H5Sclose);
  const Hdf5Handle creation(H5Dget_create_plist(dataset), H5Pclose);
  std::vector<hsize_t> extents(static_cast<std::size_t>(H5Sget_simple_extent_ndims(space.id())));
  H5Sget_simple_extent_dims(space.id(), extents.data(), nullptr);
  Dataset read{dtype_of(type.id()), {extents.begin(), extents.end()}, H5Dget_offset(dataset), {}};
  const auto elements = static_cast<std::uint64_t>(H5Sget_simple_extent_npoints(space.id()));
  if (H5Tcommitted(type.id()) > 0 || H5Pget_layout(creation.id()) != H5D_CONTIGUOUS ||
      H5Pget_external_count(creation.id()) > 0 || (elements > 0 && read.offset == HADDR_UNDEF))
    read.dtype.reset();
  if (elements == 0) read.offset = 0;
  if (!read.dtype) return read;
  read.payload.resize(elements * H5Tget_size(type.id()));
  if (elements > 0) H5Dread(dataset, type.id(), H5S_ALL, H5S_ALL, H5P_DEFAULT, read.payload.data());
  return read;
}

Content read_by_library(const fs::path& path) {
  const Hdf5Lock calls;
  Content content;
  const Hdf5Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  DT_CHECK(file.valid(), "the library opens {}", path.string());
  std::map<std::string, H5O_type_t> objects;
  H5Ovisit(
      file.id(), H5_INDEX_NAME, H5_ITER_NATIVE,
      [](hid_t, const char* name, const H5O_info_t* info, void* out) -> herr_t {
        const std::string found = std::string_view(name) == "." ? "/" : "/" + std::string(name);
        (*static_cast<std::map<std::string, H5O_type_t>*>(out))[found] = info->type;
        return 0;
      },
      &objects);
  for (const auto& [name, type] : objects) {
    const Hdf5Handle object(H5Oopen(file.id(), name.c_str(), H5P_DEFAULT), H5Oclose);
    std::set<std::string> names;
    H5Aiterate2(
        object.id(), H5_INDEX_NAME, H5_ITER_NATIVE, nullptr,
        [](hid_t, const char* attribute, const H5A_info_t*, void* out) -> herr_t {
          static_cast<std::set<std::string>*>(out)->insert(attribute);
          return 0;
        },
        &names);
    for (const std::string& attribute_name : names) {
      const Hdf5Handle attribute(H5Aopen(object.id(), attribute_name.c_str(), H5P_DEFAULT), H5Aclose);
      content.attributes[{name, attribute_name}] = read_attribute(attribute.id());
    }
    if (type == H5O_TYPE_DATASET) content.datasets[name] = read_dataset(object.id());
  }
  return content;
}

/// Returns what dt reads, or nothing if dt refuses.
template <class Read>
auto accepted(Read read) -> std::optional<decltype(read())> {
  try {
    return read();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) throw;
    return std::nullopt;
  }
}

std::string dataset_difference(const Hdf5Reader& reader, const std::string& path, const Dataset& expected) {
  const auto info = accepted([&] { return reader.info(path); });
  if (info.has_value() != expected.dtype.has_value())
    return fmt::format("{} is {}", path, info ? "read" : "refused");
  if (!info) return {};
  std::vector<std::byte> payload(info->bytes);
  reader.read(path, 0, payload);
  if (info->dtype != expected.dtype) return path + " has another type";
  if (info->shape != expected.shape) return path + " has another shape";
  if (info->offset != expected.offset)
    return fmt::format("{} lies at {}, not {}", path, info->offset, expected.offset);
  return payload == expected.payload ? std::string() : path + " has another payload";
}

Attribute attribute_of(const Hdf5Reader& reader, const std::string& object, const std::string& name) {
  if (const auto text = accepted([&] { return reader.string_attribute(object, name); }); text && *text)
    return **text;
  if (const auto integer = accepted([&] { return reader.int_attribute(object, name); }); integer && *integer)
    return **integer;
  return {};
}

}  // namespace

std::string hdf5_difference(const fs::path& path) {
  const Content expected = read_by_library(path);
  const Hdf5Reader reader(path);
  std::vector<std::string> paths;
  for (const auto& [name, dataset] : expected.datasets) paths.push_back(name);
  if (reader.dataset_paths() != paths)
    return fmt::format("datasets are {}, not {}", fmt::join(reader.dataset_paths(), " "),
                       fmt::join(paths, " "));
  for (const auto& [name, dataset] : expected.datasets) {
    if (std::string difference = dataset_difference(reader, name, dataset); !difference.empty())
      return difference;
  }
  for (const auto& [place, value] : expected.attributes) {
    if (attribute_of(reader, place.first, place.second) != value)
      return fmt::format("the attribute {} of {} differs", place.second, place.first);
  }
  return {};
}

}  // namespace dt_test
