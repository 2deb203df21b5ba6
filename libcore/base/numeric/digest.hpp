#pragma once
// XXH3-64 digests (https://xxhash.com) and their text form.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace dt {

/// Size of the blocks in which files are digested. A reader verifies only the blocks that it
/// touches.
inline constexpr std::size_t digest_block_bytes = std::size_t{16} << 20;

std::uint64_t digest(std::span<const std::byte> bytes, std::uint64_t seed = 0);
std::uint64_t digest(std::string_view text);

/// The XXH3-64 digest of bytes that arrive in parts.
class Digester {
 public:
  Digester();
  ~Digester();
  Digester(const Digester&) = delete;
  void update(std::span<const std::byte> bytes);
  std::uint64_t value() const;
  void reset();

 private:
  void* state_;
};

/// The XXH3-128 digest of bytes that arrive in parts. Equal digests mean equal content, for any
/// number of items.
class Digester128 {
 public:
  using Value = std::array<std::uint64_t, 2>;
  Digester128();
  ~Digester128();
  Digester128(const Digester128&) = delete;
  void update(std::span<const std::byte> bytes);
  Value value() const;
  void reset();

 private:
  void* state_;
};

/// Returns 16 lower-case hexadecimal digits.
std::string to_hex(std::uint64_t value);
/// Returns the value of 16 hexadecimal digits.
/// Errors: input if the text is anything else.
std::uint64_t from_hex(std::string_view text);

}  // namespace dt
