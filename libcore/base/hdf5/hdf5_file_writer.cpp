#include <algorithm>
#include <array>
#include <map>
#include <unistd.h>
#include <utility>

#include "base/error.hpp"
#include "base/hdf5/hdf5_file.hpp"
#include "base/hdf5/hdf5_library.hpp"

namespace dt {

namespace {

constexpr std::array<unsigned char, 8> signature = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
constexpr hsize_t payload_alignment = 64;

/// Upper bound of HDF5 1.10's metadata per dataset, link included. Datasets with the names of
/// checkpoints take 410 bytes.
constexpr hsize_t dataset_metadata_bytes = 512;

/// Returns file access properties that place the metadata of `num_datasets` datasets together at
/// the front. Otherwise metadata lies in blocks of 2 KiB between payloads, and checking it takes
/// one seek per block.
Hdf5Handle file_access(std::size_t num_datasets) {
  Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  // Only the latest format has a checksum on every piece of metadata.
  H5Pset_libver_bounds(access.id(), H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
  H5Pset_alignment(access.id(), 1, payload_alignment);
  if (num_datasets > 0) H5Pset_meta_block_size(access.id(), num_datasets * dataset_metadata_bytes);
  return access;
}

/// Returns creation properties without times, so that equal content makes equal files.
Hdf5Handle timeless(hid_t creation_class) {
  Hdf5Handle creation(H5Pcreate(creation_class), H5Pclose);
  H5Pset_obj_track_times(creation.id(), false);
  return creation;
}

/// Returns creation properties of contiguous datasets whose space is allocated at once and never filled.
Hdf5Handle contiguous() {
  Hdf5Handle creation = timeless(H5P_DATASET_CREATE);
  H5Pset_layout(creation.id(), H5D_CONTIGUOUS);
  H5Pset_alloc_time(creation.id(), H5D_ALLOC_TIME_EARLY);
  H5Pset_fill_time(creation.id(), H5D_FILL_TIME_NEVER);
  return creation;
}

/// Returns a path for HDF5, which opens files by path. The usual path may lead to another user's
/// file by now; this path always leads to the open file.
std::string path_for_hdf5(const File& file) {
  const std::string path = fmt::format("/proc/self/fd/{}", file.descriptor());
  return ::access(path.c_str(), W_OK) == 0 ? path : file.path().string();
}

}  // namespace

struct Hdf5Writer::State {
  explicit State(File created) : file(std::move(created)) {}
  File file;  // for payloads; until layout() HDF5 uses its own descriptor
  Hdf5Handle hdf5;
  bool laid_out = false;
  std::map<std::string, DatasetInfo> datasets;
  // Every dataset needs these, and making them costs more than the dataset does.
  Hdf5Handle group_creation, dataset_creation;
  std::map<DType, Hdf5Handle> types;
  std::map<std::string, Hdf5Handle> groups;  // open, by path

  ~State() {
    const Hdf5Lock calls;
    close_handles();
    if (!hdf5.valid()) return;
    hdf5.reset();
    try {
      make_unreadable();
    } catch (const Error&) {  // the file is incomplete anyway, and an earlier error is propagating
    }
  }
  /// Blanks the signature. Until close() the file lists its datasets but reads as zeros, so it must
  /// not pass for complete.
  void make_unreadable() {
    const std::array<std::byte, signature.size()> blank{};
    file.write_at(0, blank);
  }
  /// Closes what would keep HDF5's file open.
  void close_handles() {
    groups.clear();
    types.clear();
    group_creation.reset();
    dataset_creation.reset();
  }
  /// Returns the group of this path, with those above it. Groups that HDF5 makes implicitly record times.
  hid_t group(const std::string& path) {
    if (path.empty()) return hdf5.id();
    if (const auto known = groups.find(path); known != groups.end()) return known->second.id();
    const std::size_t slash = path.rfind('/');
    Hdf5Handle made(H5Gcreate2(group(path.substr(0, slash)), path.c_str() + slash + 1, H5P_DEFAULT,
                               group_creation.id(), H5P_DEFAULT),
                    H5Gclose);
    if (!made.valid()) throw error("group " + path);
    return groups.emplace(path, std::move(made)).first->second.id();
  }
  hid_t type(DType dtype) {
    const auto [at, is_new] = types.try_emplace(dtype);
    if (is_new) at->second = hdf5_type(dtype);
    return at->second.id();
  }
  Error error(const std::string& object) const {
    const Hdf5Failure failure = last_hdf5_failure();
    const std::string name = fmt::format("{} of {}", object, file.path().string());
    if (failure.error_number != 0 && failure.remedy.empty())
      return system_error(failure.error_number, "write", name);
    return Error(ErrorKind::environment, fmt::format("cannot write {}: {}", name, failure.description),
                 failure.remedy, failure.error_number);
  }
  void attribute(const std::string& object, const std::string& name, const Hdf5Handle& type,
                 const void* value) {
    const Hdf5Lock calls;
    DT_CHECK(!laid_out, "attribute {} of {} is declared after layout()", name, object);
    const Hdf5Handle space(H5Screate(H5S_SCALAR), H5Sclose);
    const Hdf5Handle created(H5Acreate_by_name(hdf5.id(), object.c_str(), name.c_str(), type.id(), space.id(),
                                               H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                             H5Aclose);
    if (!created.valid() || H5Awrite(created.id(), type.id(), value) < 0) {
      throw error(fmt::format("attribute {} of {}", name, object));
    }
  }
};

Hdf5Writer::Hdf5Writer(const fs::path& path, std::size_t num_datasets)
    : Hdf5Writer(File::create(path), num_datasets) {}

Hdf5Writer::Hdf5Writer(File file, std::size_t num_datasets)
    : state_(std::make_unique<State>(std::move(file))) {
  const Hdf5Lock calls;
  // Closing a handle clears the library's error stack, so handles outlive error reports.
  const Hdf5Handle access = file_access(num_datasets);
  const Hdf5Handle creation = timeless(H5P_FILE_CREATE);
  state_->hdf5 = Hdf5Handle(
      H5Fcreate(path_for_hdf5(state_->file).c_str(), H5F_ACC_TRUNC, creation.id(), access.id()), H5Fclose);
  if (!state_->hdf5.valid()) throw state_->error("the header");
  state_->group_creation = timeless(H5P_GROUP_CREATE);
  state_->dataset_creation = contiguous();
}

Hdf5Writer::~Hdf5Writer() = default;
Hdf5Writer::Hdf5Writer(Hdf5Writer&&) noexcept = default;

void Hdf5Writer::declare(const std::string& dataset, DType dtype, std::vector<std::uint64_t> shape) {
  const Hdf5Lock calls;
  DT_CHECK(!state_->laid_out, "dataset {} is declared after layout()", dataset);
  DT_CHECK(!state_->datasets.contains(dataset), "dataset {} is declared twice", dataset);
  const std::vector<hsize_t> extents(shape.begin(), shape.end());
  const Hdf5Handle space(shape.empty()
                             ? H5Screate(H5S_SCALAR)
                             : H5Screate_simple(static_cast<int>(shape.size()), extents.data(), nullptr),
                         H5Sclose);
  const std::size_t slash = dataset.rfind('/');
  const Hdf5Handle created(
      H5Dcreate2(state_->group(dataset.substr(0, slash)), dataset.c_str() + slash + 1, state_->type(dtype),
                 space.id(), H5P_DEFAULT, state_->dataset_creation.id(), H5P_DEFAULT),
      H5Dclose);
  if (!created.valid()) throw state_->error("dataset " + dataset);
  const std::uint64_t bytes = element_count(shape) * dtype_bytes(dtype);
  const haddr_t offset = bytes == 0 ? 0 : H5Dget_offset(created.id());
  if (offset == HADDR_UNDEF) throw state_->error("dataset " + dataset);
  state_->datasets[dataset] = DatasetInfo{dataset, dtype, std::move(shape), offset, bytes};
}

void Hdf5Writer::set_attribute(const std::string& object, const std::string& name, const std::string& value) {
  const Hdf5Lock calls;
  // Fixed-length text lies in the object's header, under its checksum.
  const Hdf5Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type.id(), std::max<std::size_t>(value.size(), 1));
  H5Tset_strpad(type.id(), H5T_STR_NULLPAD);
  H5Tset_cset(type.id(), H5T_CSET_UTF8);
  state_->attribute(object, name, type, value.c_str());
}

void Hdf5Writer::set_attribute(const std::string& object, const std::string& name, std::int64_t value) {
  const Hdf5Lock calls;
  state_->attribute(object, name, hdf5_type(DType::i64), &value);
}

void Hdf5Writer::end_declarations() {
  const Hdf5Lock calls;
  DT_CHECK(!state_->laid_out, "layout() of {} is called twice", state_->file.path().string());
  state_->close_handles();
  if (!state_->hdf5.reset()) throw state_->error("the metadata");
  state_->laid_out = true;
  state_->make_unreadable();
}

const DatasetInfo& Hdf5Writer::info(const std::string& dataset) const {
  const auto found = state_->datasets.find(dataset);
  DT_CHECK(found != state_->datasets.end(), "{} has no dataset {}", state_->file.path().string(), dataset);
  return found->second;
}

void Hdf5Writer::write(const std::string& dataset, std::uint64_t byte_offset,
                       std::span<const std::byte> bytes) {
  const DatasetInfo& d = info(dataset);
  DT_CHECK(state_->laid_out, "{} is written before layout()", dataset);
  DT_CHECK(byte_offset <= d.bytes && bytes.size() <= d.bytes - byte_offset,
           "{} bytes at {} do not fit in dataset {} of {} bytes", bytes.size(), byte_offset, dataset,
           d.bytes);
  state_->file.write_at(d.offset + byte_offset, bytes);
}

void Hdf5Writer::close() {
  if (!state_->laid_out) end_declarations();
  state_->file.sync();
  state_->file.write_at(0, std::as_bytes(std::span(signature)));
  state_->file.sync();
  state_->file.close();
}

}  // namespace dt
