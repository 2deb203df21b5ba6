#pragma once
// The safetensors format: 8 bytes of header length (little-endian), a JSON header, then the tensors'
// bytes without gaps.
// Source: https://github.com/huggingface/safetensors, "Format".

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/io/files.hpp"
#include "base/numeric/dtype.hpp"
#include "tensor/tensor.hpp"

namespace dt::convert {

struct SafeTensor {
  std::string name;
  std::optional<DType> dtype;  // none: a type that dt lacks (BOOL, F8_E4M3, ...)
  std::string dtype_name;      // the format's name: "F32"
  Shape shape;
  std::uint64_t begin = 0;  // bytes [begin, end) of the file
  std::uint64_t end = 0;
};

/// Returns the head of a file that holds `tensors` in this order, which is everything before the
/// tensors' bytes. The head's length is a multiple of 8. Sets `begin` and `end` of each tensor.
/// `metadata` joins `format` in `__metadata__`.
std::string safetensors_head(std::vector<SafeTensor>& tensors,
                             const std::map<std::string, std::string>& metadata = {});
/// Returns the format's name of a type.
/// Errors: internal, a type that the format lacks.
std::string safetensors_dtype(DType dtype);

/// A file whose header has been checked against the format and the file's size.
class SafetensorsFile {
 public:
  /// Errors: input, naming the file and the tensor.
  explicit SafetensorsFile(const fs::path& path);
  const fs::path& path() const { return file_.path(); }
  const std::map<std::string, SafeTensor>& tensors() const { return tensors_; }
  /// Reads bytes of a tensor from `byte_offset` on.
  /// Errors: input, a file that shrank.
  void read(const SafeTensor& tensor, std::uint64_t byte_offset, std::span<std::byte> bytes) const;

 private:
  File file_;
  std::map<std::string, SafeTensor> tensors_;
};

}  // namespace dt::convert
