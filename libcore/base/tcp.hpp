#pragma once
// Bytes between two hosts, for a few large transfers: every call blocks, and none for ever.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>  // Boost 1.74's headers, which come after this one, forget it
#include <vector>

namespace dt {

/// This host's addresses, "10.0.0.1" or "2001:db8::1", in the order of its interfaces; those that mean this
/// host on any host come last.
std::vector<std::string> own_addresses();

/// For one thread. Errors of every method: environment, naming the other end: it cannot be reached, has gone,
/// or no byte has passed for the timeout; what `check` throws, which is called several times a second while
/// a call waits. After an error only destroying is left to do.
class TcpConnection {
 public:
  using Check = std::function<void()>;
  /// To a listener at one of its addresses.
  TcpConnection(const std::string& address, std::uint16_t port, double timeout_s, Check check = {});
  ~TcpConnection();
  TcpConnection(TcpConnection&&) noexcept;

  void set_timeout(double timeout_s);
  /// Returns once the last byte is the system's to send.
  void write(std::span<const std::byte> bytes);
  /// All of `bytes`.
  void read(std::span<std::byte> bytes);

 private:
  friend class TcpListener;
  struct State;
  explicit TcpConnection(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Takes connections at a port of the system's choice, on all addresses, and serves each on a thread of its
/// own.
class TcpListener {
 public:
  /// `serve` is given connections with this timeout. What it throws ends the connection, and nothing else.
  /// Errors: environment.
  TcpListener(double timeout_s, std::function<void(TcpConnection&)> serve);
  /// Ends connections that are being served.
  ~TcpListener();
  std::uint16_t port() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dt
