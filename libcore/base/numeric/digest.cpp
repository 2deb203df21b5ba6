#include "base/numeric/digest.hpp"

#include <charconv>
#include <fmt/format.h>
#include <new>
#if __has_include(<xxh_x86dispatch.h>)
#include <xxh_x86dispatch.h>  // the same functions, dispatched to the widest registers of this processor
#else
#include <xxhash.h>
#endif

#include "base/error.hpp"

namespace dt {

std::uint64_t digest(std::span<const std::byte> bytes, std::uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

std::uint64_t digest(std::string_view text) {
  return digest(std::as_bytes(std::span(text)));
}

Digester::Digester() : state_(XXH3_createState()) {
  if (state_ == nullptr) throw std::bad_alloc();
  reset();
}

Digester::~Digester() {
  XXH3_freeState(static_cast<XXH3_state_t*>(state_));
}

void Digester::update(std::span<const std::byte> bytes) {
  XXH3_64bits_update(static_cast<XXH3_state_t*>(state_), bytes.data(), bytes.size());
}

std::uint64_t Digester::value() const {
  return XXH3_64bits_digest(static_cast<const XXH3_state_t*>(state_));
}

void Digester::reset() {
  XXH3_64bits_reset(static_cast<XXH3_state_t*>(state_));
}

Digester128::Digester128() : state_(XXH3_createState()) {
  if (state_ == nullptr) throw std::bad_alloc();
  reset();
}

Digester128::~Digester128() {
  XXH3_freeState(static_cast<XXH3_state_t*>(state_));
}

void Digester128::update(std::span<const std::byte> bytes) {
  XXH3_128bits_update(static_cast<XXH3_state_t*>(state_), bytes.data(), bytes.size());
}

Digester128::Value Digester128::value() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(static_cast<const XXH3_state_t*>(state_));
  return {hash.high64, hash.low64};
}

void Digester128::reset() {
  XXH3_128bits_reset(static_cast<XXH3_state_t*>(state_));
}

std::string to_hex(std::uint64_t value) {
  return fmt::format("{:016x}", value);
}

std::uint64_t from_hex(std::string_view text) {
  std::uint64_t value = 0;
  const auto [rest, code] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (text.size() != 16 || code != std::errc() || rest != text.data() + text.size()) {
    throw Error(ErrorKind::input, fmt::format("'{}' is not a digest", text),
                "expected 16 hexadecimal digits");
  }
  return value;
}

}  // namespace dt
