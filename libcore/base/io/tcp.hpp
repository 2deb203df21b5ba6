#pragma once
// TCP connections between two hosts, for a few large transfers. Every call blocks for a bounded
// time.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>  // missing in Boost 1.74's headers, which come after this one
#include <vector>

#include "base/error.hpp"

namespace dt {

/// The error of a failed connection: the other end cannot be reached, has gone, is silent, or is
/// not the expected program. Another attempt may succeed.
class ConnectionError : public Error {
 public:
  using Error::Error;
};

/// A connection: the other end reads what this end writes, and vice versa. Each call blocks until
/// all bytes have passed.
/// Errors: ConnectionError, and those that an implementation adds.
class Duplex {
 public:
  virtual ~Duplex() = default;
  /// Writes `bytes`, then `tail`, as one sequence.
  virtual void write(std::span<const std::byte> bytes, std::span<const std::byte> tail = {}) = 0;
  /// Fills `bytes`, then `tail`.
  virtual void read(std::span<std::byte> bytes, std::span<std::byte> tail = {}) = 0;

 protected:
  Duplex() = default;
  Duplex(const Duplex&) = default;
  Duplex(Duplex&&) = default;
  Duplex& operator=(const Duplex&) = default;
  Duplex& operator=(Duplex&&) = default;
};

/// Returns this host's addresses, "10.0.0.1" or "2001:db8::1", in the order of its interfaces.
/// Returns loopback addresses only if there are no others.
std::vector<std::string> own_addresses();

/// A TCP connection. A waiting call invokes `check` several times a second. After an error the
/// connection can only be destroyed.
/// Errors: ConnectionError (environment) from every method, naming the other end, if it cannot be
/// reached, has gone, or no byte passes within the timeout. The exceptions of `check`.
/// Thread safety: one thread per object.
class TcpConnection : public Duplex {
 public:
  using Check = std::function<void()>;
  /// Connects to a listener at one of its addresses.
  TcpConnection(const std::string& address, std::uint16_t port, double timeout_s, Check check = {});
  ~TcpConnection() override;
  TcpConnection(TcpConnection&&) noexcept;

  void set_timeout(double timeout_s);
  /// Returns once the system has taken the last byte for sending.
  void write(std::span<const std::byte> bytes, std::span<const std::byte> tail = {}) override;
  void read(std::span<std::byte> bytes, std::span<std::byte> tail = {}) override;

 private:
  friend class TcpListener;
  struct State;
  explicit TcpConnection(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// The handshake that a new connection must pass before it is served.
class Handshake {
 public:
  virtual ~Handshake() = default;
  /// Returns how many bytes the connection must send next, or 0 once it is admitted.
  virtual std::size_t num_expected_bytes() const = 0;
  /// Takes num_expected_bytes() bytes. Returns the answer, or none if the connection must be closed.
  virtual std::optional<std::vector<std::byte>> receive(std::span<const std::byte> bytes) = 0;
};

/// Limits on connections that wait for admission: their number and time. Strangers may open any
/// number. Beyond a limit, the oldest connection of the same address, or of all, makes room for the
/// newest.
struct HandshakeLimits {
  double timeout_s = 2;
  std::size_t max_per_address = 16;
  std::size_t max_pending = 256;
};

/// Accepts connections and serves each admitted one on its own thread.
class TcpListener {
 public:
  using MakeHandshake = std::function<std::unique_ptr<Handshake>()>;
  using Serve = std::function<void(TcpConnection&, Handshake&)>;
  struct Endpoint {
    std::string address;
    std::uint16_t port = 0;
  };

  /// Listens on these addresses only, on each at a port of the system's choice. Leaves out
  /// addresses that cannot be bound. `serve` receives connections with this timeout. An exception
  /// from it ends that connection only.
  /// Errors: environment if no address can be bound.
  TcpListener(std::span<const std::string> addresses, double timeout_s, MakeHandshake admit, Serve serve,
              HandshakeLimits limits = {});
  /// Ends connections that are being served.
  ~TcpListener();
  std::vector<Endpoint> endpoints() const;
  /// Stops listening on all other addresses.
  void close_other_addresses(std::span<const std::string> addresses);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dt
