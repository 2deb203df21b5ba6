#pragma once
// The part of HDF5 that dt uses: files of contiguous datasets and attributes. A dataset's payload lies at a
// fixed offset in the file, so it is read and written by pread and pwrite, like a memory map. The HDF5
// library writes files; dt reads them itself (hdf5/), since files come from anywhere and the library is not
// made for hostile ones.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.hpp"
#include "base/files.hpp"

namespace dt {

struct DatasetInfo {
  std::string path;  // "/weights/layers.0.attention.q.weight"
  DType dtype;
  std::vector<std::uint64_t> shape;  // {} is a scalar
  std::uint64_t offset;  // of the payload in the file, in bytes; little-endian elements in row-major order
  std::uint64_t bytes;
};

/// Writes a file in two phases: declare datasets and attributes, then layout() fixes the offsets and payloads
/// may be written in any order and from several threads. close() reports errors and syncs to disk; a file
/// whose writer died before that cannot be opened. Payloads are aligned to 64 bytes. bf16 is stored as a
/// 2-byte HDF5 float with 8 exponent and 7 mantissa bits; f16 as IEEE binary16.
class Hdf5Writer {
 public:
  /// `num_datasets`: about how many there will be, where they are many; their metadata then lies together.
  explicit Hdf5Writer(const fs::path& path, std::size_t num_datasets = 0);
  /// Writes to a file that is empty, and open for reading and writing.
  explicit Hdf5Writer(File file, std::size_t num_datasets = 0);
  ~Hdf5Writer();
  Hdf5Writer(Hdf5Writer&&) noexcept;
  /// Intermediate groups are made as needed.
  void declare(const std::string& dataset, DType dtype, std::vector<std::uint64_t> shape);
  /// `object` is a dataset or a group that exists ("/" is the root).
  void attribute(const std::string& object, const std::string& name, const std::string& value);
  void attribute(const std::string& object, const std::string& name, std::int64_t value);
  /// Ends the declarations.
  void layout();
  const DatasetInfo& info(const std::string& dataset) const;
  void write(const std::string& dataset, std::uint64_t byte_offset, std::span<const std::byte> bytes);
  void close();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Reads what Hdf5Writer writes, and contiguous datasets of other programs, in every version of the format
/// from HDF5 1.8 to 2.0. Only what is asked for is looked at, in time and memory that are linear in the
/// file's metadata and bounded. Links are not followed. Safe from several threads. Errors, at opening and of
/// each call: input, naming the file, for what is no HDF5 file, truncated, damaged or missing, and for what
/// dt does not read: other element types, chunks, compression, external files, text of variable length.
class Hdf5Reader {
 public:
  explicit Hdf5Reader(const fs::path& path);
  explicit Hdf5Reader(File file);
  ~Hdf5Reader();
  Hdf5Reader(Hdf5Reader&&) noexcept;
  const fs::path& path() const;
  const File& file() const;
  /// All datasets, sorted, also those that dt cannot read.
  std::vector<std::string> dataset_paths() const;
  const DatasetInfo& info(const std::string& dataset) const;
  void read(const std::string& dataset, std::uint64_t byte_offset, std::span<std::byte> bytes) const;
  /// The whole of a dataset as values of T; Error{input} where its type is another.
  template <class T>
  std::vector<T> read_all(const std::string& dataset) const {
    const DatasetInfo& d = info_as(dataset, dtype_of<T>());
    std::vector<T> values(d.bytes / sizeof(T));
    read(dataset, 0, std::as_writable_bytes(std::span(values)));
    return values;
  }
  /// Nothing where there is no such attribute of one element and this type.
  std::optional<std::string> string_attribute(const std::string& object, const std::string& name) const;
  std::optional<std::int64_t> int_attribute(const std::string& object, const std::string& name) const;

 private:
  const DatasetInfo& info_as(const std::string& dataset, DType dtype) const;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dt
