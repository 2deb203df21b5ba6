#include "base/io/tcp.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio.hpp>
#include <chrono>
#include <future>
#include <ifaddrs.h>
#include <list>
#include <net/if.h>
#include <optional>
#include <thread>
#include <unistd.h>

#include "base/error.hpp"
#include "base/system/host.hpp"

namespace dt {

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

/// Interval at which a waiting call checks for stop requests and timeouts.
constexpr std::chrono::milliseconds glance{50};

/// Bytes that pass between two looks at the clock.
constexpr std::size_t part_bytes = std::size_t{1} << 20;

struct Rejected {};

template <class... Args>
ConnectionError connection_error(fmt::format_string<Args...> what, Args&&... args) {
  return {ErrorKind::environment, fmt::format(what, std::forward<Args>(args)...)};
}

/// Completion condition for large transfers. asio::transfer_all() moves at most 64 KiB a call,
/// which costs the system as much as 1 MiB.
std::size_t all_at_once(const error_code& error, std::size_t) {
  return error ? 0 : part_bytes;
}

/// Disables Nagle's algorithm: each write is a whole message, and waiting for more bytes only
/// delays it.
void send_at_once(tcp::socket& socket) {
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
}

std::optional<asio::ip::address> address_of(const sockaddr* address) {
  if (address == nullptr) return std::nullopt;
  if (address->sa_family == AF_INET) {
    return asio::ip::address_v4(ntohl(reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr));
  }
  if (address->sa_family != AF_INET6) return std::nullopt;
  asio::ip::address_v6::bytes_type bytes;
  std::copy_n(reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr.s6_addr, bytes.size(), bytes.begin());
  const asio::ip::address_v6 found(bytes);
  if (found.is_link_local()) return std::nullopt;  // needs an interface name, which differs between hosts
  return found;
}

/// A connection that awaits admission.
struct Candidate {
  explicit Candidate(tcp::socket s) : socket(std::move(s)) {}
  tcp::socket socket;
  tcp protocol = tcp::v4();
  std::string address;
  double began_s = monotonic_s();
  std::unique_ptr<Handshake> admission;
  std::vector<std::byte> received, answer;
};
using CandidatePtr = std::shared_ptr<Candidate>;

}  // namespace

std::vector<std::string> own_addresses() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) throw system_error(errno, "get", "the host's addresses");
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, ::freeifaddrs);
  std::vector<asio::ip::address> found;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    const auto address = address_of(entry->ifa_addr);
    if (address && (entry->ifa_flags & IFF_UP) != 0) found.push_back(*address);
  }
  // A loopback address means another host elsewhere. It is offered only if there is no other
  // address.
  const auto loopbacks =
      std::stable_partition(found.begin(), found.end(), [](const auto& a) { return !a.is_loopback(); });
  if (loopbacks != found.begin()) found.erase(loopbacks, found.end());
  std::vector<std::string> texts;
  for (const asio::ip::address& address : found) texts.push_back(address.to_string());
  return texts;
}

struct TcpConnection::State {
  State(double timeout, Check look) : timeout_s(timeout), check(std::move(look)) {}

  /// Starts an operation and waits for its end.
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
    if (*result) throw connection_error("cannot {} {}: {}", action, peer, result->message());
  }
  void wait(const char* action, const std::optional<error_code>& result) {
    const double end_s = monotonic_s() + timeout_s;
    for (;;) {
      advance_for(glance);
      if (result) return;
      if (check) check();
      if (monotonic_s() > end_s)
        throw connection_error("cannot {} {}: no data was transferred for {} s", action, peer, timeout_s);
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
    throw connection_error("cannot reach {} port {}: {}", address, port, failure.code().message());
  }
  state_->peer = fmt::format("{} port {}", address, port);
  error_code error;
  const tcp::endpoint endpoint(asio::ip::make_address(address, error), port);
  if (error) throw connection_error("'{}' is not a network address: {}", address, error.message());
  state_->finish("reach", [&](auto done) { state_->socket.async_connect(endpoint, done); });
  send_at_once(state_->socket);
}

TcpConnection::TcpConnection(std::unique_ptr<State> state) : state_(std::move(state)) {}
TcpConnection::~TcpConnection() = default;
TcpConnection::TcpConnection(TcpConnection&&) noexcept = default;

void TcpConnection::set_timeout(double timeout_s) {
  state_->timeout_s = timeout_s;
}

void TcpConnection::write(std::span<const std::byte> bytes, std::span<const std::byte> tail) {
  do {
    const auto part = bytes.first(std::min(bytes.size(), part_bytes));
    bytes = bytes.subspan(part.size());
    const auto last = bytes.empty() ? tail : tail.first(0);
    const std::array buffers = {asio::buffer(part.data(), part.size()),
                                asio::buffer(last.data(), last.size())};
    state_->finish("send to",
                   [&](auto done) { asio::async_write(state_->socket, buffers, all_at_once, done); });
  } while (!bytes.empty());
}

void TcpConnection::read(std::span<std::byte> bytes, std::span<std::byte> tail) {
  do {
    const auto part = bytes.first(std::min(bytes.size(), part_bytes));
    bytes = bytes.subspan(part.size());
    const auto last = bytes.empty() ? tail : tail.first(0);
    const std::array buffers = {asio::buffer(part.data(), part.size()),
                                asio::buffer(last.data(), last.size())};
    state_->finish("receive from",
                   [&](auto done) { asio::async_read(state_->socket, buffers, all_at_once, done); });
  } while (!bytes.empty());
}

/// The listener's state. One thread accepts connections and runs their handshakes; no other thread
/// touches that state.
struct TcpListener::State {
  /// Most connections served at a time. Peers are the ranks of a node, none of them a stranger.
  static constexpr std::size_t max_served = 512;

  State(double timeout, MakeHandshake admission, Serve server, HandshakeLimits the_limits)
      : timeout_s(timeout), admit(std::move(admission)), serve(std::move(server)), limits(the_limits) {}

  void open(std::span<const std::string> addresses) {
    std::string failures;
    for (const std::string& address : addresses) {
      try {
        listen(address);
      } catch (const boost::system::system_error& error) {
        failures += fmt::format("{}{}: {}", failures.empty() ? "" : "; ", address, error.code().message());
      }
    }
    if (acceptors.empty()) throw environment_error("cannot listen on this host: {}", failures);
  }
  void listen(const std::string& address) {
    const tcp::endpoint endpoint(asio::ip::make_address(address), 0);
    tcp::acceptor acceptor(context);
    acceptor.open(endpoint.protocol());
    acceptor.bind(endpoint);
    acceptor.listen();
    endpoints.push_back({address, acceptor.local_endpoint().port()});
    acceptors.push_back(std::move(acceptor));
  }

  void run() {
    for (tcp::acceptor& acceptor : acceptors) accept(acceptor);
    while (!has_ended) {
      context.restart();
      context.run_for(glance);
      remove_late();
      served.remove_if([](const std::future<void>& s) {
        return s.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
      });
      if (stalled.empty()) continue;
      std::this_thread::sleep_for(glance);  // a failed accept would fail again at once
      for (tcp::acceptor* acceptor : std::exchange(stalled, {})) accept(*acceptor);
    }
    error_code ignored;
    for (tcp::acceptor& acceptor : acceptors) acceptor.close(ignored);
    while (!candidates.empty()) remove(candidates.front());
    context.restart();
    context.run();
  }

  void accept(tcp::acceptor& acceptor) {
    acceptor.async_accept([this, &acceptor](const error_code& error, tcp::socket socket) {
      if (has_ended || !acceptor.is_open()) return;
      if (error) {  // such as no free descriptors: close the oldest candidate to free one
        if (!candidates.empty()) remove(candidates.front());
        return stalled.push_back(&acceptor);
      }
      try {
        begin(std::make_shared<Candidate>(std::move(socket)));
      } catch (const std::exception&) {  // closing tells the other end
      }
      accept(acceptor);
    });
  }

  void begin(const CandidatePtr& candidate) {
    error_code error;
    const tcp::endpoint peer = candidate->socket.remote_endpoint(error);
    if (error) return;  // the peer has already gone
    candidate->address = peer.address().to_string();
    candidate->protocol = peer.protocol();
    candidate->admission = admit();
    send_at_once(candidate->socket);
    make_room(candidate->address);
    candidates.push_back(candidate);
    go_on(candidate);
  }
  /// Removes the oldest candidates beyond the limits. Candidates are in the order of arrival.
  void make_room(const std::string& address) {
    const auto is_neighbour = [&](const CandidatePtr& c) { return c->address == address; };
    const auto of_address = std::count_if(candidates.begin(), candidates.end(), is_neighbour);
    if (static_cast<std::size_t>(of_address) >= limits.max_per_address) {
      remove(*std::find_if(candidates.begin(), candidates.end(), is_neighbour));
    } else if (candidates.size() >= limits.max_pending) {
      remove(candidates.front());
    }
  }
  void remove_late() {
    while (!candidates.empty() && monotonic_s() > candidates.front()->began_s + limits.timeout_s)
      remove(candidates.front());
  }
  /// Takes the pointer by value, since the list drops the element that a reference could point to.
  void remove(CandidatePtr candidate) {
    candidates.remove(candidate);
    error_code ignored;
    candidate->socket.close(ignored);
  }

  void go_on(const CandidatePtr& candidate) {
    candidate->received.resize(candidate->admission->num_expected_bytes());
    if (candidate->received.empty()) return admitted(candidate);
    asio::async_read(candidate->socket, asio::buffer(candidate->received),
                     [this, candidate](const error_code& error, std::size_t) {
                       if (!candidate->socket.is_open()) return;
                       error ? remove(candidate) : take(candidate);
                     });
  }
  void take(const CandidatePtr& candidate) {
    std::optional<std::vector<std::byte>> answer;
    try {
      answer = candidate->admission->receive(candidate->received);
    } catch (const std::exception&) {  // such as no memory
    }
    if (!answer) return remove(candidate);
    candidate->answer = std::move(*answer);
    asio::async_write(candidate->socket, asio::buffer(candidate->answer),
                      [this, candidate](const error_code& error, std::size_t) {
                        if (!candidate->socket.is_open()) return;
                        error ? remove(candidate) : go_on(candidate);
                      });
  }
  void admitted(const CandidatePtr& candidate) {
    candidates.remove(candidate);
    if (served.size() >= max_served) return;
    try {
      auto state = std::make_unique<TcpConnection::State>(timeout_s, [this] {
        if (has_ended) throw Rejected();
      });
      state->peer = candidate->address;
      const int descriptor = candidate->socket.release();
      error_code error;
      state->socket.assign(candidate->protocol, descriptor, error);
      if (error) {
        ::close(descriptor);
        return;
      }
      served.push_back(std::async(std::launch::async, [this, admission = std::move(candidate->admission),
                                                       s = std::move(state)]() mutable {
        TcpConnection connection(std::move(s));
        try {
          serve(connection, *admission);
        } catch (...) {  // closing tells the other end
        }
      }));
    } catch (const std::exception&) {  // no thread or memory available; closing tells the other end
    }
  }

  double timeout_s;
  MakeHandshake admit;
  Serve serve;
  HandshakeLimits limits;
  asio::io_context context;
  std::list<tcp::acceptor> acceptors;
  std::vector<Endpoint> endpoints;
  std::list<CandidatePtr> candidates;
  std::vector<tcp::acceptor*> stalled;
  std::list<std::future<void>> served;
  std::atomic<bool> has_ended = false;
  std::thread thread;
};

TcpListener::TcpListener(std::span<const std::string> addresses, double timeout_s, MakeHandshake admit,
                         Serve serve, HandshakeLimits limits)
    : state_(std::make_unique<State>(timeout_s, std::move(admit), std::move(serve), limits)) {
  state_->open(addresses);
  state_->thread = std::thread([this] { state_->run(); });
}

TcpListener::~TcpListener() {
  state_->has_ended = true;
  state_->thread.join();
  for (const std::future<void>& served : state_->served) served.wait();
}

std::vector<TcpListener::Endpoint> TcpListener::endpoints() const {
  return state_->endpoints;
}

void TcpListener::close_other_addresses(std::span<const std::string> addresses) {
  std::promise<void> closed;
  asio::post(state_->context, [&] {
    auto endpoint = state_->endpoints.begin();
    for (tcp::acceptor& acceptor : state_->acceptors) {
      error_code ignored;
      if (std::find(addresses.begin(), addresses.end(), endpoint->address) == addresses.end())
        acceptor.close(ignored);
      ++endpoint;
    }
    closed.set_value();
  });
  closed.get_future().wait();
}

}  // namespace dt
