#pragma once
// Finds where the ranks of a group are, and the shared memory that this makes possible.

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/numeric/dtype.hpp"
#include "comm/node/node_window.hpp"

namespace dt::comm {

using HostName = std::array<char, 64>;
HostName host_name_of(const std::string& host);

/// A division of a group into `num_hosts` runs of `per_host` ranks in a row, each run on one host. A
/// host that has several runs counts as several.
struct Placement {
  int num_hosts = 0;
  int per_host = 0;
  bool operator==(const Placement&) const = default;
};

/// Finds the longest runs into which a group of ranks on these hosts can be divided. Each run is a
/// whole subtree of combine(), so summing runs first keeps every bit. A run is all ranks if one
/// host has them (up to NodeWindow::max_ranks). Otherwise it is the largest power of two that
/// divides the group so that no run is on two hosts. Returns nothing if runs would be single ranks.
std::optional<Placement> placement_of(std::span<const int> hosts);
std::optional<Placement> placement_of(std::span<const HostName> hosts);

/// Returns whether fewer bytes pass between runs if each run sums its ranks' values first. One sum
/// takes the place of per_host values. For 16-bit floats the sum has twice their size, since rounding
/// comes last.
bool is_hierarchical_sum_faster(DType dtype, const Placement& placement);

/// The placement of a group's ranks, and their window. The group's first large operation finds
/// them: ranks tell each other their hosts, the first rank of each host makes a window, and the
/// others map it. The locality is open if every rank has its window.
class Locality {
 public:
  enum class State { undecided, open, absent };
  /// Wakes `count` ranks of the group from `first` on (see Transport::notify).
  using Notify = std::function<void(int first, int count)>;
  /// Creates an undecided locality. `host` names this rank's host. Ranks that name different hosts
  /// never share memory.
  Locality(int rank, int size, const std::string& host, Notify notify);

  State state() const { return state_; }
  /// Returns the placement. Call once the state is open.
  const Placement& placement() const { return placement_; }
  const std::shared_ptr<NodeWindow>& window() const { return window_; }

  /// Returns true for the first caller, whose operation must decide the locality.
  bool claim_discovery();
  /// Records that this operation will not decide the locality, so that it is never decided.
  void cancel() { is_cancelled_ = true; }
  /// Throws if the locality was cancelled.
  /// Errors: environment.
  void throw_if_cancelled() const;
  /// Registers `then`, which is called when the locality is decided, in the order of registrations.
  /// If `then` is destroyed by that time, this rank has missed its operation's turn, and the window
  /// is broken off.
  void when_decided(const std::shared_ptr<std::function<void()>>& then) { waiting_.push_back(then); }

  // The functions below are the steps of the decision.
  const HostName& host() const { return host_; }
  void place(std::span<const HostName> hosts);
  /// Returns the first rank of the group on this host. Call after place().
  int first_neighbour() const { return rank_ - rank_ % placement_.per_host; }
  int num_neighbours() const { return placement_.per_host; }
  /// Makes the window, on the first neighbour. On other ranks, returns an empty offer.
  NodeWindow::Offer offer_window();
  /// Returns whether this rank has the window that its first neighbour offers.
  bool accept_window(const NodeWindow::Offer& offer);
  void decide(bool all_have_it);

 private:
  bool is_first_neighbour() const { return rank_ == first_neighbour(); }

  int rank_;
  int size_;
  HostName host_;
  Notify notify_;
  State state_ = State::undecided;
  bool is_claimed_ = false;
  Placement placement_{1, 1};
  std::shared_ptr<NodeWindow> window_;
  bool is_cancelled_ = false;
  std::vector<std::weak_ptr<std::function<void()>>> waiting_;
};

}  // namespace dt::comm
