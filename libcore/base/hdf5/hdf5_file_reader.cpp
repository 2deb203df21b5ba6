#include <algorithm>
#include <array>
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
#include "base/hdf5/superblock.hpp"
#include "base/io/files.hpp"

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
                        fmt::format("expected {}", dtype_name(dtype)));
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
