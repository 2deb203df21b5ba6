#pragma once
// A pool of encoders for tasks that threads share: as many encoders as tasks run at once.

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "data/tokenizer.hpp"

namespace dt::data {

/// Lends encoders.
/// Thread safety: several threads may use it at once.
class EncoderPool {
 public:
  explicit EncoderPool(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  /// An encoder that belongs to its holder until destruction.
  class Lease {
   public:
    explicit Lease(EncoderPool& pool) : pool_(pool), encoder_(pool.acquire()) {}
    ~Lease() { pool_.release(std::move(encoder_)); }
    Lease(const Lease&) = delete;
    TextEncoder& operator*() const { return *encoder_; }

   private:
    EncoderPool& pool_;
    std::unique_ptr<TextEncoder> encoder_;
  };

 private:
  std::unique_ptr<TextEncoder> acquire() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return tokenizer_.encoder();
    std::unique_ptr<TextEncoder> encoder = std::move(idle_.back());
    idle_.pop_back();
    return encoder;
  }
  void release(std::unique_ptr<TextEncoder> encoder) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(encoder));
  }

  const Tokenizer& tokenizer_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<TextEncoder>> idle_;
};

}  // namespace dt::data
