#include "run/local/replication.hpp"

#include <catch2/catch.hpp>

#include "base/error.hpp"
#include "base/system/host.hpp"
#include "checkpoint/writer_manifest.hpp"
#include "run/local_saves.hpp"

namespace dt::run {
namespace {

using checkpoint::test::contains;
using test::Stage;

const std::vector<std::string> loopback = {"127.0.0.1"};
const ChannelTerms terms{"copies of node 1", false};

/// A receiver on another host, for the copies of writers 0 and 1 of a stage's save.
struct Receiver {
  Receiver(const Stage& s, bool encrypts = false) : stage(s), store(s.folder / "disk2", s.run, "n2", s.key) {
    this->terms.encrypts = encrypts;
    receiver.emplace(store, secret, this->terms, 20, loopback);
  }
  void expect(std::int64_t step = 10) {
    receiver->expect(expected_copies(stage.header(step), stage.own.number, {0, 1}));
  }
  CopySender sender(const Secret& with) const { return {receiver->endpoints(), with, terms, 2}; }
  std::string send(int writer, std::int64_t step = 10) const {
    return sender(secret).send(stage.store.unfinished_path(step, 1), step, 1, writer, [] {});
  }

  const Stage& stage;
  LocalStore store;
  Secret secret = Secret::generate();
  ChannelTerms terms = run::terms;
  std::optional<CopyReceiver> receiver;
};

TEST_CASE("a part that is sent arrives as it is; strangers and what cannot be written are refused") {
  const Stage stage;
  Receiver other(stage, GENERATE(false, true));
  stage.store.begin(10, 1);
  stage.write(stage.store, 10, 0);
  stage.write(stage.store, 10, 1);
  const fs::path folder = other.store.unfinished_path(10, 1);

  CHECK(contains(other.send(0), "no save is in progress"));
  other.expect();
  CHECK(contains(other.send(0), "disk2"));  // the folder does not exist
  other.store.open();
  other.store.begin(10, 1);
  CHECK_THROWS_AS(other.sender(Secret::generate()), ConnectionError);
  CHECK(fs::is_empty(folder));
  other.expect(20);
  CHECK(contains(other.send(0), "step 20"));
  other.receiver->expect(expected_copies(stage.header(10), 1, {1}));
  CHECK(contains(other.send(0), "that rank is not on the previous node"));
  other.expect();
  CHECK(other.send(0).empty());
  CHECK(other.send(1).empty());
  CHECK(other.send(1).empty());  // sent again, as after a lost answer
  const fs::path shard = other.store.commit(stage.header(10), stage.claim());
  for (const std::string& name : {checkpoint::piece_file_name(0), checkpoint::writer_manifest_name(0),
                                  checkpoint::piece_file_name(1), checkpoint::writer_manifest_name(1)})
    CHECK(read_file(shard / name) == read_file(stage.store.unfinished_path(10, 1) / name));
  std::vector<checkpoint::Problem> problems;
  CHECK(other.store.shards(problems).at(0).writers == std::vector<int>{0, 1});
}

TEST_CASE("what one rank asks is bounded by what it may have written") {
  const Stage stage;
  const ExpectedCopies expected = expected_copies(stage.header(10), 1, {2, 3});
  const CopyRequest right{10, 1, 3, 5000, 500};
  CHECK(parse_copy_request(to_bytes(right)).writer_manifest_bytes == 500);
  CHECK(expected.why_refused(right).empty());
  const auto with = [&](auto member, auto value) {
    CopyRequest request = right;
    request.*member = value;
    return expected.why_refused(parse_copy_request(to_bytes(request)));
  };
  CHECK_FALSE(with(&CopyRequest::step, 11).empty());
  CHECK_FALSE(with(&CopyRequest::generation, 2).empty());
  CHECK_FALSE(with(&CopyRequest::writer, 1).empty());
  CHECK_FALSE(with(&CopyRequest::writer, (std::int64_t{1} << 32) + 3).empty());
  CHECK_FALSE(with(&CopyRequest::piece_file_bytes, std::uint64_t{1} << 40).empty());
  CHECK_FALSE(with(&CopyRequest::writer_manifest_bytes, std::uint64_t{1} << 40).empty());
  CHECK(with(&CopyRequest::piece_file_bytes, CopyRequest::no_file).empty());
  CHECK_FALSE(ExpectedCopies().why_refused(right).empty());
}

TEST_CASE("a copy that breaks off leaves nothing, and one whose part is another's is refused") {
  const Stage stage;
  Receiver other(stage);
  other.store.open();
  other.store.begin(10, 1);
  other.expect();
  const fs::path folder = other.store.unfinished_path(10, 1);
  {
    TcpConnection connection("127.0.0.1", other.receiver->endpoints().front().port, 20);
    SecureChannel channel = SecureChannel::initiate(connection, other.secret, terms);
    channel.write(to_bytes({10, 1, 0, 100, 100}));
    std::array<std::byte, 4> answer;
    channel.read(answer);
    const std::vector<std::byte> bytes(100);
    channel.write(bytes);
  }
  other.receiver.reset();  // the receiver has ended
  CHECK(fs::is_empty(folder));

  Receiver again(stage);
  again.expect();
  stage.store.begin(10, 1);
  stage.write(stage.store, 10, 0);
  stage.write(stage.store, 10, 1);
  const fs::path own = stage.store.unfinished_path(10, 1);
  fs::copy_file(own / checkpoint::writer_manifest_name(0), own / checkpoint::writer_manifest_name(1),
                fs::copy_options::overwrite_existing);
  CHECK(contains(again.send(1), "writer"));
  CHECK(fs::is_empty(folder));
}

TEST_CASE("a refusal for an earlier copy on its way uses up no attempt at a copy") {
  const Stage stage;
  Receiver other(stage);
  other.store.open();
  other.store.begin(10, 1);
  other.expect();
  stage.store.begin(10, 1);
  stage.write(stage.store, 10, 0);
  const TcpListener::Endpoint endpoint = other.receiver->endpoints().front();
  std::optional<TcpConnection> earlier(std::in_place, endpoint.address, endpoint.port, 20);
  std::optional<SecureChannel> channel(SecureChannel::initiate(*earlier, other.secret, terms));
  channel->write(to_bytes({10, 1, 0, 100, 100}));
  std::array<std::byte, 4> answer;
  channel->read(answer);
  const CopySender sender(other.receiver->endpoints(), other.secret, terms, 60);
  const double end_s = monotonic_s() + 1;  // three refusals take less time
  const auto check = [&] {
    if (monotonic_s() < end_s) return;
    channel.reset();
    earlier.reset();
  };
  CHECK(sender.send(stage.store.unfinished_path(10, 1), 10, 1, 0, check).empty());
}

TEST_CASE("a writer without elements sends its part alone") {
  const Stage stage;
  stage.store.begin(10, 1);
  checkpoint::write_shard(stage.store.unfinished_path(10, 1), stage.header(10), 0, {});
  Receiver other(stage);
  other.store.open();
  other.store.begin(10, 1);
  other.expect();
  CHECK(other.send(0).empty());
  CHECK(fs::exists(other.store.unfinished_path(10, 1) / checkpoint::writer_manifest_name(0)));
  CHECK_FALSE(fs::exists(other.store.unfinished_path(10, 1) / checkpoint::piece_file_name(0)));
  other.store.commit(stage.header(10), stage.claim());
  std::vector<checkpoint::Problem> problems;
  CHECK(other.store.shards(problems).at(0).writers == std::vector<int>{0});
}

}  // namespace
}  // namespace dt::run
