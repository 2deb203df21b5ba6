#include <algorithm>
#include <cerrno>
#include <map>
#include <variant>

#include "base/error.hpp"
#include "base/hdf5_file.hpp"
#include "base/hdf5_file_support.hpp"

namespace dt {

namespace {

using Attribute = std::variant<std::string, std::int64_t, double>;

std::optional<std::string> read_string(hid_t attribute, hid_t type, hid_t space) {
  if (H5Tis_variable_str(type) > 0) {
    char* text = nullptr;
    if (H5Aread(attribute, type, &text) < 0) return std::nullopt;
    std::string value = text == nullptr ? "" : text;
    H5Dvlen_reclaim(type, space, H5P_DEFAULT, &text);
    return value;
  }
  std::string value(H5Tget_size(type), '\0');
  if (H5Aread(attribute, type, value.data()) < 0) return std::nullopt;
  const bool space_padded = H5Tget_strpad(type) == H5T_STR_SPACEPAD;
  value.resize(std::min(value.find('\0'), value.size()));
  if (space_padded) value.resize(value.find_last_not_of(' ') + 1);
  return value;
}

std::optional<Attribute> read_attribute(hid_t attribute) {
  const Hdf5Handle type(H5Aget_type(attribute), H5Tclose);
  const Hdf5Handle space(H5Aget_space(attribute), H5Sclose);
  if (!type.valid() || H5Sget_simple_extent_npoints(space.id()) != 1) return std::nullopt;
  std::int64_t integer = 0;
  double real = 0;
  switch (H5Tget_class(type.id())) {
    case H5T_STRING:
      return read_string(attribute, type.id(), space.id());
    case H5T_INTEGER:
      if (H5Aread(attribute, H5T_NATIVE_INT64, &integer) < 0) return std::nullopt;
      return integer;
    case H5T_FLOAT:
      if (H5Aread(attribute, H5T_NATIVE_DOUBLE, &real) < 0) return std::nullopt;
      return real;
    default:
      return std::nullopt;
  }
}

}  // namespace

struct Hdf5Reader::State {
  explicit State(const fs::path& path) : file(File::open_read(path)), file_bytes(file.size()) {}
  File file;
  std::uint64_t file_bytes;
  std::vector<DatasetInfo> datasets;
  std::map<std::string, std::size_t> index;                             // path → place in datasets
  std::map<std::string, std::string> unreadable;                        // path → why
  std::map<std::pair<std::string, std::string>, Attribute> attributes;  // (object, name)

  Error error(const std::string& what, std::string context = {}) const {
    return Error(ErrorKind::input, fmt::format("{} {}", file.path().string(), what), std::move(context));
  }
  /// What the library's last failure means: what the system refuses is no damage.
  Error failure(const std::string& what = {}) const {
    const Hdf5Failure f = last_hdf5_failure();
    if (f.error_number != 0) return system_error(f.error_number, "read", file.path().string());
    return error(fmt::format("is damaged: {}{}", what, f.description));
  }
  void scan(hid_t hdf5);
  void add_attributes(hid_t object, const std::string& path);
  void add_dataset(hid_t dataset, const std::string& path);
  std::string why_unreadable(hid_t dataset, const DatasetInfo& info, bool known_type) const;
};

void Hdf5Reader::State::scan(hid_t hdf5) {
  std::vector<std::pair<std::string, H5O_type_t>> objects;
  const herr_t visited = H5Ovisit(
      hdf5, H5_INDEX_NAME, H5_ITER_NATIVE,
      [](hid_t, const char* name, const H5O_info_t* info, void* out) noexcept -> herr_t {
        const std::string path = std::string_view(name) == "." ? "/" : "/" + std::string(name);
        static_cast<std::vector<std::pair<std::string, H5O_type_t>>*>(out)->emplace_back(path, info->type);
        return 0;
      },
      &objects);
  if (visited < 0) throw failure();
  std::sort(objects.begin(), objects.end());
  for (const auto& [path, type] : objects) {
    const Hdf5Handle object(H5Oopen(hdf5, path.c_str(), H5P_DEFAULT), H5Oclose);
    if (!object.valid()) throw failure(path + ": ");
    add_attributes(object.id(), path);
    if (type == H5O_TYPE_DATASET) add_dataset(object.id(), path);
  }
}

void Hdf5Reader::State::add_attributes(hid_t object, const std::string& path) {
  std::vector<std::string> names;
  const herr_t visited = H5Aiterate2(
      object, H5_INDEX_NAME, H5_ITER_NATIVE, nullptr,
      [](hid_t, const char* name, const H5A_info_t*, void* out) noexcept -> herr_t {
        static_cast<std::vector<std::string>*>(out)->emplace_back(name);
        return 0;
      },
      &names);
  if (visited < 0) throw failure(fmt::format("attributes of {}: ", path));
  for (const std::string& name : names) {
    const Hdf5Handle attribute(H5Aopen(object, name.c_str(), H5P_DEFAULT), H5Aclose);
    if (!attribute.valid()) throw failure(fmt::format("attribute {} of {}: ", name, path));
    H5Eclear2(H5E_DEFAULT);
    if (auto value = read_attribute(attribute.id())) {
      attributes[{path, name}] = *std::move(value);
    } else if (last_hdf5_failure().error_number != 0) {  // not one of a kind that dt does not read
      throw failure();
    }
  }
}

void Hdf5Reader::State::add_dataset(hid_t dataset, const std::string& path) {
  const Hdf5Handle type(H5Dget_type(dataset), H5Tclose);
  const Hdf5Handle space(H5Dget_space(dataset), H5Sclose);
  const int rank = space.valid() ? H5Sget_simple_extent_ndims(space.id()) : -1;
  if (!type.valid() || rank < 0) throw failure(path + ": ");
  std::vector<hsize_t> extents(static_cast<std::size_t>(rank));
  H5Sget_simple_extent_dims(space.id(), extents.data(), nullptr);
  const std::optional<DType> dtype = dtype_of_hdf5_type(type.id());
  DatasetInfo info{
      path, dtype.value_or(DType::u8), {extents.begin(), extents.end()}, H5Dget_offset(dataset), 0};
  const bool is_null = H5Sget_simple_extent_type(space.id()) == H5S_NULL;
  info.bytes = is_null ? 0 : element_count(info.shape) * H5Tget_size(type.id());
  if (info.bytes == 0) info.offset = 0;
  if (std::string why = why_unreadable(dataset, info, dtype.has_value()); !why.empty()) {
    unreadable[path] = std::move(why);
    return;
  }
  index[path] = datasets.size();
  datasets.push_back(std::move(info));
}

std::string Hdf5Reader::State::why_unreadable(hid_t dataset, const DatasetInfo& info, bool known_type) const {
  if (!known_type) {
    return "has an element type that dt does not read: little-endian f64, f32, f16, bf16, i64, i32, u64, "
           "u32, u16 or u8 is "
           "expected";
  }
  const Hdf5Handle creation(H5Dget_create_plist(dataset), H5Pclose);
  if (H5Pget_layout(creation.id()) != H5D_CONTIGUOUS || H5Pget_external_count(creation.id()) > 0) {
    return "is not contiguous: rewrite it without chunks, compression and external files";
  }
  if (info.bytes > 0 && info.offset == HADDR_UNDEF) return "has no data: it was declared but never written";
  if (info.bytes > 0 && (info.offset > file_bytes || info.bytes > file_bytes - info.offset)) {
    return fmt::format("is truncated: it lies at bytes {} to {}, but the file ends at {}", info.offset,
                       info.offset + info.bytes, file_bytes);
  }
  return {};
}

Hdf5Reader::Hdf5Reader(const fs::path& path) : state_(std::make_unique<State>(path)) {
  const Hdf5Calls calls;
  Hdf5Handle hdf5(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  if (!hdf5.valid() && last_hdf5_failure().error_number == ESTALE)
    hdf5 = Hdf5Handle(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  if (!hdf5.valid()) {
    const Hdf5Failure failure = last_hdf5_failure();
    if (failure.description.find("truncated") != std::string::npos)
      throw state_->error("is truncated", failure.description);
    if (failure.error_number != 0 && failure.remedy.empty())
      throw system_error(failure.error_number, "open", path.string());
    const bool locked = failure.description.find("unable to lock") != std::string::npos;
    throw Error(locked ? ErrorKind::environment : ErrorKind::input,
                fmt::format("{} cannot be opened as an HDF5 file: {}", path.string(), failure.description),
                failure.remedy, failure.error_number);
  }
  state_->scan(hdf5.id());
}

Hdf5Reader::~Hdf5Reader() = default;
Hdf5Reader::Hdf5Reader(Hdf5Reader&&) noexcept = default;

const fs::path& Hdf5Reader::path() const {
  return state_->file.path();
}

const std::vector<DatasetInfo>& Hdf5Reader::datasets() const {
  return state_->datasets;
}

bool Hdf5Reader::has(const std::string& dataset) const {
  return state_->index.contains(dataset) || state_->unreadable.contains(dataset);
}

const DatasetInfo& Hdf5Reader::info(const std::string& dataset) const {
  if (const auto found = state_->index.find(dataset); found != state_->index.end()) {
    return state_->datasets[found->second];
  }
  const auto why = state_->unreadable.find(dataset);
  if (why == state_->unreadable.end()) throw state_->error("has no dataset " + dataset);
  throw state_->error(fmt::format("dataset {} {}", dataset, why->second));
}

const DatasetInfo& Hdf5Reader::info_as(const std::string& dataset, DType dtype) const {
  const DatasetInfo& d = info(dataset);
  if (d.dtype != dtype) {
    throw state_->error(fmt::format("dataset {} holds {} elements", dataset, dtype_name(d.dtype)),
                        fmt::format("{} is expected", dtype_name(dtype)));
  }
  return d;
}

void Hdf5Reader::read(const std::string& dataset, std::uint64_t byte_offset,
                      std::span<std::byte> bytes) const {
  const DatasetInfo& d = info(dataset);
  DT_CHECK(byte_offset <= d.bytes && bytes.size() <= d.bytes - byte_offset,
           "{} bytes at {} lie outside dataset {} of {} bytes", bytes.size(), byte_offset, dataset, d.bytes);
  state_->file.read_at(d.offset + byte_offset, bytes);
}

namespace {

template <class T, class Attributes>
std::optional<T> find_attribute(const Attributes& attributes, const std::string& object,
                                const std::string& name) {
  const auto found = attributes.find({object, name});
  if (found == attributes.end() || !std::holds_alternative<T>(found->second)) return std::nullopt;
  return std::get<T>(found->second);
}

}  // namespace

std::optional<std::string> Hdf5Reader::string_attribute(const std::string& object,
                                                        const std::string& name) const {
  return find_attribute<std::string>(state_->attributes, object, name);
}

std::optional<std::int64_t> Hdf5Reader::int_attribute(const std::string& object,
                                                      const std::string& name) const {
  return find_attribute<std::int64_t>(state_->attributes, object, name);
}

std::optional<double> Hdf5Reader::double_attribute(const std::string& object, const std::string& name) const {
  return find_attribute<double>(state_->attributes, object, name);
}

}  // namespace dt
