#include "base/io/secure_channel.hpp"

#include <algorithm>
#include <cstring>
#include <nettle/gcm.h>
#include <nettle/umac.h>

#include "base/error.hpp"

namespace dt {

namespace {

constexpr std::string_view magic = "dt-chan1";
constexpr std::size_t nonce_bytes = 32;
constexpr std::size_t hello_bytes = magic.size() + nonce_bytes;
constexpr std::size_t code_bytes = std::tuple_size_v<Hmac>;

using Bytes = std::vector<std::byte>;

std::uint8_t* octets(std::span<std::byte> bytes) {
  return reinterpret_cast<std::uint8_t*>(bytes.data());
}
const std::uint8_t* octets(std::span<const std::byte> bytes) {
  return reinterpret_cast<const std::uint8_t*>(bytes.data());
}

void put(std::uint8_t* at, std::uint64_t number) {
  for (int i = 0; i < 8; ++i) at[i] = static_cast<std::uint8_t>(number >> (8 * i));
}

Bytes make_nonce() {
  Bytes nonce(nonce_bytes);
  fill_random(nonce);
  return nonce;
}

Hmac code_of(std::string_view label, std::string_view end, const Secret& secret, const ChannelTerms& terms,
             std::span<const std::byte> initiator_nonce, std::span<const std::byte> acceptor_nonce) {
  const std::byte encrypts{static_cast<unsigned char>(terms.encrypts ? 1 : 0)};
  return hmac_sha256(secret, {text_bytes(label), text_bytes(end), std::span(&encrypts, 1),
                              text_bytes(terms.acceptor), initiator_nonce, acceptor_nonce});
}

ChannelKeys keys_of(const Secret& secret, const ChannelTerms& terms,
                    std::span<const std::byte> initiator_nonce, std::span<const std::byte> acceptor_nonce) {
  const auto key = [&](std::string_view end) {
    return Secret(code_of("dt key", end, secret, terms, initiator_nonce, acceptor_nonce));
  };
  return {key("initiator"), key("acceptor"), terms.encrypts};
}

}  // namespace

AcceptorHandshake::AcceptorHandshake(const Secret& secret, ChannelTerms terms)
    : secret_(secret), terms_(std::move(terms)), num_expected_bytes_(hello_bytes) {}

std::optional<Bytes> AcceptorHandshake::receive(std::span<const std::byte> bytes) {
  DT_CHECK(bytes.size() == num_expected_bytes_ && num_expected_bytes_ > 0,
           "a handshake message has {} bytes, expected {}", bytes.size(), num_expected_bytes_);
  if (initiator_nonce_.empty()) return receive_hello(bytes);
  const Hmac expected = code_of("dt initiator", "", secret_, terms_, initiator_nonce_, acceptor_nonce_);
  if (!constant_time_equal(bytes, expected)) return std::nullopt;
  num_expected_bytes_ = 0;
  return Bytes();
}

std::optional<Bytes> AcceptorHandshake::receive_hello(std::span<const std::byte> bytes) {
  if (std::memcmp(bytes.data(), magic.data(), magic.size()) != 0) return std::nullopt;
  initiator_nonce_.assign(bytes.begin() + magic.size(), bytes.end());
  acceptor_nonce_ = make_nonce();
  const Hmac code = code_of("dt acceptor", "", secret_, terms_, initiator_nonce_, acceptor_nonce_);
  Bytes answer = acceptor_nonce_;
  answer.insert(answer.end(), code.begin(), code.end());
  num_expected_bytes_ = code_bytes;
  return answer;
}

ChannelKeys AcceptorHandshake::keys() const {
  DT_CHECK(num_expected_bytes_ == 0, "the keys are not available before the handshake ends");
  return keys_of(secret_, terms_, initiator_nonce_, acceptor_nonce_);
}

/// One direction: its key and the number of its next record.
class SecureChannel::Direction {
 public:
  using Tag = std::array<std::byte, channel_tag_bytes(true)>;

  Direction(const Secret& key, bool encrypts) : encrypts_(encrypts) {
    if (encrypts) {
      ::gcm_aes256_set_key(&gcm_, octets(key.bytes()));
      buffer_.resize(channel_record_bytes);
    } else {
      ::umac64_set_key(&umac_, octets(key.bytes()));
    }
  }
  ~Direction() {
    ::explicit_bzero(&gcm_, sizeof gcm_);
    ::explicit_bzero(&umac_, sizeof umac_);
  }
  Direction(const Direction&) = delete;

  /// Returns the part of `tag` that is sent.
  std::span<std::byte> tag_of(Tag& tag) const { return std::span(tag).first(channel_tag_bytes(encrypts_)); }
  /// Returns the bytes to send for the next record; valid until the next call.
  std::span<const std::byte> seal(std::span<const std::byte> bytes, std::span<std::byte> tag) {
    if (!encrypts_) {
      authenticate(bytes, tag);
      return bytes;
    }
    const std::span<std::byte> sealed = std::span(buffer_).first(bytes.size());
    begin_gcm();
    ::gcm_aes256_encrypt(&gcm_, bytes.size(), octets(sealed), octets(bytes));
    ::gcm_aes256_digest(&gcm_, tag.size(), octets(tag));
    return sealed;
  }
  /// Returns where to put received bytes before open().
  std::span<std::byte> place(std::span<std::byte> bytes) {
    return encrypts_ ? std::span(buffer_).first(bytes.size()) : bytes;
  }
  /// Returns whether the next record matches its tag.
  bool open(std::span<std::byte> bytes, std::span<const std::byte> tag) {
    Tag buffer;
    const std::span<std::byte> expected = tag_of(buffer);
    if (encrypts_) {
      begin_gcm();
      ::gcm_aes256_decrypt(&gcm_, bytes.size(), octets(bytes), octets(std::span(buffer_)));
      ::gcm_aes256_digest(&gcm_, expected.size(), octets(expected));
    } else {
      authenticate(bytes, expected);
    }
    return constant_time_equal(expected, tag);
  }

 private:
  void authenticate(std::span<const std::byte> bytes, std::span<std::byte> tag) {
    std::array<std::uint8_t, 16> nonce;
    put(nonce.data(), next_++);
    put(nonce.data() + 8, bytes.size());
    ::umac64_set_nonce(&umac_, nonce.size(), nonce.data());
    ::umac64_update(&umac_, bytes.size(), octets(bytes));
    ::umac64_digest(&umac_, tag.size(), octets(tag));
  }
  void begin_gcm() {
    std::array<std::uint8_t, GCM_IV_SIZE> nonce{};
    put(nonce.data(), next_++);
    ::gcm_aes256_set_iv(&gcm_, nonce.size(), nonce.data());
  }

  bool encrypts_;
  std::uint64_t next_ = 0;
  umac64_ctx umac_{};
  gcm_aes256_ctx gcm_{};
  Bytes buffer_;
};

SecureChannel::SecureChannel(Duplex& duplex, const Secret& out, const Secret& in, bool encrypts)
    : duplex_(&duplex),
      out_(std::make_unique<Direction>(out, encrypts)),
      in_(std::make_unique<Direction>(in, encrypts)) {}

SecureChannel::SecureChannel(Duplex& duplex, const AcceptorHandshake& handshake)
    : SecureChannel([&] {
        const ChannelKeys keys = handshake.keys();
        return SecureChannel(duplex, keys.acceptor, keys.initiator, keys.encrypts);
      }()) {}

SecureChannel::~SecureChannel() = default;
SecureChannel::SecureChannel(SecureChannel&&) noexcept = default;

SecureChannel SecureChannel::initiate(Duplex& duplex, const Secret& secret, const ChannelTerms& terms) {
  const Bytes nonce = make_nonce();
  duplex.write(text_bytes(magic), nonce);
  Bytes acceptor_nonce(nonce_bytes);
  Hmac code;
  duplex.read(acceptor_nonce, code);
  if (!constant_time_equal(code, code_of("dt acceptor", "", secret, terms, nonce, acceptor_nonce)))
    throw ConnectionError(ErrorKind::environment, "the peer does not know this job's secret");
  duplex.write(code_of("dt initiator", "", secret, terms, nonce, acceptor_nonce));
  const ChannelKeys keys = keys_of(secret, terms, nonce, acceptor_nonce);
  return {duplex, keys.initiator, keys.acceptor, keys.encrypts};
}

SecureChannel SecureChannel::accept(Duplex& duplex, const Secret& secret, const ChannelTerms& terms) {
  AcceptorHandshake handshake(secret, terms);
  while (handshake.num_expected_bytes() > 0) {
    Bytes bytes(handshake.num_expected_bytes());
    duplex.read(bytes);
    const std::optional<Bytes> answer = handshake.receive(bytes);
    if (!answer) throw ConnectionError(ErrorKind::environment, "the peer does not know this job's secret");
    if (!answer->empty()) duplex.write(*answer);
  }
  return {duplex, handshake};
}

void SecureChannel::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto record = bytes.first(std::min(bytes.size(), channel_record_bytes));
    Direction::Tag buffer;
    const std::span<std::byte> tag = out_->tag_of(buffer);
    const std::span<const std::byte> sealed = out_->seal(record, tag);
    duplex_->write(sealed, tag);
    bytes = bytes.subspan(record.size());
  }
}

void SecureChannel::read(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const auto record = bytes.first(std::min(bytes.size(), channel_record_bytes));
    Direction::Tag buffer;
    const std::span<std::byte> tag = in_->tag_of(buffer);
    duplex_->read(in_->place(record), tag);
    if (!in_->open(record, tag))
      throw ConnectionError(
          ErrorKind::environment,
          "received data differs from what the peer sent: its authentication tag does not match");
    bytes = bytes.subspan(record.size());
  }
}

}  // namespace dt
