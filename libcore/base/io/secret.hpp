#pragma once
// Secrets, and authentication codes (HMAC-SHA256, RFC 2104) that only a holder of the secret can
// make.

#include <array>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace dt {

/// Fills `bytes` from the kernel's random number generator.
/// Errors: environment.
void fill_random(std::span<std::byte> bytes);

/// A secret of 32 random bytes. The destructor overwrites them.
class Secret {
 public:
  static constexpr std::size_t num_bytes = 32;
  /// Creates a new secret.
  /// Errors: environment.
  static Secret generate();
  explicit Secret(std::span<const std::byte, num_bytes> bytes);
  Secret(const Secret&) = default;
  Secret& operator=(const Secret&) = default;
  ~Secret();

  std::span<const std::byte, num_bytes> bytes() const { return bytes_; }
  /// Convert to and from 64 lower-case hexadecimal digits.
  /// Errors: input if the text is not such digits; the message does not contain it.
  std::string to_hex() const;
  static Secret from_hex(std::string_view text);

 private:
  Secret() = default;
  std::array<std::byte, num_bytes> bytes_{};
};

using Hmac = std::array<std::byte, 32>;

/// Returns the code of a sequence of parts. Each part is preceded by its length, so that no two
/// sequences produce the same bytes.
Hmac hmac_sha256(const Secret& secret, std::initializer_list<std::span<const std::byte>> parts);

/// Compares in constant time: the time does not depend on where the codes differ.
bool constant_time_equal(std::span<const std::byte> a, std::span<const std::byte> b);

/// Returns the bytes of a text.
inline std::span<const std::byte> text_bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

}  // namespace dt
