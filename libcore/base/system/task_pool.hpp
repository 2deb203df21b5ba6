#pragma once
// Threads that run tasks in the order of submission and return results as futures. A waiting caller
// may help.

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/system/limits.hpp"

namespace dt {

/// Runs tasks. The destructor drops tasks that have not begun and waits for the others.
/// Errors: environment, from the constructor, if the system starts no more threads.
template <class Result>
class TaskPool {
 public:
  explicit TaskPool(int num_threads) {
    try {
      for (int i = 0; i < num_threads; ++i) threads_.emplace_back([this] { work(); });
    } catch (const std::system_error& error) {
      end();
      throw thread_error(error.code().value(), num_threads);
    }
  }
  ~TaskPool() { end(); }
  TaskPool(const TaskPool&) = delete;

  /// Returns a result. Runs tasks on this thread until the result is available.
  Result get(std::future<Result>& result) {
    while (result.wait_for(std::chrono::seconds(0)) != std::future_status::ready && run_one()) {
    }
    return result.get();
  }

  std::future<Result> submit(std::function<Result()> task) {
    std::packaged_task<Result()> packaged(std::move(task));
    std::future<Result> result = packaged.get_future();
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(packaged));
    }
    changed_.notify_one();
    return result;
  }

 private:
  void end() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
      tasks_.clear();
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  /// Runs the next task. Returns false if none waits.
  bool run_one() {
    std::packaged_task<Result()> task;
    {
      const std::lock_guard lock(mutex_);
      if (tasks_.empty()) return false;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
    return true;
  }

  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return ending_ || !tasks_.empty(); });
      if (ending_) return;
      std::packaged_task<Result()> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::packaged_task<Result()>> tasks_;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace dt
