// Source: CUDA's fatbinary.h for the header; the entries are those of "cuda-fatbin-decompression" (n-eiling).
#include "device/ptx/fat_binary.hpp"

#include <cstdint>
#include <cstring>
#include <lz4.h>
#include <zstd.h>

#include "base/error.hpp"

namespace dt::ptx {

namespace {

struct Header {
  std::uint32_t magic;
  std::uint16_t version, header_bytes;
  std::uint64_t bytes;
};

struct Entry {
  std::uint16_t kind, version;
  std::uint32_t header_bytes;
  std::uint64_t padded_bytes;
  std::uint32_t compressed_bytes, options;
  std::uint16_t minor, major;
  std::uint32_t architecture, name, name_bytes;
  std::uint64_t flags, reserved, bytes;
};
static_assert(sizeof(Entry) == 64);

constexpr std::uint32_t header_magic = 0xBA55ED50;
constexpr std::uint16_t kind_ptx = 1;
constexpr std::uint64_t by_lz4 = 0x2000, by_zstd = 0x8000;

template <class T>
T at(const std::byte* place) {
  T value;
  std::memcpy(&value, place, sizeof value);
  return value;
}

std::string unpacked(const Entry& entry, const std::byte* payload) {
  const auto* const packed = reinterpret_cast<const char*>(payload);
  if ((entry.flags & (by_lz4 | by_zstd)) == 0) return {packed, entry.padded_bytes};
  std::string text(entry.bytes, '\0');
  std::size_t bytes = 0;
  if ((entry.flags & by_zstd) != 0) {
    bytes = ZSTD_decompress(text.data(), text.size(), packed, entry.compressed_bytes);
  } else {
    const int count = LZ4_decompress_safe(packed, text.data(), static_cast<int>(entry.compressed_bytes),
                                          static_cast<int>(text.size()));
    bytes = count < 0 ? 0 : static_cast<std::size_t>(count);
  }
  DT_CHECK(bytes == text.size(), "the PTX in an object is not {} bytes, as it says", text.size());
  return text;
}

}  // namespace

std::string ptx_of(const std::byte* fat_binary) {
  const auto header = at<Header>(fat_binary);
  DT_CHECK(header.magic == header_magic, "what is embedded in an object begins with {:#x}", header.magic);
  const std::byte* place = fat_binary + header.header_bytes;
  const std::byte* const end = place + header.bytes;
  std::string newest;
  std::uint32_t architecture = 0;
  while (place < end) {
    const auto entry = at<Entry>(place);
    if (entry.kind == kind_ptx && entry.architecture >= architecture) {
      newest = unpacked(entry, place + entry.header_bytes);
      architecture = entry.architecture;
    }
    place += entry.header_bytes + entry.padded_bytes;
  }
  return newest;
}

}  // namespace dt::ptx
