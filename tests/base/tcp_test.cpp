#include "base/tcp.hpp"

#include <atomic>
#include <catch2/catch.hpp>
#include <numeric>
#include <thread>

#include "base/host.hpp"
#include "base/test_folder.hpp"

using namespace dt;
using dt_test::caught;

namespace {

std::vector<std::byte> numbers(std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * i % 251);
  return bytes;
}

/// Takes a length and so many bytes, and sends them back.
void echo(TcpConnection& connection) {
  std::uint64_t count = 0;
  connection.read(std::as_writable_bytes(std::span(&count, 1)));
  std::vector<std::byte> bytes(count);
  connection.read(bytes);
  connection.write(bytes);
}

}  // namespace

TEST_CASE("what is sent arrives, and comes back, on several connections at once") {
  TcpListener listener(10, echo);
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (std::size_t size : {0, 1, 4095, 3 << 20}) {
    threads.emplace_back([&, size] {
      TcpConnection connection("127.0.0.1", listener.port(), 10);
      std::uint64_t count = size;
      connection.write(std::as_bytes(std::span(&count, 1)));
      const std::vector<std::byte> sent = numbers(size);
      std::vector<std::byte> received(size);
      connection.write(sent);
      connection.read(received);
      if (sent == received) ++right;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(right == 4);
}

TEST_CASE("this host is reached at its own addresses; those that are every host's come last") {
  const std::vector<std::string> addresses = own_addresses();
  REQUIRE_FALSE(addresses.empty());
  const auto is_loopback = [](const std::string& a) { return a == "127.0.0.1" || a == "::1"; };
  CHECK(std::is_partitioned(addresses.begin(), addresses.end(),
                            [&](const auto& a) { return !is_loopback(a); }));
  TcpListener listener(10, [](TcpConnection& connection) { connection.write(numbers(3)); });
  for (const std::string& address : addresses) {
    CAPTURE(address);
    std::vector<std::byte> received(3);
    TcpConnection(address, listener.port(), 10).read(received);
    CHECK(received == numbers(3));
  }
}

TEST_CASE("who does not answer, is not there or goes away is an error that names the other end") {
  std::uint16_t closed = 0;
  {
    TcpListener listener(10, [](TcpConnection&) {});
    closed = listener.port();
    TcpConnection connection("127.0.0.1", closed, 10);
    std::byte one{};
    const auto gone = caught([&] { connection.read(std::span(&one, 1)); });
    CHECK(gone.kind == ErrorKind::environment);
    CHECK(gone.says("127.0.0.1 port"));
  }
  const auto refused = caught([&] { TcpConnection("127.0.0.1", closed, 10); });
  CHECK(refused.kind == ErrorKind::environment);
  CHECK(refused.says("cannot reach 127.0.0.1"));
  CHECK(caught([] { TcpConnection("no address", 1, 10); }).kind == ErrorKind::environment);

  std::atomic<bool> done = false;
  TcpListener silent(30, [&](TcpConnection&) {
    while (!done) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  });
  TcpConnection connection("127.0.0.1", silent.port(), 0.2);
  std::byte one{};
  const auto late = caught([&] { connection.read(std::span(&one, 1)); });
  done = true;
  CHECK(late.says("nothing has passed for 0.2 s"));
}

TEST_CASE("a call that waits can be given up, and a listener's end ends what it serves") {
  struct Enough {};
  std::atomic<bool> has_begun = false;
  auto listener = std::make_unique<TcpListener>(60, [&](TcpConnection& connection) {
    has_begun = true;
    std::byte one{};
    connection.read(std::span(&one, 1));
  });
  int looks = 0;
  TcpConnection connection("127.0.0.1", listener->port(), 60, [&] {
    if (has_begun && ++looks > 3) throw Enough();
  });
  std::byte one{};
  CHECK_THROWS_AS(connection.read(std::span(&one, 1)), Enough);
  TcpConnection other("127.0.0.1", listener->port(), 60);
  listener.reset();  // long before the connection's time is over, or this test does not end
}
