#pragma once
// The values on which a piece of a device's work depends, as bytes. Pieces whose keys have the same
// bytes are the same work.

#include <string>
#include <string_view>
#include <type_traits>

namespace dt {

class WorkKey {
 public:
  template <class... Values>
  explicit WorkKey(const Values&... values) {
    bytes_.reserve(typical_bytes);
    (add(values), ...);
  }
  /// Adds a value. Its padding bytes, if it has any, must be the same each time; otherwise repeated
  /// work counts as new.
  template <class Value>
  WorkKey& add(const Value& value) {
    static_assert(std::is_trivially_copyable_v<Value>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  std::string_view bytes() const { return bytes_; }

 private:
  static constexpr std::size_t typical_bytes = 256;
  std::string bytes_;
};

}  // namespace dt
