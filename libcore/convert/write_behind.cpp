#include "convert/write_behind.hpp"

#include "base/system/signals.hpp"

namespace dt::convert {

WriteBehind::WriteBehind() : free_(2) {
  const ScopedSignalBlock blocked;
  thread_ = std::thread([this] { work(); });
}

WriteBehind::~WriteBehind() {
  {
    const std::lock_guard lock(mutex_);
    jobs_.clear();
    ended_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void WriteBehind::rethrow() {
  if (error_) std::rethrow_exception(error_);
}

WriteBehind::Buffer WriteBehind::acquire(std::size_t bytes) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !free_.empty() || error_; });
  rethrow();
  Buffer buffer = std::move(free_.back());
  free_.pop_back();
  lock.unlock();
  if (buffer.storage.size() < bytes) buffer.storage.resize(bytes);
  buffer.bytes = std::span(buffer.storage).first(bytes);
  return buffer;
}

void WriteBehind::submit(Buffer buffer, Write write) {
  {
    const std::lock_guard lock(mutex_);
    if (error_) return;  // it came after take()
    jobs_.push_back({std::move(buffer), std::move(write)});
  }
  changed_.notify_all();
}

void WriteBehind::finish() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return (jobs_.empty() && !busy_) || error_; });
  rethrow();
}

void WriteBehind::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return !jobs_.empty() || ended_; });
    if (ended_) return;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    busy_ = true;
    lock.unlock();
    std::exception_ptr error;
    try {
      job.write(job.buffer.bytes);
    } catch (...) {
      error = std::current_exception();
    }
    job.write = {};
    lock.lock();
    busy_ = false;
    free_.push_back(std::move(job.buffer));
    if (error && !error_) {
      error_ = error;
      jobs_.clear();
    }
    changed_.notify_all();
  }
}

}  // namespace dt::convert
