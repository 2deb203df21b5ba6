#include "base/hdf5/source.hpp"

#include <algorithm>
#include <bit>

namespace dt::hdf5 {

namespace {

constexpr std::uint64_t least_budget = 64 << 10, largest_budget = 64 << 20;

struct HashState {
  std::uint32_t a, b, c;

  /// lookup3's mix(): each line subtracts, rotates and adds lanes.
  void mix() {
    step(a, c, b, 4);
    step(b, a, c, 6);
    step(c, b, a, 8);
    step(a, c, b, 16);
    step(b, a, c, 19);
    step(c, b, a, 4);
  }
  /// lookup3's final().
  void finish() {
    end(c, b, 14);
    end(a, c, 11);
    end(b, a, 25);
    end(c, b, 16);
    end(a, c, 4);
    end(b, a, 14);
    end(c, b, 24);
  }

 private:
  static void step(std::uint32_t& x, std::uint32_t& y, std::uint32_t z, int rotation) {
    x -= y;
    x ^= std::rotl(y, rotation);
    y += z;
  }
  static void end(std::uint32_t& x, std::uint32_t y, int rotation) {
    x ^= y;
    x -= std::rotl(y, rotation);
  }
};

/// Returns up to four bytes as a number. Missing bytes count as 0.
std::uint32_t word(Bytes bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = at; i < std::min(at + 4, bytes.size()); ++i)
    value |= std::to_integer<std::uint32_t>(bytes[i]) << 8 * (i - at);
  return value;
}

}  // namespace

std::uint32_t checksum(Bytes bytes) {
  const std::uint32_t start = 0xdeadbeef + static_cast<std::uint32_t>(bytes.size());
  HashState lanes{start, start, start};
  const auto add = [&] {
    lanes.a += word(bytes, 0);
    lanes.b += word(bytes, 4);
    lanes.c += word(bytes, 8);
  };
  for (; bytes.size() > 12; bytes = bytes.subspan(12)) {
    add();
    lanes.mix();
  }
  if (bytes.empty()) return lanes.c;
  add();
  lanes.finish();
  return lanes.c;
}

bool is_checksum(std::uint32_t stored, Bytes bytes) {
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
  static_cast<void>(stored);
  static_cast<void>(bytes);
  return true;
#else
  return stored == checksum(bytes);
#endif
}

Bytes without_checksum(const MetadataReader& source, Bytes bytes, std::string_view what) {
  if (bytes.size() < 4) throw source.damaged_error(fmt::format("its {} ends early", what));
  const Bytes content = bytes.first(bytes.size() - 4);
  if (!is_checksum(word(bytes, content.size()), content))
    throw source.damaged_error(fmt::format("the checksum of its {} does not match", what));
  return content;
}

MetadataReader::MetadataReader(const File& file)
    : file_(&file),
      file_bytes_(file.size()),
      budget_(least_budget + std::min(file_bytes_, largest_budget / 4) * 4) {}

Error MetadataReader::damaged_error(const std::string& what) const {
  return Error(ErrorKind::input, fmt::format("{} is damaged: {}", file_->path().string(), what),
               "make the file again, or restore it from a copy");
}

Error MetadataReader::unsupported_error(const std::string& what) const {
  return Error(ErrorKind::input, fmt::format("{}: {}", file_->path().string(), what));
}

void MetadataReader::charge(std::uint64_t count, std::string_view what) {
  if (count > budget_)
    throw damaged_error(
        fmt::format("its {} and other metadata are larger than the file of {} bytes", what, file_bytes_));
  budget_ -= count;
}

std::vector<std::byte> MetadataReader::read(std::uint64_t offset, std::uint64_t count,
                                            std::string_view what) {
  if (offset > file_bytes_ || count > file_bytes_ - offset)
    throw damaged_error(
        fmt::format("its {} lies at byte {}, outside the file's {} bytes", what, offset, file_bytes_));
  charge(count, what);
  std::vector<std::byte> bytes(count);
  file_->read_at(offset, bytes);
  return bytes;
}

Error FieldReader::damaged_error(const std::string& problem) const {
  return source_->damaged_error(fmt::format("its {} {}", what_, problem));
}

Bytes FieldReader::take(std::uint64_t count) {
  if (count > left_.size()) throw damaged_error("ends early");
  const Bytes taken = left_.first(count);
  left_ = left_.subspan(count);
  return taken;
}

std::uint64_t FieldReader::number(std::size_t width) {
  DT_CHECK(width >= 1 && width <= 8, "a number cannot have {} bytes", width);
  const Bytes bytes = take(width);
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < width; ++i) value |= std::to_integer<std::uint64_t>(bytes[i]) << 8 * i;
  return value;
}

void FieldReader::expect(std::string_view signature) {
  const Bytes found = take(signature.size());
  if (!std::ranges::equal(found, std::as_bytes(std::span(signature))))
    throw damaged_error(fmt::format("does not begin with {}", signature));
}

void FieldReader::expect_version(std::uint8_t version) {
  if (const std::uint8_t found = u8(); found != version)
    throw damaged_error(fmt::format("has version {}, expected {}", found, version));
}

}  // namespace dt::hdf5
