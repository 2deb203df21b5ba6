#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>

#include "base/error.hpp"
#include "base/hdf5/attribute.hpp"
#include "base/hdf5/group.hpp"
#include "base/hdf5/hdf5_file.hpp"
#include "base/hdf5/object_header.hpp"
#include "base/hdf5/source.hpp"
#include "base/io/files.hpp"

namespace dt::hdf5 {

namespace {

constexpr std::string_view what = "superblock";
constexpr std::array<unsigned char, 8> signature = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};

struct Superblock {
  std::uint64_t base = 0, end_of_file = 0, root = 0;
  bool is_open_for_writing = false;
};

void expect_sizes(const MetadataReader& source, FieldReader& fields) {
  const std::uint8_t offset_bytes = fields.u8(), length_bytes = fields.u8();
  if (offset_bytes == 8 && length_bytes == 8) return;
  const auto is_size = [](std::uint8_t bytes) {
    return bytes >= 2 && bytes <= 32 && std::has_single_bit(bytes);
  };
  if (!is_size(offset_bytes) || !is_size(length_bytes))
    throw fields.damaged_error(
        fmt::format("has offsets of {} and lengths of {} bytes", offset_bytes, length_bytes));
  throw source.unsupported_error(fmt::format(
      "it has offsets of {} and lengths of {} bytes; dt reads those of 8", offset_bytes, length_bytes));
}

bool is_signature(Bytes bytes) {
  return std::ranges::equal(bytes, std::as_bytes(std::span(signature)));
}

/// Returns the size of the user block that a file may have before all else, or 0 if no superblock
/// follows one.
/// Source: "II. Disk Format: Level 0": a superblock lies at 0, at 512, or at 512 doubled
/// repeatedly.
std::uint64_t user_block_bytes(MetadataReader& source) {
  for (std::uint64_t at = 512; at < source.file_bytes() - signature.size() && at < std::uint64_t{1} << 48;
       at *= 2) {
    if (is_signature(source.read(at, signature.size(), what))) return at;
  }
  return 0;
}

/// "Superblock, Versions 0 and 1".
Superblock read_old(MetadataReader& source, std::uint8_t version) {
  const std::vector<std::byte> bytes = source.read(0, version == 0 ? 96 : 100, what);
  FieldReader fields(source, bytes, what);
  fields.skip(signature.size() + 1 + 4);  // signature, version, versions of other structures
  expect_sizes(source, fields);
  fields.skip(1 + 2 + 2 + 4 + (version == 0 ? 0 : 4));  // node sizes of B-trees, flags
  Superblock block;
  block.base = fields.u64();
  fields.skip(8);  // free space
  block.end_of_file = fields.u64();
  fields.skip(8 + 8);  // driver information; name of the root group
  block.root = fields.u64();
  return block;
}

/// "Superblock, Version 2" and "3". The extension is not read. Features that it may enable (shared
/// messages, other drivers) are reported where they matter.
Superblock read_new(MetadataReader& source, std::uint8_t version) {
  constexpr std::uint8_t open_flags = 0x05;
  const std::vector<std::byte> bytes = source.read(0, 48, what);
  FieldReader fields(source, without_checksum(source, bytes, what), what);
  fields.skip(signature.size() + 1);
  expect_sizes(source, fields);
  Superblock block;
  block.is_open_for_writing = version == 3 && (fields.u8() & open_flags) != 0;
  if (version == 2) fields.skip(1);
  block.base = fields.u64();
  fields.skip(8);  // extension
  block.end_of_file = fields.u64();
  block.root = fields.u64();
  return block;
}

/// Reads the superblock, and returns the address of the root group's object header.
/// Errors: input, naming the file, if it is no HDF5 file, truncated, still being written, or of a
/// kind that dt does not read.
/// Source: "II.A. Disk Format: Level 0A - Format Signature and Superblock".
std::uint64_t read_superblock(const File& file, MetadataReader& source) {
  const std::string path = file.path().string();
  const std::uint64_t start_bytes = std::min<std::uint64_t>(source.file_bytes(), signature.size() + 1);
  const std::vector<std::byte> start = source.read(0, start_bytes, what);
  if (start_bytes <= signature.size() || !is_signature(Bytes(start).first(signature.size()))) {
    if (const std::uint64_t bytes = start_bytes > signature.size() ? user_block_bytes(source) : 0; bytes > 0)
      throw source.unsupported_error(
          fmt::format("it has a user block of {} bytes, which dt does not read", bytes));
    throw Error(ErrorKind::input, path + " is no HDF5 file, or its writer died before it was complete",
                "an HDF5 file begins with the bytes 89 48 44 46 0D 0A 1A 0A");
  }
  const auto version = std::to_integer<std::uint8_t>(start.back());
  if (version > 3)
    throw source.unsupported_error(fmt::format("its superblock is of version {}; dt reads 0 to 3", version));
  const Superblock block = version < 2 ? read_old(source, version) : read_new(source, version);
  if (block.is_open_for_writing) {
    throw Error(ErrorKind::input, path + " is open for writing",
                "its writer is still at work, or died before the file was complete");
  }
  if (block.base != 0)
    throw source.unsupported_error(
        fmt::format("its base address is {}; dt reads files that begin at 0", block.base));
  if (block.end_of_file > source.file_bytes()) {
    throw Error(ErrorKind::input, path + " is truncated",
                fmt::format("it has {} of its {} bytes", source.file_bytes(), block.end_of_file));
  }
  return block.root;
}

}  // namespace

}  // namespace dt::hdf5

namespace dt {

namespace {

/// An object of the file. Links and attributes are read when first asked for.
struct Object {
  explicit Object(hdf5::ObjectHeader&& messages) : header(std::move(messages)) {}
  hdf5::ObjectHeader header;
  std::optional<hdf5::Links> links;
  std::optional<hdf5::Attributes> attributes;
};

}  // namespace

struct Hdf5Reader::State {
  File file;
  hdf5::MetadataReader source;
  std::uint64_t root;
  std::mutex mutex;                          // guards the members below and the source
  std::map<std::uint64_t, Object> objects;   // by address; headers point into themselves
  std::map<std::string, DatasetInfo> infos;  // by path

  explicit State(File opened)
      : file(std::move(opened)), source(file), root(hdf5::read_superblock(file, source)) {
    links_of(object_at(root));
  }

  Error error(const std::string& what, std::string context = {}) const {
    return Error(ErrorKind::input, fmt::format("{} {}", file.path().string(), what), std::move(context));
  }

  Object& object_at(std::uint64_t address) {
    if (const auto found = objects.find(address); found != objects.end()) return found->second;
    return objects.try_emplace(address, hdf5::ObjectHeader(source, address)).first->second;
  }

  const hdf5::Links& links_of(Object& group) {
    if (!group.links) group.links = hdf5::read_links(source, group.header);
    return *group.links;
  }

  /// Returns the object at a path ("/a/b"), or nullptr.
  Object* find(const std::string& path) {
    std::uint64_t address = root;
    for (std::size_t begin = 1; begin < path.size();) {
      const std::size_t end = std::min(path.find('/', begin), path.size());
      Object& group = object_at(address);
      if (!hdf5::is_group(group.header)) return nullptr;
      const hdf5::Links& links = links_of(group);
      const auto found = links.find(path.substr(begin, end - begin));
      if (found == links.end() || !found->second) return nullptr;
      address = *found->second;
      begin = end + 1;
    }
    return &object_at(address);
  }

  std::optional<hdf5::AttributeValue> attribute(const std::string& path, const std::string& name) {
    const std::lock_guard lock(mutex);
    Object* const object = find(path);
    if (object == nullptr) return std::nullopt;
    if (!object->attributes) object->attributes.emplace(source, object->header);
    return object->attributes->find(source, name);
  }
};

Hdf5Reader::Hdf5Reader(const fs::path& path) : Hdf5Reader(File::open_read(path)) {}
Hdf5Reader::Hdf5Reader(File file) : state_(std::make_unique<State>(std::move(file))) {}
Hdf5Reader::~Hdf5Reader() = default;
Hdf5Reader::Hdf5Reader(Hdf5Reader&&) noexcept = default;

const fs::path& Hdf5Reader::path() const {
  return state_->file.path();
}

const File& Hdf5Reader::file() const {
  return state_->file;
}

std::vector<std::string> Hdf5Reader::dataset_paths() const {
  const std::lock_guard lock(state_->mutex);
  std::set<std::uint64_t> seen;
  std::set<std::string> paths;
  std::vector<std::pair<std::string, std::uint64_t>> left = {{"", state_->root}};
  while (!left.empty()) {
    const auto [path, address] = std::move(left.back());
    left.pop_back();
    if (!seen.insert(address).second) continue;
    Object& object = state_->object_at(address);
    if (hdf5::is_dataset(object.header)) paths.insert(path);
    if (!hdf5::is_group(object.header)) continue;
    for (const auto& [name, target] : state_->links_of(object)) {
      if (!target) continue;
      state_->source.charge(path.size(), "paths");
      left.emplace_back(path + "/" + name, *target);
    }
  }
  return {paths.begin(), paths.end()};
}

const DatasetInfo& Hdf5Reader::info(const std::string& dataset) const {
  const std::lock_guard lock(state_->mutex);
  if (const auto found = state_->infos.find(dataset); found != state_->infos.end()) return found->second;
  Object* const object = state_->find(dataset);
  if (object == nullptr || !hdf5::is_dataset(object->header))
    throw state_->error("has no dataset " + dataset);
  hdf5::StoredDataset stored = hdf5::parse_dataset(state_->source, object->header);
  if (!stored.why_unreadable.empty())
    throw state_->error(fmt::format("dataset {} {}", dataset, stored.why_unreadable));
  return state_->infos[dataset] =
             DatasetInfo{dataset, *stored.dtype, std::move(stored.shape), stored.offset, stored.bytes};
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

std::optional<std::string> Hdf5Reader::string_attribute(const std::string& object,
                                                        const std::string& name) const {
  auto value = state_->attribute(object, name);
  if (!value || !std::holds_alternative<std::string>(*value)) return std::nullopt;
  return std::get<std::string>(*std::move(value));
}

std::optional<std::int64_t> Hdf5Reader::int_attribute(const std::string& object,
                                                      const std::string& name) const {
  const auto value = state_->attribute(object, name);
  if (!value || !std::holds_alternative<std::int64_t>(*value)) return std::nullopt;
  return std::get<std::int64_t>(*value);
}

}  // namespace dt
