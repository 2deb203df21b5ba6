#include "tensor/buffer.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <limits>
#include <utility>

#include "base/error.hpp"

using namespace dt;

namespace {

std::uintptr_t address(const Buffer& buffer) {
  return reinterpret_cast<std::uintptr_t>(buffer.data());
}

constexpr std::size_t mebi = std::size_t{1} << 20;

}  // namespace

TEST_CASE("memory is zeroed and aligned, small or large") {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{63}, std::size_t{64}, std::size_t{1000},
                                  4 * mebi - 1, 4 * mebi, 5 * mebi + 3}) {
    const Buffer buffer(Device::host(), bytes);
    REQUIRE(buffer.bytes() == bytes);
    CHECK(address(buffer) % 64 == 0);
    if (bytes >= 4 * mebi) CHECK(address(buffer) % (2 * mebi) == 0);
    CHECK(std::all_of(buffer.span().begin(), buffer.span().end(),
                      [](std::byte b) { return b == std::byte{0}; }));
    std::memset(buffer.data(), 0xFF, bytes);
  }
}

TEST_CASE("memory that was used before is zeroed again") {
  for (int i = 0; i < 10; ++i) {
    const Buffer buffer(Device::host(), 1000);
    CHECK(buffer.span()[999] == std::byte{0});
    std::memset(buffer.data(), 0xFF, 1000);
  }
}

TEST_CASE("an empty buffer has no memory") {
  CHECK(Buffer().data() == nullptr);
  CHECK(Buffer(Device::host(), 0).data() == nullptr);
}

TEST_CASE("memory moves with its owner") {
  Buffer a(Device::host(), 100);
  std::byte* data = a.data();
  Buffer b = std::move(a);
  CHECK(b.data() == data);
  CHECK(a.data() == nullptr);
  CHECK(a.bytes() == 0);
  Buffer large(Device::host(), 8 * mebi);
  large = std::move(b);
  CHECK(large.data() == data);
  CHECK(large.bytes() == 100);
}

TEST_CASE("a request that cannot be met is an environment error that names the size") {
  for (const std::size_t bytes : {std::size_t{1} << 50, std::numeric_limits<std::size_t>::max()}) {
    try {
      const Buffer buffer(Device::host(), bytes);
      FAIL("it was met");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::environment);
      CHECK(error.message().find(bytes == std::size_t{1} << 50 ? "1.0 PiB" : "16.0 EiB") !=
            std::string::npos);
    }
  }
}
