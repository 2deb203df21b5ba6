#pragma once
// A channel between two processes of one job over an untrusted network. Both know a secret, which came by
// another way. Each proves to the other that it knows it, and every byte after that is authenticated;
// with `encrypts` it is encrypted, too.
//
// # Handshake
//
// The initiator connects; the acceptor listens. C(label, …) is the HMAC-SHA256 of the label and what follows,
// each part preceded by its length, with the secret as key. TERMS is one byte, 1 where the channel encrypts,
// else 0, and the acceptor's name, so that a message that is relayed to another acceptor is not taken there.
//
//   initiator  8 bytes "dt-chan1", 32 random bytes I
//   acceptor   32 random bytes A, C("dt acceptor", TERMS, I, A)
//   initiator  C("dt initiator", TERMS, I, A)
//
// An end that receives another code than it expects closes the connection. Since both random numbers are in
// every code, and in the keys, bytes of an earlier connection are worth nothing in another one.
//
// # Records
//
// Bytes of one write() travel in records of 1 MiB, the last one shorter; a write() of no bytes is no record.
// A record is its bytes (encrypted or not) and a tag of 8 or 16 bytes. It has no head: both ends know how
// many bytes come next, or the tag does not fit. The records of each direction are numbered from 0, and have
// a key of their own, C("dt key", "initiator" or "acceptor", TERMS, I, A).
//
//   authenticated  a tag of 8 bytes by UMAC-64 (RFC 4418); its key is the first 16 bytes of the direction's;
//                  the nonce is the record's number and its length, 8 bytes each. A forged record passes with
//                  probability 2^-60, and the first that does not pass ends the channel. A longer tag costs
//                  UMAC twice the time.
//   encrypted      a tag of 16 bytes by AES-256-GCM (NIST SP 800-38D); the nonce is the record's number,
//                  8 bytes, and 4 zeros
//
// Numbers have the lowest byte first. What is left out, repeated, reordered or cut off does not fit its tag,
// or does not come; an end that knows how much must come finds that out.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/duplex.hpp"
#include "base/secret.hpp"

namespace dt {

inline constexpr std::size_t channel_record_bytes = std::size_t{1} << 20;
/// Returns the bytes of a record's tag.
constexpr std::size_t channel_tag_bytes(bool encrypts) {
  return encrypts ? 16 : 8;
}

/// Terms that both ends must use alike.
struct ChannelTerms {
  std::string acceptor;  // its name
  bool encrypts = false;
};

/// The keys of a channel after its handshake.
struct ChannelKeys {
  Secret initiator, acceptor;  // of what each sends
  bool encrypts = false;
};

/// The acceptor's side. It does no input and output: the caller passes the bytes in and sends the answers.
class AcceptorHandshake {
 public:
  AcceptorHandshake(const Secret& secret, ChannelTerms terms);
  /// How many bytes the initiator must send next; 0 once it has proved that it knows the secret.
  std::size_t num_next() const { return num_next_; }
  /// Takes so many bytes. Returns what to answer, or nothing where the other end is to be turned away.
  std::optional<std::vector<std::byte>> take(std::span<const std::byte> bytes);
  /// Once num_next() is 0.
  ChannelKeys keys() const;

 private:
  std::optional<std::vector<std::byte>> take_hello(std::span<const std::byte> bytes);

  Secret secret_;
  ChannelTerms terms_;
  std::size_t num_next_;
  std::vector<std::byte> initiator_nonce_, acceptor_nonce_;
};

/// One end. For one thread. Errors of every method: those of the Duplex; ConnectionError, where bytes are not
/// as the other end has sent them. After an error only destroying is left to do.
class SecureChannel {
 public:
  /// Proves to each end that the other knows the secret. Blocks. `duplex` must outlive it.
  static SecureChannel initiate(Duplex& duplex, const Secret& secret, const ChannelTerms& terms);
  static SecureChannel accept(Duplex& duplex, const Secret& secret, const ChannelTerms& terms);
  /// The acceptor's end, after its handshake.
  SecureChannel(Duplex& duplex, const AcceptorHandshake& handshake);
  ~SecureChannel();
  SecureChannel(SecureChannel&&) noexcept;

  void write(std::span<const std::byte> bytes);
  /// Takes what the other end has given to one write() of this size. The bytes are of no use after an error.
  void read(std::span<std::byte> bytes);

 private:
  class Direction;
  SecureChannel(Duplex& duplex, const Secret& out, const Secret& in, bool encrypts);
  Duplex* duplex_;
  std::unique_ptr<Direction> out_, in_;
};

}  // namespace dt
