#include "comm/threads/thread_group.hpp"

#include <algorithm>
#include <exception>
#include <numeric>
#include <system_error>
#include <thread>
#include <vector>

#include "base/system/host.hpp"
#include "base/system/threads.hpp"
#include "comm/threads/hub.hpp"

namespace dt::comm {

namespace {

class ThreadRanks {
 public:
  ThreadRanks(int size, const std::function<int(Communicator&)>& body,
              const std::function<std::string(int rank)>& host_of)
      : body_(body),
        host_of_(host_of),
        world_(std::make_shared<ThreadWorld>(size)),
        results_(static_cast<std::size_t>(size)),
        errors_(results_.size()) {
    std::vector<int> members(static_cast<std::size_t>(size));
    std::iota(members.begin(), members.end(), 0);
    hub_ = std::make_shared<Hub>(world_, std::move(members));
  }

  /// Runs all ranks, rank 0 on the calling thread.
  int all() {
    std::vector<std::thread> threads;
    try {
      for (int rank = 1; rank < hub_->size(); ++rank) threads.emplace_back([this, rank] { one(rank); });
    } catch (const std::system_error& error) {
      fail(0, std::make_exception_ptr(thread_error(error.code().value(), hub_->size())));
    }
    one(0);
    for (std::thread& thread : threads) thread.join();
    rethrow_first_error();
    return *std::max_element(results_.begin(), results_.end());
  }

 private:
  void one(int rank) noexcept {
    try {
      Communicator communicator(std::make_unique<ThreadTransport>(hub_, rank),
                                std::make_shared<Engine>(std::make_shared<Recorder>()), "world",
                                host_of_ ? host_of_(rank) : host_name());
      if (world_->failed_rank() < 0) results_[static_cast<std::size_t>(rank)] = body_(communicator);
    } catch (...) {
      fail(rank, std::current_exception());
    }
  }

  void fail(int rank, const std::exception_ptr& error) {
    errors_[static_cast<std::size_t>(rank)] = error;
    world_->fail(rank, words_of(error));
  }

  void rethrow_first_error() const {
    const int first = world_->failed_rank();
    if (first >= 0 && errors_[static_cast<std::size_t>(first)]) {
      std::rethrow_exception(errors_[static_cast<std::size_t>(first)]);
    }
    for (const std::exception_ptr& error : errors_) {
      if (error) std::rethrow_exception(error);
    }
  }

  static std::string words_of(const std::exception_ptr& error) {
    try {
      std::rethrow_exception(error);
    } catch (const Error& e) {
      return e.message();
    } catch (const std::exception& e) {
      return e.what();
    } catch (...) {
      return "an unknown exception";
    }
  }

  const std::function<int(Communicator&)>& body_;
  const std::function<std::string(int rank)>& host_of_;
  std::shared_ptr<ThreadWorld> world_;
  std::shared_ptr<Hub> hub_;
  std::vector<int> results_;
  std::vector<std::exception_ptr> errors_;
};

}  // namespace

int run_threads(int size, const std::function<int(Communicator&)>& body,
                const std::function<std::string(int rank)>& host_of) {
  DT_CHECK(size > 0, "a run needs a rank, not {}", size);
  return ThreadRanks(size, body, host_of).all();
}

}  // namespace dt::comm
