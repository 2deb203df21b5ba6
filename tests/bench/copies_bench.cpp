// Measures what authentication or encryption of copies of local checkpoints costs. Files go over this
// host's loopback to a receiver that writes and syncs them. They are compared with the same bytes that
// carry only a digest (XXH3-64). The ways run in turn; printed are medians and the medians of each round's
// ratios. CPU time is that of both ends together; it is the figure to use if others use the machine.
//
//   bench_copies [FOLDER [ROUNDS [MB]]]
#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <fmt/format.h>
#include <future>
#include <string>
#include <vector>

#include "base/io/files.hpp"
#include "base/io/secure_channel.hpp"
#include "base/io/tcp.hpp"
#include "base/numeric/digest.hpp"
#include "base/system/host.hpp"

namespace {

using namespace dt;
using Record = std::span<std::byte>;

const Secret secret = Secret::generate();

/// A way to send and receive records; each end calls end() once.
struct Way {
  virtual ~Way() = default;
  virtual void send(Record record) = 0;
  virtual void receive(Record record) = 0;
  virtual void end() {}
};

struct Digested : Way {
  explicit Digested(Duplex& d) : duplex(d) {}
  void send(Record record) override {
    digester.update(record);
    duplex.write(record);
  }
  void receive(Record record) override {
    duplex.read(record);
    digester.update(record);
  }
  void end() override { sum = digester.value(); }
  Duplex& duplex;
  Digester digester;
  std::uint64_t sum = 0;
};

struct Secured : Way {
  explicit Secured(SecureChannel c) : channel(std::move(c)) {}
  void send(Record record) override { channel.write(record); }
  void receive(Record record) override { channel.read(record); }
  SecureChannel channel;
};

enum class Kind { digested, authenticated, encrypted };

std::unique_ptr<Way> way_of(Kind kind, Duplex& duplex, bool initiates) {
  if (kind == Kind::digested) return std::make_unique<Digested>(duplex);
  const ChannelTerms terms{"bench", kind == Kind::encrypted};
  return std::make_unique<Secured>(initiates ? SecureChannel::initiate(duplex, secret, terms)
                                             : SecureChannel::accept(duplex, secret, terms));
}

struct Anybody : Handshake {
  std::size_t num_expected_bytes() const override { return 0; }
  std::optional<std::vector<std::byte>> receive(std::span<const std::byte>) override { return std::nullopt; }
};

double seconds_of_copy(Kind kind, const fs::path& from, const fs::path& to) {
  const std::uint64_t bytes = fs::file_size(from);
  const auto records = [&](auto action) {
    std::vector<std::byte> buffer(channel_record_bytes);
    for (std::uint64_t at = 0; at < bytes; at += buffer.size())
      action(at, Record(buffer).first(std::min<std::uint64_t>(buffer.size(), bytes - at)));
  };
  std::promise<void> synced;
  TcpListener listener(
      std::vector<std::string>{"127.0.0.1"}, 60, [] { return std::make_unique<Anybody>(); },
      [&](TcpConnection& connection, Handshake&) {
        const auto way = way_of(kind, connection, false);
        File file = File::create(to);
        records([&](std::uint64_t, Record record) {
          way->receive(record);
          file.write(record);
        });
        way->end();
        file.sync();
        synced.set_value();
      });
  const File source = File::open_read(from);
  const double began_s = monotonic_s();
  TcpConnection connection("127.0.0.1", listener.endpoints().front().port, 60);
  const auto way = way_of(kind, connection, true);
  records([&](std::uint64_t at, Record record) {
    source.read_at(at, record);
    way->send(record);
  });
  way->end();
  synced.get_future().wait();
  return monotonic_s() - began_s;
}

/// Returns the CPU time of all threads of this process.
double cpu_seconds() {
  timespec t{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const fs::path folder = argc > 1 ? argv[1] : ".";
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 9;
  const std::size_t bytes = std::size_t{argc > 3 ? std::strtoul(argv[3], nullptr, 10) : 1024} << 20;
  const fs::path from = folder / "copies_bench.from", to = folder / "copies_bench.to";
  {
    std::vector<std::byte> content(channel_record_bytes);
    File file = File::create(from);
    for (std::size_t i = 0; i < bytes / content.size(); ++i) {
      fill_random(content);
      file.write(content);
    }
    file.sync();
  }
  std::vector<double> seconds[3], ratios[3], cpu[3], cpu_ratios[3];
  for (int round = 0; round <= rounds; ++round) {
    double of_kind[3], cpu_of_kind[3];
    for (int i = 0; i < 3; ++i) {
      const int kind = (i + round) % 3;
      const double before_s = cpu_seconds();
      of_kind[kind] = seconds_of_copy(static_cast<Kind>(kind), from, to);
      cpu_of_kind[kind] = cpu_seconds() - before_s;
    }
    if (round == 0) continue;  // warms pages and caches
    for (int kind = 0; kind < 3; ++kind) {
      seconds[kind].push_back(of_kind[kind]);
      ratios[kind].push_back(of_kind[kind] / of_kind[0]);
      cpu[kind].push_back(cpu_of_kind[kind]);
      cpu_ratios[kind].push_back(cpu_of_kind[kind] / cpu_of_kind[0]);
    }
  }
  const char* names[] = {"with a digest", "authenticated", "encrypted"};
  for (int kind = 0; kind < 3; ++kind)
    fmt::print(
        "copies {:<14} {:>6.2f} GB/s, {:.2f} CPU s/GB   time {:.3f}, CPU time {:.3f} of one with a digest\n",
        names[kind], static_cast<double>(bytes) / median(seconds[kind]) / 1e9,
        median(cpu[kind]) / static_cast<double>(bytes) * 1e9, median(ratios[kind]), median(cpu_ratios[kind]));
  fs::remove(from);
  fs::remove(to);
}
