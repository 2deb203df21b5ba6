#pragma once
// A channel between two processes of one job over an untrusted network. Both know a secret, which
// they received by another way. Each proves to the other that it knows the secret. Every byte after
// that is authenticated; with `encrypts` it is encrypted, too.
//
// # Handshake
//
// The initiator connects; the acceptor listens. C(label, …) is the HMAC-SHA256 of the label and the
// parts after it, each preceded by its length, with the secret as key. TERMS is one byte, 1 if the
// channel encrypts, else 0, followed by the acceptor's name. The name keeps a message that is
// relayed to another acceptor from being accepted there.
//
//   initiator  8 bytes "dt-chan1", 32 random bytes I
//   acceptor   32 random bytes A, C("dt acceptor", TERMS, I, A)
//   initiator  C("dt initiator", TERMS, I, A)
//
// An end that receives another code than it expects closes the connection. Both random numbers are
// in every code and in the keys. Bytes recorded from one connection are therefore useless in
// another.
//
// # Records
//
// Bytes of one write() travel in records of 1 MiB, the last one shorter. A write() of no bytes
// sends no record. A record is its bytes (encrypted or not) and a tag of 8 or 16 bytes. It has no
// header: both ends know how many bytes come next, or the tag does not match. The records of each
// direction are numbered from 0. Each direction has its own key, C("dt key", "initiator" or
// "acceptor", TERMS, I, A).
//
//   authenticated  a tag of 8 bytes by UMAC-64 (RFC 4418); its key is the first 16 bytes of the direction's;
//                  the nonce is the record's number and its length, 8 bytes each. A forged record passes with
//                  probability 2^-60, and the first that does not pass ends the channel. A longer tag costs
//                  UMAC twice the time.
//   encrypted      a tag of 16 bytes by AES-256-GCM (NIST SP 800-38D); the nonce is the record's number,
//                  8 bytes, and 4 zeros
//
// Numbers are little-endian. A record that is omitted, repeated, reordered or truncated fails its
// tag or leaves bytes missing. An end that knows how many bytes must come detects both.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/io/secret.hpp"
#include "base/io/tcp.hpp"

namespace dt {

inline constexpr std::size_t channel_record_bytes = std::size_t{1} << 20;
/// Returns the number of bytes in a record's tag.
constexpr std::size_t channel_tag_bytes(bool encrypts) {
  return encrypts ? 16 : 8;
}

/// Terms on which both ends must agree.
struct ChannelTerms {
  std::string acceptor;  // acceptor's name
  bool encrypts = false;
};

/// The keys of a channel after its handshake.
struct ChannelKeys {
  Secret initiator, acceptor;  // key of each sender
  bool encrypts = false;
};

/// The acceptor's side of the handshake. It does no input or output: the caller passes bytes in and
/// sends the answers.
class AcceptorHandshake {
 public:
  AcceptorHandshake(const Secret& secret, ChannelTerms terms);
  /// Returns how many bytes the initiator must send next, or 0 once it has proved that it knows the
  /// secret.
  std::size_t num_expected_bytes() const { return num_expected_bytes_; }
  /// Takes num_expected_bytes() bytes. Returns the answer, or none if the caller must reject the other end.
  std::optional<std::vector<std::byte>> receive(std::span<const std::byte> bytes);
  /// Returns the keys. Call it once num_expected_bytes() is 0.
  ChannelKeys keys() const;

 private:
  std::optional<std::vector<std::byte>> receive_hello(std::span<const std::byte> bytes);

  Secret secret_;
  ChannelTerms terms_;
  std::size_t num_expected_bytes_;
  std::vector<std::byte> initiator_nonce_, acceptor_nonce_;
};

/// One end of a channel. After an error the channel can only be destroyed.
/// Errors: from every method, as the Duplex; ConnectionError if the bytes differ from those that
/// the other end sent.
/// Thread safety: one thread per object.
class SecureChannel {
 public:
  /// Prove to each end that the other knows the secret. Block until then. `duplex` must outlive the
  /// channel.
  static SecureChannel initiate(Duplex& duplex, const Secret& secret, const ChannelTerms& terms);
  static SecureChannel accept(Duplex& duplex, const Secret& secret, const ChannelTerms& terms);
  /// Creates the acceptor's end after its handshake.
  SecureChannel(Duplex& duplex, const AcceptorHandshake& handshake);
  ~SecureChannel();
  SecureChannel(SecureChannel&&) noexcept;

  void write(std::span<const std::byte> bytes);
  /// Reads the bytes of one write() of this size at the other end. The bytes are invalid after an
  /// error.
  void read(std::span<std::byte> bytes);

 private:
  class Direction;
  SecureChannel(Duplex& duplex, const Secret& out, const Secret& in, bool encrypts);
  Duplex* duplex_;
  std::unique_ptr<Direction> out_, in_;
};

}  // namespace dt
