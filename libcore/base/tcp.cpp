#include "base/tcp.hpp"

#include <algorithm>
#include <atomic>
#include <boost/asio.hpp>
#include <chrono>
#include <future>
#include <ifaddrs.h>
#include <list>
#include <net/if.h>
#include <optional>
#include <thread>

#include "base/error.hpp"
#include "base/host.hpp"

namespace dt {

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

/// How often a call that waits looks around.
constexpr std::chrono::milliseconds glance{50};

/// So much passes between two looks at the clock.
constexpr std::size_t part_bytes = std::size_t{1} << 20;

struct Rejected {};

std::optional<asio::ip::address> address_of(const sockaddr* address) {
  if (address == nullptr) return std::nullopt;
  if (address->sa_family == AF_INET) {
    return asio::ip::address_v4(ntohl(reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr));
  }
  if (address->sa_family != AF_INET6) return std::nullopt;
  asio::ip::address_v6::bytes_type bytes;
  std::copy_n(reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr.s6_addr, bytes.size(), bytes.begin());
  const asio::ip::address_v6 found(bytes);
  if (found.is_link_local()) return std::nullopt;  // it takes an interface's name, which is each host's own
  return found;
}

}  // namespace

std::vector<std::string> own_addresses() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) throw system_error(errno, "ask for", "the host's addresses");
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, ::freeifaddrs);
  std::vector<asio::ip::address> found;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    const auto address = address_of(entry->ifa_addr);
    if (address && (entry->ifa_flags & IFF_UP) != 0) found.push_back(*address);
  }
  // That of the host to itself is another's to another: offered where there is nothing else.
  const auto loopbacks =
      std::stable_partition(found.begin(), found.end(), [](const auto& a) { return !a.is_loopback(); });
  if (loopbacks != found.begin()) found.erase(loopbacks, found.end());
  std::vector<std::string> texts;
  for (const asio::ip::address& address : found) texts.push_back(address.to_string());
  return texts;
}

struct TcpConnection::State {
  State(double timeout, Check look) : timeout_s(timeout), check(std::move(look)) {}

  /// Starts an operation and sees it to its end.
  template <class Start>
  void finish(const char* action, Start start) {
    if (check) check();
    std::optional<error_code> result;
    start([&result](const error_code& error, auto&&...) { result = error; });
    try {
      wait(action, result);
    } catch (...) {
      error_code ignored;
      socket.close(ignored);
      while (!result) advance_for(glance);
      throw;
    }
    if (*result) throw environment_error("cannot {} {}: {}", action, peer, result->message());
  }
  void wait(const char* action, const std::optional<error_code>& result) {
    const double end_s = monotonic_s() + timeout_s;
    for (;;) {
      advance_for(glance);
      if (result) return;
      if (check) check();
      if (monotonic_s() > end_s)
        throw environment_error("cannot {} {}: nothing has passed for {} s", action, peer, timeout_s);
    }
  }
  void advance_for(std::chrono::milliseconds time) {
    context.restart();
    context.run_for(time);
  }

  asio::io_context context;
  tcp::socket socket{context};
  double timeout_s;
  Check check;
  std::string peer;
};

TcpConnection::TcpConnection(const std::string& address, std::uint16_t port, double timeout_s, Check check) {
  try {
    state_ = std::make_unique<State>(timeout_s, std::move(check));
  } catch (const boost::system::system_error& failure) {
    throw environment_error("cannot reach {} port {}: {}", address, port, failure.code().message());
  }
  state_->peer = fmt::format("{} port {}", address, port);
  error_code error;
  const tcp::endpoint endpoint(asio::ip::make_address(address, error), port);
  if (error) throw environment_error("'{}' is no address: {}", address, error.message());
  state_->finish("reach", [&](auto done) { state_->socket.async_connect(endpoint, done); });
}

TcpConnection::TcpConnection(std::unique_ptr<State> state) : state_(std::move(state)) {}
TcpConnection::~TcpConnection() = default;
TcpConnection::TcpConnection(TcpConnection&&) noexcept = default;

void TcpConnection::set_timeout(double timeout_s) {
  state_->timeout_s = timeout_s;
}

void TcpConnection::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto part = bytes.first(std::min(bytes.size(), part_bytes));
    state_->finish("send to", [&](auto done) {
      asio::async_write(state_->socket, asio::buffer(part.data(), part.size()), done);
    });
    bytes = bytes.subspan(part.size());
  }
}

void TcpConnection::read(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const auto part = bytes.first(std::min(bytes.size(), part_bytes));
    state_->finish("receive from", [&](auto done) {
      asio::async_read(state_->socket, asio::buffer(part.data(), part.size()), done);
    });
    bytes = bytes.subspan(part.size());
  }
}

struct TcpListener::State {
  /// At a time: a node's ranks, and what else may knock.
  static constexpr std::size_t max_served = 512;

  State(double timeout, std::function<void(TcpConnection&)> server)
      : timeout_s(timeout), serve(std::move(server)) {}

  void open() {
    try {
      bind(tcp::v6());  // takes connections of either kind
    } catch (const boost::system::system_error&) {
      try {
        bind(tcp::v4());
      } catch (const boost::system::system_error& error) {
        throw environment_error("cannot listen on this host: {}", error.code().message());
      }
    }
  }
  void bind(const tcp& protocol) {
    acceptor = tcp::acceptor(context);
    acceptor.open(protocol);
    if (protocol == tcp::v6()) acceptor.set_option(asio::ip::v6_only(false));
    acceptor.bind({protocol, 0});
    acceptor.listen();
    port = acceptor.local_endpoint().port();
  }

  void run() {
    while (!has_ended) {
      try {
        auto connection = std::make_unique<TcpConnection::State>(timeout_s, [this] {
          if (has_ended) throw Rejected();
        });
        if (accept(*connection)) start(std::move(connection));
      } catch (const std::exception&) {  // no thread or descriptor to be had: the other end finds it closed
        std::this_thread::sleep_for(glance);
      }
      served.remove_if([](const std::future<void>& s) {
        return s.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
      });
    }
  }
  bool accept(TcpConnection::State& connection) {
    std::optional<error_code> result;
    acceptor.async_accept(connection.socket, [&result](const error_code& error) { result = error; });
    while (!result) {
      if (has_ended) {
        error_code ignored;
        acceptor.close(ignored);
      }
      context.restart();
      context.run_for(glance);
    }
    if (*result && !has_ended) std::this_thread::sleep_for(glance);  // as without descriptors
    return !*result;
  }
  void start(std::unique_ptr<TcpConnection::State> state) {
    error_code error;
    const tcp::endpoint peer = state->socket.remote_endpoint(error);
    if (error || served.size() >= max_served) return;  // gone already, or one too many
    state->peer = peer.address().to_string();
    served.push_back(std::async(std::launch::async, [this, s = std::move(state)]() mutable {
      TcpConnection connection(std::move(s));
      try {
        serve(connection);
      } catch (...) {  // the other end finds the connection closed
      }
    }));
  }

  double timeout_s;
  std::function<void(TcpConnection&)> serve;
  asio::io_context context;
  tcp::acceptor acceptor{context};
  std::uint16_t port = 0;
  std::atomic<bool> has_ended = false;
  std::list<std::future<void>> served;
  std::thread thread;
};

TcpListener::TcpListener(double timeout_s, std::function<void(TcpConnection&)> serve)
    : state_(std::make_unique<State>(timeout_s, std::move(serve))) {
  state_->open();
  state_->thread = std::thread([this] { state_->run(); });
}

TcpListener::~TcpListener() {
  state_->has_ended = true;
  state_->thread.join();
  for (const std::future<void>& served : state_->served) served.wait();
}

std::uint16_t TcpListener::port() const {
  return state_->port;
}

}  // namespace dt
