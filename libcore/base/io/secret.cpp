#include "base/io/secret.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <nettle/hmac.h>
#include <nettle/memops.h>
#include <sys/random.h>

#include "base/error.hpp"

namespace dt {

namespace {

constexpr std::string_view hex_digits = "0123456789abcdef";

const std::uint8_t* as_octets(std::span<const std::byte> bytes) {
  return reinterpret_cast<const std::uint8_t*>(bytes.data());
}

void add(hmac_sha256_ctx& context, std::span<const std::byte> part) {
  std::array<std::uint8_t, 8> length{};
  for (std::size_t i = 0; i < length.size(); ++i)
    length[i] = static_cast<std::uint8_t>(std::uint64_t{part.size()} >> (8 * i));
  hmac_sha256_update(&context, length.size(), length.data());
  hmac_sha256_update(&context, part.size(), as_octets(part));
}

}  // namespace

void fill_random(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ::ssize_t count = ::getrandom(bytes.data(), bytes.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) throw system_error(errno, "read", "the kernel's random numbers");
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

Secret Secret::generate() {
  Secret secret;
  fill_random(secret.bytes_);
  return secret;
}

Secret::Secret(std::span<const std::byte, num_bytes> bytes) {
  std::copy(bytes.begin(), bytes.end(), bytes_.begin());
}

Secret::~Secret() {
  ::explicit_bzero(bytes_.data(), bytes_.size());
}

std::string Secret::to_hex() const {
  std::string text;
  for (const std::byte b : bytes_) {
    text += hex_digits[std::to_integer<std::size_t>(b >> 4)];
    text += hex_digits[std::to_integer<std::size_t>(b & std::byte{15})];
  }
  return text;
}

Secret Secret::from_hex(std::string_view text) {
  Secret secret;
  if (text.size() != 2 * num_bytes || text.find_first_not_of(hex_digits) != std::string_view::npos)
    throw input_error("a secret must have {} lowercase hexadecimal digits", 2 * num_bytes);
  for (std::size_t i = 0; i < num_bytes; ++i) {
    secret.bytes_[i] =
        static_cast<std::byte>(hex_digits.find(text[2 * i]) << 4 | hex_digits.find(text[2 * i + 1]));
  }
  return secret;
}

Hmac hmac_sha256(const Secret& secret, std::initializer_list<std::span<const std::byte>> parts) {
  hmac_sha256_ctx context;
  hmac_sha256_set_key(&context, Secret::num_bytes, as_octets(secret.bytes()));
  for (const std::span<const std::byte> part : parts) add(context, part);
  Hmac code;
  hmac_sha256_digest(&context, code.size(), reinterpret_cast<std::uint8_t*>(code.data()));
  ::explicit_bzero(&context, sizeof context);
  return code;
}

bool constant_time_equal(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && ::nettle_memeql_sec(a.data(), b.data(), a.size()) != 0;
}

}  // namespace dt
