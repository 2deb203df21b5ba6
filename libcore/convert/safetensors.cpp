#include "convert/safetensors.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/io/json.hpp"

namespace dt::convert {

namespace {

constexpr std::size_t length_bytes = 8;
// The reference implementation's limit; a larger length means that the file is something else.
constexpr std::uint64_t max_header_bytes = 100'000'000;
constexpr const char* remedy = "the file is damaged or not a safetensors file: download it again";

/// A type that the format has and dt lacks.
struct ForeignType {
  std::string_view name;
  std::size_t bytes;
};
constexpr auto foreign_types =
    std::to_array<ForeignType>({{"I16", 2}, {"I8", 1}, {"BOOL", 1}, {"F8_E4M3", 1}, {"F8_E5M2", 1}});

/// Returns the bytes of an element, or nothing if the type is unknown.
std::optional<std::size_t> element_bytes(const SafeTensor& tensor) {
  if (tensor.dtype) return dtype_bytes(*tensor.dtype);
  const auto* foreign = std::ranges::find(foreign_types, tensor.dtype_name, &ForeignType::name);
  return foreign == foreign_types.end() ? std::nullopt : std::optional(foreign->bytes);
}

std::uint64_t read_header_length(const File& file) {
  const std::uint64_t size = file.size();
  const std::string name = file.path().string();
  if (size < length_bytes) {
    throw Error(ErrorKind::input, fmt::format("{} has {} bytes: too few for a safetensors file", name, size),
                remedy);
  }
  std::array<unsigned char, length_bytes> raw{};
  file.read_at(0, std::as_writable_bytes(std::span(raw)));
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < length_bytes; ++i) length |= std::uint64_t{raw[i]} << (8 * i);
  if (length > size - length_bytes || length > max_header_bytes) {
    throw Error(
        ErrorKind::input,
        fmt::format(
            "{} is truncated or not a safetensors file: it states a header of {} bytes and has {} bytes",
            name, length, size),
        remedy);
  }
  return length;
}

/// Returns the bytes that the shape takes; nothing if they exceed `limit`, so that no product
/// overflows.
std::optional<std::uint64_t> payload_bytes(const std::vector<std::int64_t>& dims, std::size_t bytes,
                                           std::uint64_t limit) {
  std::uint64_t total = bytes;
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return 0;
  for (const std::int64_t dim : dims) {
    if (static_cast<std::uint64_t>(dim) > limit / total) return std::nullopt;
    total *= static_cast<std::uint64_t>(dim);
  }
  return total;
}

SafeTensor parse_tensor(const std::string& name, const JsonValue& entry, std::uint64_t data_begin,
                        std::uint64_t data_bytes) {
  const auto wrong = [&](const std::string& what) {
    return Error(ErrorKind::input, fmt::format("{}: {}", entry.where(), what), remedy);
  };
  SafeTensor t;
  t.name = name;
  t.dtype_name = entry.string("dtype");
  const std::vector<std::int64_t> dims = entry.integers("shape");
  const std::vector<std::uint64_t> offsets = entry.unsigned_integers("data_offsets");
  if (std::any_of(dims.begin(), dims.end(), [](std::int64_t d) { return d < 0; }))
    throw wrong("its shape has a negative dimension");
  if (offsets.size() != 2 || offsets[0] > offsets[1])
    throw wrong("its data_offsets are not a [begin, end] pair");
  if (offsets[1] > data_bytes) {
    throw wrong(
        fmt::format("it ends at byte {} of the data, but the data has {} bytes", offsets[1], data_bytes));
  }
  t.dtype = value_in(dtype_names_in<&DTypeTraits::safetensors>(), t.dtype_name);
  if (const auto size = element_bytes(t)) {
    const auto bytes = payload_bytes(dims, *size, data_bytes);
    if (bytes != offsets[1] - offsets[0]) {
      throw wrong(fmt::format("its data_offsets span {} bytes, which does not match its shape and type",
                              offsets[1] - offsets[0]));
    }
  }
  t.shape = Shape(dims);
  t.begin = data_begin + offsets[0];
  t.end = data_begin + offsets[1];
  return t;
}

/// Refuses gaps and overlaps, as the format does. Bytes that two tensors share would be a mistake or a
/// trick.
void check_contiguous(const std::map<std::string, SafeTensor>& tensors, std::uint64_t begin,
                      std::uint64_t end, const std::string& origin) {
  std::vector<const SafeTensor*> order;
  for (const auto& [name, tensor] : tensors) order.push_back(&tensor);
  std::sort(order.begin(), order.end(), [](const SafeTensor* a, const SafeTensor* b) {
    return a->begin != b->begin ? a->begin < b->begin : a->end < b->end;
  });
  std::uint64_t position = begin;
  for (const SafeTensor* tensor : order) {
    if (tensor->begin != position) {
      throw Error(ErrorKind::input,
                  fmt::format("{}: tensor '{}' begins at byte {}, expected {}", origin, tensor->name,
                              tensor->begin, position),
                  remedy);
    }
    position = tensor->end;
  }
  if (position != end) {
    throw Error(
        ErrorKind::input,
        fmt::format("{}: its tensors end at byte {}, but the file ends at byte {}", origin, position, end),
        remedy);
  }
}

}  // namespace

std::string safetensors_dtype(DType dtype) {
  const std::string_view name = traits_of(dtype).safetensors;
  DT_CHECK(!name.empty(), "safetensors has no type for {}", dtype_name(dtype));
  return std::string(name);
}

std::string safetensors_head(std::vector<SafeTensor>& tensors,
                             const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header;
  header["__metadata__"] = {{"format", "pt"}};  // transformers refuses a file without it
  for (const auto& [name, value] : metadata) header["__metadata__"][name] = value;
  std::uint64_t offset = 0;
  for (SafeTensor& t : tensors) {
    DT_CHECK(t.dtype.has_value(), "tensor {} has no type", t.name);
    const std::uint64_t bytes = storage_bytes(*t.dtype, t.shape.numel());
    // operator[] would look for each name among those before it.
    header.get_ref<nlohmann::ordered_json::object_t&>().emplace_back(
        t.name, nlohmann::ordered_json{{"dtype", safetensors_dtype(*t.dtype)},
                                       {"shape", t.shape.dims()},
                                       {"data_offsets", {offset, offset + bytes}}});
    t.begin = offset;
    t.end = offset += bytes;
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  std::string head;
  for (std::size_t i = 0; i < length_bytes; ++i) head += static_cast<char>(text.size() >> (8 * i) & 255);
  head += text;
  for (SafeTensor& t : tensors) {
    t.begin += head.size();
    t.end += head.size();
  }
  return head;
}

SafetensorsFile::SafetensorsFile(const fs::path& path) : file_(File::open_read(path)) {
  const std::uint64_t length = read_header_length(file_);
  std::string text(length, '\0');
  file_.read_at(length_bytes, std::as_writable_bytes(std::span(text)));
  const JsonValue header = JsonValue::parse_object(text, {path.string() + ": header", remedy});
  const std::uint64_t data_begin = length_bytes + length;
  const std::uint64_t size = file_.size();
  for (const std::string& name : header.names()) {
    if (name == "__metadata__") continue;
    tensors_[name] = parse_tensor(name, header.object(name), data_begin, size - data_begin);
  }
  check_contiguous(tensors_, data_begin, size, path.string());
}

void SafetensorsFile::read(const SafeTensor& tensor, std::uint64_t byte_offset,
                           std::span<std::byte> bytes) const {
  DT_CHECK(
      byte_offset <= tensor.end - tensor.begin && bytes.size() <= tensor.end - tensor.begin - byte_offset,
      "{} bytes at {} lie outside the tensor {}", bytes.size(), byte_offset, tensor.name);
  file_.read_at(tensor.begin + byte_offset, bytes);
}

}  // namespace dt::convert
