#include "base/io/secure_channel.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "base/error.hpp"

using namespace dt;

namespace {

using Bytes = std::vector<std::byte>;

/// Bytes that travel one way, as an attacker on the way sees them and may change them.
class Wire {
 public:
  void put(std::span<const std::byte> bytes) {
    const std::lock_guard lock(mutex_);
    heard.insert(heard.end(), bytes.begin(), bytes.end());
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    if (flip_at < heard.size() && flip_at >= heard.size() - bytes.size())
      bytes_[bytes_.size() - (heard.size() - flip_at)] ^= std::byte{1};
    changed_.notify_all();
  }
  void take(std::span<std::byte> bytes) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return bytes_.size() >= bytes.size() || is_closed_; });
    if (bytes_.size() < bytes.size()) throw ConnectionError(ErrorKind::environment, "closed");
    std::copy_n(bytes_.begin(), bytes.size(), bytes.begin());
    bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(bytes.size()));
  }
  void close() {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    changed_.notify_all();
  }

  Bytes heard;
  std::size_t flip_at = ~std::size_t{0};

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::byte> bytes_;
  bool is_closed_ = false;
};

class End : public Duplex {
 public:
  End(Wire& out, Wire& in) : out_(out), in_(in) {}
  void write(std::span<const std::byte> bytes, std::span<const std::byte> tail) override {
    out_.put(bytes);
    out_.put(tail);
  }
  void read(std::span<std::byte> bytes, std::span<std::byte> tail) override {
    in_.take(bytes);
    in_.take(tail);
  }

 private:
  Wire &out_, &in_;
};

struct Pair {
  Wire there, back;
  End initiator{there, back}, acceptor{back, there};

  /// Runs both ends; returns what each has thrown, or "".
  std::pair<std::string, std::string> run(const std::function<void(Duplex&)>& initiate,
                                          const std::function<void(Duplex&)>& accept) {
    const auto guarded = [this](const std::function<void(Duplex&)>& body, Duplex& end) {
      std::string why;
      try {
        body(end);
      } catch (const ConnectionError& error) {
        why = error.message();
      }
      there.close();
      back.close();
      return why;
    };
    std::string of_acceptor;
    std::thread thread([&] { of_acceptor = guarded(accept, acceptor); });
    const std::string of_initiator = guarded(initiate, initiator);
    thread.join();
    return {of_initiator, of_acceptor};
  }
};

Bytes pattern(std::size_t count) {
  Bytes bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 251);
  return bytes;
}

bool contains(const Bytes& all, std::span<const std::byte> part) {
  return std::search(all.begin(), all.end(), part.begin(), part.end()) != all.end();
}

const ChannelTerms plain{"node 1", false}, encrypted{"node 1", true};

}  // namespace

TEST_CASE(
    "both ends of a channel get what the other sends, and a listener neither secret nor encrypted bytes") {
  const bool encrypts = GENERATE(false, true);
  const ChannelTerms terms{"node 1", encrypts};
  const Secret secret = Secret::generate();
  const Bytes sent = pattern(2 * channel_record_bytes + 5);
  Pair pair;
  const auto why = pair.run(
      [&](Duplex& duplex) {
        SecureChannel channel = SecureChannel::initiate(duplex, secret, terms);
        channel.write(sent);
        channel.write({});
        Bytes received(3);
        channel.read(received);
        CHECK(received == pattern(3));
      },
      [&](Duplex& duplex) {
        SecureChannel channel = SecureChannel::accept(duplex, secret, terms);
        Bytes received(sent.size());
        channel.read(received);
        CHECK(received == sent);
        channel.write(pattern(3));
        std::byte end{};
        CHECK_THROWS_AS(channel.read(std::span(&end, 1)), ConnectionError);
      });
  CHECK(why == std::pair<std::string, std::string>());
  for (const Bytes& heard : {pair.there.heard, pair.back.heard}) {
    CHECK_FALSE(contains(heard, secret.bytes()));
    CHECK_FALSE(contains(heard, secret.bytes().first<16>()));
  }
  CHECK(contains(pair.there.heard, std::span(sent).first(1000)) == !encrypts);
}

TEST_CASE("a byte that is changed on its way, wherever it is, ends the channel") {
  const bool encrypts = GENERATE(false, true);
  const ChannelTerms terms{"node 1", encrypts};
  const Secret secret = Secret::generate();
  // The bytes are: hello, the initiator's code, payload and tag of two records.
  const std::size_t tag_bytes = channel_tag_bytes(encrypts);
  const std::size_t all = 40 + 32 + 100 + tag_bytes + 50 + tag_bytes;
  for (std::size_t at = 0; at < all; at += at < 71 ? 13 : 1) {
    CAPTURE(at);
    Pair pair;
    pair.there.flip_at = at;
    bool arrived = false;
    pair.run(
        [&](Duplex& duplex) {
          SecureChannel channel = SecureChannel::initiate(duplex, secret, terms);
          channel.write(pattern(100));
          channel.write(pattern(50));
        },
        [&](Duplex& duplex) {
          SecureChannel channel = SecureChannel::accept(duplex, secret, terms);
          Bytes received(100), more(50);
          channel.read(received);
          channel.read(more);
          arrived = true;
        });
    CHECK_FALSE(arrived);
  }
}

TEST_CASE("an end without the secret, of other terms, or that repeats what it has heard is refused") {
  const Secret secret = Secret::generate();
  const auto both = [&](const Secret& a, const ChannelTerms& of_a, const Secret& b,
                        const ChannelTerms& of_b) {
    Pair pair;
    return pair.run([&](Duplex& duplex) { SecureChannel::initiate(duplex, a, of_a); },
                    [&](Duplex& duplex) { SecureChannel::accept(duplex, b, of_b); });
  };
  CHECK(both(secret, plain, secret, plain) == std::pair<std::string, std::string>());
  const std::string unknown = "the peer does not know this job's secret";
  CHECK(both(secret, plain, Secret::generate(), plain).first == unknown);
  CHECK(both(secret, plain, secret, encrypted).first == unknown);
  CHECK(both(secret, plain, secret, {"node 2", false}).first == unknown);

  // A false receiver that answers zeros is refused.
  Pair zeros;
  const auto refused =
      zeros.run([&](Duplex& duplex) { SecureChannel::initiate(duplex, secret, plain).write(pattern(9)); },
                [&](Duplex& duplex) {
                  Bytes hello(40);
                  duplex.read(hello);
                  duplex.write(Bytes(64));
                });
  CHECK(refused.first == unknown);
  CHECK(zeros.there.heard.size() == 40);  // nothing of use has been sent

  // A whole connection is replayed.
  Pair first;
  first.run([&](Duplex& duplex) { SecureChannel::initiate(duplex, secret, plain).write(pattern(9)); },
            [&](Duplex& duplex) {
              Bytes received(9);
              SecureChannel::accept(duplex, secret, plain).read(received);
            });
  Pair again;
  bool was_taken = false;
  const auto replayed = again.run([&](Duplex& duplex) { duplex.write(first.there.heard); },
                                  [&](Duplex& duplex) {
                                    SecureChannel::accept(duplex, secret, plain);
                                    was_taken = true;
                                  });
  CHECK(replayed.second == unknown);
  CHECK_FALSE(was_taken);
}

TEST_CASE("records that are swapped, repeated or sent back do not fit") {
  const ChannelTerms terms = GENERATE(plain, encrypted);
  const Secret secret = Secret::generate();
  const int trick = GENERATE(0, 1, 2);
  const std::size_t record_bytes = 10 + channel_tag_bytes(terms.encrypts);
  Bytes records;
  // Catches the sender's records on their way.
  struct Catcher : Duplex {
    Catcher(Duplex& inner, Bytes& out) : inner_(inner), out_(out) {}
    void write(std::span<const std::byte> bytes, std::span<const std::byte> tail) override {
      if (catches) {
        out_.insert(out_.end(), bytes.begin(), bytes.end());
        out_.insert(out_.end(), tail.begin(), tail.end());
      } else {
        inner_.write(bytes, tail);
      }
    }
    void read(std::span<std::byte> bytes, std::span<std::byte> tail) override { inner_.read(bytes, tail); }
    bool catches = false;
    Duplex& inner_;
    Bytes& out_;
  };
  Pair pair;
  bool arrived = false;
  pair.run(
      [&](Duplex& duplex) {
        Catcher catcher(duplex, records);
        SecureChannel channel = SecureChannel::initiate(catcher, secret, terms);
        catcher.catches = true;
        channel.write(pattern(10));
        channel.write(pattern(10));
        const auto record = [&](std::size_t i) {
          return std::span(records).subspan(record_bytes * i, record_bytes);
        };
        if (trick == 0) {
          duplex.write(record(1));
          duplex.write(record(0));
        } else if (trick == 1) {
          duplex.write(record(0));
          duplex.write(record(0));
        } else {  // replay what the other end has sent itself
          Bytes own(record_bytes);
          duplex.read(own);
          duplex.write(own);
          duplex.write(own);
        }
      },
      [&](Duplex& duplex) {
        SecureChannel channel = SecureChannel::accept(duplex, secret, terms);
        channel.write(pattern(10));
        Bytes one(10), two(10);
        channel.read(one);
        channel.read(two);
        arrived = true;
      });
  CHECK_FALSE(arrived);
}

TEST_CASE("codes are HMAC-SHA256 of parts with their lengths, and secrets have 64 digits") {
  const Secret secret = Secret::from_hex(std::string(64, 'a'));
  CHECK(secret.to_hex() == std::string(64, 'a'));
  CHECK(hmac_sha256(secret, {text_bytes("ab"), text_bytes("c")}) !=
        hmac_sha256(secret, {text_bytes("a"), text_bytes("bc")}));
  // python3 -c 'import hmac; print(hmac.new(b"\xaa"*32, b"\1"+b"\0"*7+b"x", "sha256").hexdigest())'
  CHECK(Secret(hmac_sha256(secret, {text_bytes("x")})).to_hex() ==
        "18082b2bb971a4392d35afcc25731db264e4f3b27a7455c572580dd87980bc7d");
  for (const std::string& text : {std::string(63, 'a'), std::string(64, 'g'), std::string(64, 'A')}) {
    try {
      Secret::from_hex(text);
      FAIL("taken");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::input);
      CHECK(error.message().find(text) == std::string::npos);
    }
  }
  CHECK_FALSE(Secret::generate().to_hex() == Secret::generate().to_hex());
}
