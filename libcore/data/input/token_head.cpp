#include "data/input/token_head.hpp"

#include <array>
#include <cstring>
#include <regex>

#include "base/error.hpp"

namespace dt::data {

namespace {

using namespace std::string_view_literals;

constexpr std::string_view npy_magic = "\x93NUMPY";
constexpr std::size_t max_npy_header_bytes = 4096;  // one of an array of numbers has some 100

/// Magic and version; the model that it was made for decides what an id takes.
constexpr std::string_view llmc_gpt2 = "\x88\xD8\x34\x01\x01\0\0\0"sv;    // 20240520, 1
constexpr std::string_view llmc_llama3 = "\xA1\xD9\x34\x01\x07\0\0\0"sv;  // 20240801, 7
constexpr std::size_t llmc_header_bytes = std::size_t{256} * 4;

std::string read_exactly(ByteSource& bytes, std::size_t count, const std::string& name) {
  std::string text(count, '\0');
  if (read_full(bytes, text) != count) throw input_error("{} is truncated: it ends in its header", name);
  return text;
}

std::uint32_t little_endian(std::string_view bytes) {
  std::uint32_t number = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) number = number << 8 | static_cast<unsigned char>(bytes[i]);
  return number;
}

/// The Python dictionary of NumPy's header.
std::string read_npy_dictionary(ByteSource& bytes, const std::string& name) {
  const std::string begin = read_exactly(bytes, npy_magic.size() + 2, name);
  const int version = begin[npy_magic.size()];
  if (version < 1 || version > 3) {
    throw input_error("{} is of version {} of NumPy's format; versions 1 to 3 are read", name, version);
  }
  const std::uint32_t size = little_endian(read_exactly(bytes, version == 1 ? 2 : 4, name));
  if (size > max_npy_header_bytes)
    throw input_error("{} has a header of {} bytes, which is no NumPy's", name, size);
  return read_exactly(bytes, size, name);
}

}  // namespace

bool is_npy(std::string_view first) {
  return first.starts_with(npy_magic);
}

bool is_llmc(std::string_view first) {
  return first.starts_with(llmc_gpt2) || first.starts_with(llmc_llama3);
}

TokenHead read_npy_head(ByteSource& bytes, const std::string& name) {
  const std::string header = read_npy_dictionary(bytes, name);
  std::smatch descr;
  std::smatch shape;
  const bool is_array = std::regex_search(header, descr, std::regex("'descr': *'([^']*)'")) &&
                        std::regex_search(header, shape, std::regex("'shape': *\\(([0-9]*)(,[^)]*)?\\)"));
  if (!is_array) throw input_error("{} has no header of NumPy's for an array of numbers", name);
  const auto type = token_type_of_numpy(descr[1]);
  if (!type) {
    throw Error(
        ErrorKind::input, fmt::format("{} holds numbers of type '{}'", name, descr[1].str()),
        "token ids are whole numbers of up to 32 bits, or <i8: convert it with numpy's astype(\"<u4\")");
  }
  if (shape[1].length() == 0 || shape[1].length() > 18 || shape[2] != ",") {
    throw Error(ErrorKind::input,
                fmt::format("{} is no single row of ids, but of shape {}", name, shape[0].str()),
                "flatten it with numpy's reshape(-1)");
  }
  return {*type, std::stoull(shape[1])};
}

TokenHead read_llmc_head(ByteSource& bytes, const std::string& name) {
  const std::string header = read_exactly(bytes, llmc_header_bytes, name);
  const TokenType type = header.starts_with(llmc_gpt2) ? TokenType::u16 : TokenType::u32;
  return {type, little_endian(std::string_view(header).substr(8, 4))};
}

}  // namespace dt::data
