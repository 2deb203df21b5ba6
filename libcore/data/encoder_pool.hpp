#pragma once
// Encoders for tasks that threads share: as many as work at once.

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "data/tokenizer.hpp"

namespace dt::data {

/// Safe to use from several threads at once.
class EncoderPool {
 public:
  explicit EncoderPool(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  /// An encoder, nobody else's until it ends.
  class Loan {
   public:
    explicit Loan(EncoderPool& pool) : pool_(pool), encoder_(pool.take()) {}
    ~Loan() { pool_.give_back(std::move(encoder_)); }
    Loan(const Loan&) = delete;
    TextEncoder& operator*() const { return *encoder_; }

   private:
    EncoderPool& pool_;
    std::unique_ptr<TextEncoder> encoder_;
  };

 private:
  std::unique_ptr<TextEncoder> take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return tokenizer_.encoder();
    std::unique_ptr<TextEncoder> encoder = std::move(idle_.back());
    idle_.pop_back();
    return encoder;
  }
  void give_back(std::unique_ptr<TextEncoder> encoder) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(encoder));
  }

  const Tokenizer& tokenizer_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<TextEncoder>> idle_;
};

}  // namespace dt::data
