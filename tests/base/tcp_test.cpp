#include "base/io/tcp.hpp"

#include <atomic>
#include <catch2/catch.hpp>
#include <functional>
#include <netinet/in.h>
#include <numeric>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <thread>
#include <time.h>
#include <unistd.h>

#include "base/system/host.hpp"
#include "base/test_folder.hpp"

using namespace dt;
using dt_test::caught;

namespace {

std::vector<std::byte> numbers(std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * i % 251);
  return bytes;
}

/// Reads a length and that many bytes, and sends the bytes back.
void echo(TcpConnection& connection) {
  std::uint64_t count = 0;
  connection.read(std::as_writable_bytes(std::span(&count, 1)));
  std::vector<std::byte> bytes(count);
  connection.read(bytes);
  connection.write(bytes);
}

/// Admits every peer.
struct Anybody : Handshake {
  std::size_t num_expected_bytes() const override { return 0; }
  std::optional<std::vector<std::byte>> receive(std::span<const std::byte>) override { return std::nullopt; }
};

/// Asks for one byte, answers it, and asks for the next one; admits a peer that sends 1, then 2.
struct Steps : Handshake {
  std::size_t num_expected_bytes() const override { return number < 2 ? 1 : 0; }
  std::optional<std::vector<std::byte>> receive(std::span<const std::byte> bytes) override {
    if (std::to_integer<int>(bytes[0]) != ++number) return std::nullopt;
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  }
  int number = 0;
};

using ServeConnection = std::function<void(TcpConnection&)>;

const std::vector<std::string> loopback = {"127.0.0.1"};

/// Serves every peer at the loopback address.
struct Listener : TcpListener {
  Listener(double timeout_s, const ServeConnection& serve, std::span<const std::string> addresses = loopback)
      : TcpListener(
            addresses, timeout_s, [] { return std::make_unique<Anybody>(); },
            [serve](TcpConnection& connection, Handshake&) { serve(connection); }) {}
  std::uint16_t port() const { return endpoints().front().port; }
};

}  // namespace

TEST_CASE("what is sent arrives, and comes back, on several connections at once") {
  Listener listener(10, echo);
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
  Listener listener(
      10, [](TcpConnection& connection) { connection.write(numbers(3)); }, addresses);
  const auto endpoints = listener.endpoints();
  REQUIRE(endpoints.size() == addresses.size());
  for (const TcpListener::Endpoint& endpoint : endpoints) {
    CAPTURE(endpoint.address);
    std::vector<std::byte> received(3);
    TcpConnection(endpoint.address, endpoint.port, 10).read(received);
    CHECK(received == numbers(3));
  }
  listener.close_other_addresses(std::vector{endpoints.back().address});
  for (const TcpListener::Endpoint& endpoint : endpoints) {
    const auto connect = [&] { TcpConnection(endpoint.address, endpoint.port, 10); };
    if (endpoint.address == endpoints.back().address)
      CHECK_NOTHROW(connect());
    else
      CHECK_THROWS_AS(connect(), ConnectionError);
  }
  // The listener is not reached at an address at which it does not listen.
  if (addresses.front() != "127.0.0.1")
    CHECK_THROWS_AS(TcpConnection("127.0.0.1", endpoints.front().port, 10), ConnectionError);
}

TEST_CASE("a peer that does not answer, is absent or goes away is an error that names the peer") {
  std::uint16_t closed = 0;
  {
    Listener listener(10, [](TcpConnection&) {});
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
  Listener silent(30, [&](TcpConnection&) {
    while (!done) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  });
  TcpConnection connection("127.0.0.1", silent.port(), 0.2);
  std::byte one{};
  const auto late = caught([&] { connection.read(std::span(&one, 1)); });
  done = true;
  CHECK(late.says("no data was transferred for 0.2 s"));
}

TEST_CASE("a call that waits can be given up, and a listener's end ends what it serves") {
  struct Enough {};
  std::atomic<bool> has_begun = false;
  auto listener = std::make_unique<Listener>(60, [&](TcpConnection& connection) {
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

TEST_CASE("a peer that is not admitted in time, or crowds others out, is refused; admitted peers stay") {
  std::atomic<int> num_served = 0;
  TcpListener listener(
      loopback, 20, [] { return std::make_unique<Steps>(); },
      [&](TcpConnection& connection, Handshake&) {
        ++num_served;
        connection.write(numbers(3));
        std::byte end{};
        connection.read(std::span(&end, 1));
      },
      {.timeout_s = 0.5, .max_per_address = 4, .max_pending = 8});
  const std::uint16_t port = listener.endpoints().front().port;
  const auto say = [](TcpConnection& connection, int number) {
    std::byte said{static_cast<unsigned char>(number)};
    connection.write(std::span(&said, 1));
    connection.read(std::span(&said, 1));
  };
  const auto admitted = [&](TcpConnection& connection) {
    say(connection, 1);
    say(connection, 2);
    std::vector<std::byte> received(3);
    connection.read(received);
    return received == numbers(3);
  };
  TcpConnection first("127.0.0.1", port, 20);
  CHECK(admitted(first));
  std::vector<TcpConnection> idle;
  for (int i = 0; i < 60; ++i) {
    idle.emplace_back("127.0.0.1", port, 20);
    if (i % 2 != 0) continue;
    say(idle.back(), 1);  // half-way through admission
  }
  TcpConnection second("127.0.0.1", port, 20);
  CHECK(admitted(second));
  TcpConnection wrong("127.0.0.1", port, 20);
  CHECK_THROWS_AS(say(wrong, 7), ConnectionError);
  // The oldest connections were closed first, the newest when its time was over; the others are still
  // served.
  std::byte one{};
  TcpConnection late("127.0.0.1", port, 20);
  CHECK_THROWS_AS(late.read(std::span(&one, 1)), ConnectionError);
  for (TcpConnection& connection : idle) CHECK_THROWS_AS(say(connection, 2), ConnectionError);
  CHECK(num_served == 2);
  std::byte end{};
  first.write(std::span(&end, 1));
  second.write(std::span(&end, 1));
}

TEST_CASE("a listener without descriptors waits without using a core, and serves once there are some") {
  const auto cpu_s = [] {
    timespec time{};
    REQUIRE(::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  Listener listener(20, [](TcpConnection& connection) { connection.write(numbers(3)); });
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(listener.port());
  const int client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  REQUIRE(client >= 0);
  rlimit most{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &most) == 0);
  const int lowest = ::dup(client);
  ::close(lowest);
  const rlimit none{static_cast<rlim_t>(lowest), most.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  const double before_s = cpu_s();
  const int connected = ::connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  const double used_s = cpu_s() - before_s;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &most) == 0);
  CHECK(connected == 0);
  CHECK(used_s < 0.1);
  std::vector<std::byte> received(3);
  CHECK(::recv(client, received.data(), received.size(), MSG_WAITALL) == 3);
  CHECK(received == numbers(3));
  ::close(client);
}
