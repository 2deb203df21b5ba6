#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "convert/tensor_copier.hpp"

namespace dt::convert {
namespace {

TEST_CASE("what is given is written in order, with its own bytes") {
  std::string written;
  {
    WriteBehind writes;
    for (int i = 0; i < 100; ++i) {
      WriteBehind::Buffer buffer = writes.acquire(static_cast<std::size_t>(1 + i % 3));
      for (std::byte& b : buffer.bytes) b = static_cast<std::byte>('a' + i % 26);
      writes.submit(std::move(buffer), [&](std::span<const std::byte> bytes) {
        for (const std::byte b : bytes) written += static_cast<char>(b);
      });
    }
    writes.finish();
    CHECK(written.substr(0, 12) == "abbcccdeefff");
    CHECK(written.size() == 199);
  }
}

TEST_CASE("what a write throws comes back, and nothing is written after it") {
  std::atomic<int> count = 0;
  WriteBehind writes;
  const auto give = [&](bool fails) {
    writes.submit(writes.acquire(8), [&count, fails](std::span<const std::byte>) {
      if (fails) throw std::runtime_error("full");
      ++count;
    });
  };
  give(false);
  give(true);
  CHECK_THROWS_WITH(
      [&] {
        for (int i = 0; i < 10; ++i) give(false);
        writes.finish();
      }(),
      "full");
  CHECK_THROWS_WITH(writes.finish(), "full");
  CHECK_THROWS_WITH(writes.acquire(1), "full");
  CHECK(count == 1);
}

TEST_CASE("what is given after a write has thrown is not written either, whenever its memory was taken") {
  WriteBehind writes;
  WriteBehind::Buffer taken = writes.acquire(8);
  writes.submit(writes.acquire(8), [](std::span<const std::byte>) { throw std::runtime_error("full"); });
  CHECK_THROWS_WITH(writes.finish(), "full");
  std::atomic<bool> is_written = false;
  writes.submit(std::move(taken), [&](std::span<const std::byte>) { is_written = true; });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK_FALSE(is_written);
}

}  // namespace
}  // namespace dt::convert
