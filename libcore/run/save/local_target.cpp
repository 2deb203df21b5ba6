#include "run/save/local_target.hpp"

#include <fstream>
#include <sstream>

#include "base/error.hpp"
#include "comm/exchange.hpp"
#include "run/save/shared_target.hpp"

namespace dt::run {

namespace {

/// Returns an identifier of the running kernel that this process is on, or "" if it is unknown.
std::string machine_id() {
  std::string id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
  return id;
}

/// Makes a secret on rank 0 and sends it to all ranks.
Secret broadcast_secret(const comm::Ranks& ranks, const std::function<Secret()>& make) {
  std::string text;
  comm::on_root(ranks, [&] { text = make().to_hex(); });
  return Secret::from_hex(comm::broadcast_text(ranks.world, text));
}

std::string to_text(const std::vector<TcpListener::Endpoint>& endpoints) {
  std::string text;
  for (const TcpListener::Endpoint& e : endpoints) text += fmt::format("{} {} ", e.address, e.port);
  return text;
}

std::vector<TcpListener::Endpoint> parse_endpoints(const std::string& text) {
  std::istringstream words(text);
  std::vector<TcpListener::Endpoint> endpoints;
  for (TcpListener::Endpoint e; words >> e.address >> e.port;) endpoints.push_back(e);
  return endpoints;
}

}  // namespace

LocalTarget::LocalTarget(const comm::Ranks& ranks, const LocalSettings& settings, const RunDirectory& run,
                         const Generation& own, const std::string& host, const RunLock* alive)
    : ranks_(ranks),
      run_(run),
      own_(own),
      alive_(alive),
      settings_(settings),
      nodes_(find_nodes(ranks.world, host)),
      is_leader_(nodes_.leader(nodes_.own) == ranks.world.rank()),
      store_(settings.folder, run, host,
             broadcast_secret(ranks, [&] { return load_or_create_shard_key(run); })) {
  std::string stays;
  comm::run_collectively(ranks.world, [&] {
    if (!is_leader_) return;
    claim_ = read_file(run.generation_path(own.number));
    stays = store_.open();
  });
  check_nodes();
  warn_of_failures(stays.empty() ? stays : at_own_node(stays));
  if (nodes_.size() == 1) {
    ranks.console.info("all ranks are on one node: local checkpoints have no copy on another node");
    return;
  }
  find_partner();
}

/// Checks that ranks with the same host name share storage. Hosts with the same name count as one
/// node, but each has its own storage. The other ranks would not find the folder that the node's
/// first rank makes.
void LocalTarget::check_nodes() const {
  const std::vector<std::string> machines = comm::gather_texts(ranks_.world, machine_id());
  comm::run_collectively(ranks_.world, [&] {
    const auto leader = static_cast<std::size_t>(nodes_.leader(nodes_.own));
    const std::string& its = machines[leader];
    const std::string& own = machines[static_cast<std::size_t>(ranks_.world.rank())];
    const bool is_same = its == own || its.empty() || own.empty();
    if (is_same && folder_exists(store_.path())) return;
    throw Error(ErrorKind::environment,
                fmt::format("ranks {} and {} both have the host name '{}', but {}", leader,
                            ranks_.world.rank(), nodes_.hosts[static_cast<std::size_t>(nodes_.own)],
                            is_same ? fmt::format("the second does not see {}, which the first created",
                                                  store_.path().string())
                                    : "are on different machines"),
                "--checkpoint-local identifies nodes by host name: give each node its own host name, or omit "
                "--checkpoint-local");
  });
}

/// Connects each rank to its partner. Receivers then listen only on addresses that ranks chose.
void LocalTarget::find_partner() {
  secret_ = broadcast_secret(ranks_, [] { return Secret::generate(); });
  std::string offer;
  comm::run_collectively(ranks_.world, [&] {
    if (!is_leader_) return;
    receiver_ = std::make_unique<CopyReceiver>(store_, *secret_, terms(nodes_.own), settings_.timeout_s,
                                               own_addresses());
    offer = to_text(receiver_->endpoints());
  });
  const std::vector<std::string> offers = comm::gather_texts(ranks_.world, offer);
  const int partner = (nodes_.own + 1) % nodes_.size();
  comm::run_collectively(ranks_.world, [&] {
    try {
      sender_.emplace(parse_endpoints(offers[static_cast<std::size_t>(nodes_.leader(partner))]), *secret_,
                      terms(partner), settings_.timeout_s);
    } catch (const ConnectionError& error) {
      throw Error(ErrorKind::environment,
                  fmt::format("node {} cannot reach node {} to copy local checkpoints: {}",
                              nodes_.hosts[static_cast<std::size_t>(nodes_.own)],
                              nodes_.hosts[static_cast<std::size_t>(partner)], error.message()),
                  "allow TCP connections between the nodes, or omit --checkpoint-local");
    }
  });
  const std::vector<std::string> chosen = comm::gather_texts(ranks_.world, sender_->address());
  if (!receiver_) return;
  std::vector<std::string> used;
  for (const int rank : senders()) used.push_back(chosen[static_cast<std::size_t>(rank)]);
  receiver_->close_other_addresses(used);
}

/// Returns the ranks of the previous node, whose copies this node receives.
const std::vector<int>& LocalTarget::senders() const {
  return nodes_.ranks[static_cast<std::size_t>((nodes_.own + nodes_.size() - 1) % nodes_.size())];
}

ChannelTerms LocalTarget::terms(int node) const {
  return {fmt::format("copies of node {}", node), settings_.encrypts};
}

fs::path LocalTarget::begin(const checkpoint::Manifest& header) {
  header_ = header;
  copy_failure_.clear();
  finish_removal();
  comm::run_collectively(ranks_.world, [&] {
    if (!is_leader_) return;
    store_.begin(header.state.step, own_.number);
    if (receiver_) receiver_->expect(expected_copies(header, own_.number, senders()));
  });
  return store_.unfinished_path(header.state.step, own_.number);
}

void LocalTarget::finish_shard(const std::function<void()>& check) {
  if (!sender_) return;
  copy_failure_ = sender_->send(store_.unfinished_path(header_.state.step, own_.number), header_.state.step,
                                own_.number, ranks_.world.rank(), check);
}

void LocalTarget::commit(SavedCheckpoint& saved, int, const checkpoint::WrittenPieces&) {
  if (ranks_.is_root()) confirm_ownership(run_, own_, alive_);
  if (receiver_) receiver_->expect({});
  saved.path = store_.commit(header_, claim_);
  saved.bytes = folder_bytes(saved.path);
  saved.num_nodes = nodes_.size();
}

void LocalTarget::complete(SavedCheckpoint& saved) {
  std::string own;
  if (!copy_failure_.empty()) {
    own = fmt::format("{}: rank {}'s files of step {} have no copy on another node until the next save: {}",
                      nodes_.hosts[static_cast<std::size_t>(nodes_.own)], ranks_.world.rank(),
                      header_.state.step, copy_failure_);
  }
  for (const std::string& of_rank : comm::gather_texts(ranks_.world, own)) {
    if (of_rank.empty()) continue;
    ++saved.num_without_copy;
    ranks_.console.warn("{}", of_rank);
  }
  has_copies_ = saved.num_without_copy == 0;
}

void LocalTarget::end(bool is_announced) {
  if (is_announced) {
    unconfirmed_ = header_.state.step;
    if (has_copies_) copied_ = header_.state.step;
  } else if (is_leader_) {
    store_.discard(header_.state.step, own_.number);
  }
}

void LocalTarget::confirm_weights(std::int64_t step) {
  if (!unconfirmed_ || *unconfirmed_ > step) return;
  const std::int64_t newest = *unconfirmed_;
  unconfirmed_.reset();
  confirmed_step_ = newest;
  if (!is_leader_) return;
  removal_ = std::async(std::launch::async, [this, newest, kept = copied_] {
    return why_failed([&] { store_.remove_older(own_.number, {{}, newest, own_.number}, kept); });
  });
}

/// Returns "" or why `removal` failed. Remaining files only take space; the state is safe.
std::string LocalTarget::why_failed(const std::function<void()>& removal) const {
  try {
    removal();
    return {};
  } catch (const Error& error) {
    return at_own_node(error.message());
  }
}

std::string LocalTarget::at_own_node(const std::string& text) const {
  return fmt::format("{}: {}", nodes_.hosts[static_cast<std::size_t>(nodes_.own)], text);
}

void LocalTarget::finish_removal() {
  warn_of_failures(removal_.valid() ? removal_.get() : std::string());
}

void LocalTarget::warn_of_failures(const std::string& failure) {
  for (const std::string& of_rank : comm::gather_texts(ranks_.world, failure)) {
    if (!of_rank.empty()) ranks_.console.warn("{}", of_rank);
  }
}

void LocalTarget::clear() {
  finish_removal();
  warn_of_failures(is_leader_ ? why_failed([&] { store_.clear(own_.number); }) : std::string());
}

}  // namespace dt::run
