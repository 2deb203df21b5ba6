#include "run/local_target.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/error.hpp"
#include "comm/exchange.hpp"
#include "run/shared_target.hpp"

namespace dt::run {

namespace {

/// Which running kernel this process is on; "" where that cannot be known.
std::string machine_id() {
  std::string id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
  return id;
}

}  // namespace

LocalTarget::LocalTarget(const comm::Ranks& ranks, const fs::path& folder, const RunDirectory& run,
                         const Generation& own, double timeout_s, const std::string& host,
                         const LiveRun* alive)
    : ranks_(ranks),
      run_(run),
      own_(own),
      alive_(alive),
      timeout_s_(timeout_s),
      nodes_(find_nodes(ranks.world, host)),
      is_leader_(nodes_.leader(nodes_.own) == ranks.world.rank()),
      store_(folder, run, host) {
  std::string offer, stays;
  comm::together(ranks.world, [&] {
    if (!is_leader_) return;
    claim_ = read_file(run.generation_path(own.number));
    stays = store_.open();
    if (nodes_.size() > 1) offer = listen();
  });
  check_nodes();
  warn_of(stays.empty() ? stays : at_own_node(stays));
  if (nodes_.size() == 1) {
    ranks.console.info("all ranks are on one node: local checkpoints have no copy on another");
    return;
  }
  const std::vector<std::string> offers = comm::gather_texts(ranks.world, offer);
  const int partner = (nodes_.own + 1) % nodes_.size();
  comm::together(ranks.world,
                 [&] { find_partner(offers[static_cast<std::size_t>(nodes_.leader(partner))]); });
}

/// Hosts that bear one name pass for one node, but each has storage of its own: what the node's first rank
/// makes there, the others do not find.
void LocalTarget::check_nodes() const {
  const std::vector<std::string> machines = comm::gather_texts(ranks_.world, machine_id());
  comm::together(ranks_.world, [&] {
    const auto leader = static_cast<std::size_t>(nodes_.leader(nodes_.own));
    const std::string& its = machines[leader];
    const std::string& own = machines[static_cast<std::size_t>(ranks_.world.rank())];
    const bool is_same = its == own || its.empty() || own.empty();
    if (is_same && folder_exists(store_.path())) return;
    throw Error(
        ErrorKind::environment,
        fmt::format("ranks {} and {} both name their host '{}', but {}", leader, ranks_.world.rank(),
                    nodes_.hosts[static_cast<std::size_t>(nodes_.own)],
                    is_same ? fmt::format("the second does not see {}, which the first has made there",
                                          store_.path().string())
                            : "are on different machines"),
        "--checkpoint-local takes hosts of one name for one node: give each a name of its own (hostname), or "
        "leave --checkpoint-local out");
  });
}

/// Where this node takes copies, as a text: port, token, addresses.
std::string LocalTarget::listen() {
  token_ = make_part_token();
  listener_ = std::make_unique<TcpListener>(timeout_s_, [this](TcpConnection& connection) {
    receive_part(connection, token_, store_, timeout_s_);
  });
  std::string offer = fmt::format("{} {}", listener_->port(), std::string(token_.begin(), token_.end()));
  for (const std::string& address : own_addresses()) offer += " " + address;
  return offer;
}

/// Hosts have addresses that others do not reach, or that mean themselves to each: the first that answers is
/// taken.
void LocalTarget::find_partner(const std::string& offer) {
  constexpr double patience_s = 5;
  std::istringstream words(offer);
  Partner partner;
  std::string token, failures;
  words >> partner.port >> token;
  std::copy_n(token.begin(), std::min(token.size(), partner.token.size()), partner.token.begin());
  while (words >> partner.address) {
    try {
      TcpConnection connection(partner.address, partner.port, patience_s);
      ask_receiver(connection, partner.token);
      partner_ = partner;
      return;
    } catch (const Error& error) {
      failures += (failures.empty() ? "" : "; ") + error.message();
    }
  }
  throw Error(ErrorKind::environment,
              fmt::format("no way from node {} to {} for copies of local checkpoints: {}",
                          nodes_.hosts[static_cast<std::size_t>(nodes_.own)],
                          nodes_.hosts[static_cast<std::size_t>((nodes_.own + 1) % nodes_.size())], failures),
              "nodes must reach each other by TCP; or train without --checkpoint-local");
}

fs::path LocalTarget::begin(const checkpoint::Manifest& header) {
  header_ = header;
  finish_removal();
  comm::together(ranks_.world, [&] {
    if (!is_leader_) return;
    store_.begin(header.state.step, own_.number);
  });
  return store_.unfinished_path(header.state.step, own_.number);
}

void LocalTarget::finish_part(const std::function<void()>& check) {
  if (!partner_) return;
  TcpConnection connection(partner_->address, partner_->port, timeout_s_, check);
  send_part(connection, partner_->token, store_.unfinished_path(header_.state.step, own_.number),
            header_.state.step, own_.number, ranks_.world.rank());
}

void LocalTarget::commit(SavedCheckpoint& saved, int) {
  if (ranks_.is_first()) confirm_ownership(run_, own_, alive_);
  saved.path = store_.commit(header_, claim_);
  saved.bytes = folder_bytes(saved.path);
  saved.num_nodes = nodes_.size();
}

void LocalTarget::end(bool is_announced) {
  if (is_announced) {
    unproven_ = header_.state.step;
  } else if (is_leader_) {
    store_.abandon(header_.state.step, own_.number);
  }
}

void LocalTarget::tell_proven(std::int64_t step) {
  if (!unproven_ || *unproven_ > step) return;
  const std::int64_t newest = *unproven_;
  unproven_.reset();
  proven_step_ = newest;
  if (!is_leader_) return;
  removal_ = std::async(std::launch::async, [this, newest] {
    return why_failed([&] { store_.remove_older(own_.number, {{}, newest, own_.number}); });
  });
}

/// "" where `removal` has not. What is left takes room; the state is safe all the same.
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
  warn_of(removal_.valid() ? removal_.get() : std::string());
}

void LocalTarget::warn_of(const std::string& failure) {
  for (const std::string& of_rank : comm::gather_texts(ranks_.world, failure)) {
    if (!of_rank.empty()) ranks_.console.warn("{}", of_rank);
  }
}

void LocalTarget::clear() {
  finish_removal();
  warn_of(is_leader_ ? why_failed([&] { store_.clear(own_.number); }) : std::string());
}

}  // namespace dt::run
