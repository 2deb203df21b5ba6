#pragma once
// The part of HDF5 that dt uses: files of contiguous datasets and attributes. A dataset's payload
// lies at a fixed offset in the file, so pread and pwrite access it like a memory map. The HDF5
// library writes files. dt reads them itself (hdf5/), since files come from anywhere and the
// library is not hardened against hostile ones.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/io/files.hpp"
#include "base/numeric/dtype.hpp"

namespace dt {

struct DatasetInfo {
  std::string path;  // "/weights/layers.0.attention.q.weight"
  DType dtype;
  std::vector<std::uint64_t> shape;  // {} is a scalar
  std::uint64_t offset;  // payload's offset in the file, in bytes; little-endian elements in row-major order
  std::uint64_t bytes;
};

/// Writes a file in two phases. The caller declares datasets and attributes, then layout() fixes
/// the offsets, and payloads may be written in any order. close() reports errors and syncs to disk.
/// The writer aligns payloads to 64 bytes. It stores bf16 as a 2-byte HDF5 float with 8 exponent
/// and 7 mantissa bits, f16 as IEEE binary16.
/// Thread safety: several threads may write payloads after layout().
/// After a crash: a file whose writer did not reach close() cannot be opened.
class Hdf5Writer {
 public:
  /// `num_datasets` is the approximate number of datasets. If given, their metadata lies together.
  explicit Hdf5Writer(const fs::path& path, std::size_t num_datasets = 0);
  /// Writes to an empty file that is open for reading and writing.
  explicit Hdf5Writer(File file, std::size_t num_datasets = 0);
  ~Hdf5Writer();
  Hdf5Writer(Hdf5Writer&&) noexcept;
  /// Declares a dataset. Makes intermediate groups as needed.
  void declare(const std::string& dataset, DType dtype, std::vector<std::uint64_t> shape);
  /// Sets an attribute of `object`, which is an existing dataset or group ("/" is the root).
  void set_attribute(const std::string& object, const std::string& name, const std::string& value);
  void set_attribute(const std::string& object, const std::string& name, std::int64_t value);
  /// Ends the declarations and fixes the offsets.
  void end_declarations();
  const DatasetInfo& info(const std::string& dataset) const;
  void write(const std::string& dataset, std::uint64_t byte_offset, std::span<const std::byte> bytes);
  void close();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Reads files of Hdf5Writer, and contiguous datasets of other programs, in every version of the
/// format from HDF5 1.8 to 2.0. It reads only the metadata that a call needs. Time and memory are
/// bounded, and linear in the file's metadata. Follows no soft or external links.
/// Errors: input, naming the file, at opening and from each call: no HDF5 file, truncated, damaged,
/// or missing. The same for content that dt does not read: other element types, chunks,
/// compression, external files, text of variable length.
/// Thread safety: safe from several threads.
class Hdf5Reader {
 public:
  explicit Hdf5Reader(const fs::path& path);
  explicit Hdf5Reader(File file);
  ~Hdf5Reader();
  Hdf5Reader(Hdf5Reader&&) noexcept;
  const fs::path& path() const;
  const File& file() const;
  /// Returns all datasets, sorted, including those that dt cannot read.
  std::vector<std::string> dataset_paths() const;
  const DatasetInfo& info(const std::string& dataset) const;
  void read(const std::string& dataset, std::uint64_t byte_offset, std::span<std::byte> bytes) const;
  /// Returns a whole dataset as values of T.
  /// Errors: input if its type is another.
  template <class T>
  std::vector<T> read_all(const std::string& dataset) const {
    const DatasetInfo& d = info_as(dataset, dtype_of<T>());
    std::vector<T> values(d.bytes / sizeof(T));
    read(dataset, 0, std::as_writable_bytes(std::span(values)));
    return values;
  }
  /// Return none if there is no such attribute of one element and this type.
  std::optional<std::string> string_attribute(const std::string& object, const std::string& name) const;
  std::optional<std::int64_t> int_attribute(const std::string& object, const std::string& name) const;

 private:
  const DatasetInfo& info_as(const std::string& dataset, DType dtype) const;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dt
