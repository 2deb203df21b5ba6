// A checkpoint as a Hugging Face folder.

#include <algorithm>
#include <cstring>

#include "base/digest.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "checkpoint/companions.hpp"
#include "checkpoint/export.hpp"
#include "checkpoint/export_parts.hpp"
#include "checkpoint/safetensors.hpp"
#include "model/hf_names.hpp"
#include "model/parameter_table.hpp"

namespace dt::checkpoint {

namespace {

/// Writes tensors one by one to the places that the head gave them.
class Exporter {
 public:
  Exporter(const Reader& checkpoint, const fs::path& path, const BytesDone& done)
      : checkpoint_(checkpoint),
        table_(checkpoint.manifest().model),
        file_(File::create(path)),
        done_(done) {}

  void run() {
    const std::vector<model::HfTensor> tensors = model::hf_tensors(checkpoint_.manifest().model);
    std::vector<SafeTensor> stored;
    for (const model::HfTensor& t : tensors) {
      const DType dtype = stored_dtype(checkpoint_, t.parts.front());
      stored.push_back({t.name, dtype, safetensors_dtype(dtype), t.shape});
    }
    file_.write(safetensors_head(stored));
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      std::int64_t row = 0;
      for (const std::string& part : tensors[i].parts) {
        const Shape& shape = table_.params()[static_cast<std::size_t>(table_.find(part))].shape;
        if (tensors[i].transposed) {
          transposed(part, shape, stored[i], row);
        } else {
          straight(part, shape, stored[i], row);
        }
        row += shape[0];
      }
    }
    file_.close();
  }

 private:
  void straight(const std::string& part, const Shape& shape, const SafeTensor& stored, std::int64_t row) {
    const std::int64_t row_numel = shape.numel() / shape[0];
    std::uint64_t at =
        stored.begin + static_cast<std::uint64_t>(row * row_numel) * dtype_bytes(*stored.dtype);
    for_each_block(checkpoint_, part, shape, *stored.dtype, [&](std::span<const std::byte> block) {
      file_.write_at(at, block);
      at += block.size();
      if (done_) done_(block.size());
    });
  }

  /// Our rows are the file's columns: a slab of rows becomes a strip of columns, written row by row of the
  /// file.
  void transposed(const std::string& part, const Shape& shape, const SafeTensor& stored, std::int64_t row) {
    const std::size_t bytes = dtype_bytes(*stored.dtype);
    const std::int64_t columns = shape[1];
    const std::int64_t slab =
        std::max<std::int64_t>(1, static_cast<std::int64_t>(digest_block_bytes / bytes) / columns);
    for (std::int64_t begin = 0; begin < shape[0]; begin += slab) {
      const std::int64_t rows = std::min(slab, shape[0] - begin);
      Piece piece = Piece::whole(shape);
      piece.begin = begin * columns;
      piece.end = (begin + rows) * columns;
      slab_.resize(static_cast<std::size_t>(piece.numel()) * bytes);
      checkpoint_.read(kind_weights, part, piece, Tensor(slab_.data(), *stored.dtype, Shape{piece.numel()}));
      transpose(static_cast<std::size_t>(rows), static_cast<std::size_t>(columns), bytes);
      write_strip(stored, row + begin, static_cast<std::size_t>(rows), static_cast<std::size_t>(columns),
                  bytes);
    }
  }

  void transpose(std::size_t rows, std::size_t columns, std::size_t bytes) {
    constexpr std::size_t tile = 32;
    strip_.resize(slab_.size());
    for (std::size_t j0 = 0; j0 < columns; j0 += tile) {
      for (std::size_t i0 = 0; i0 < rows; i0 += tile) {
        for (std::size_t j = j0; j < std::min(j0 + tile, columns); ++j) {
          for (std::size_t i = i0; i < std::min(i0 + tile, rows); ++i) {
            std::memcpy(&strip_[(j * rows + i) * bytes], &slab_[(i * columns + j) * bytes], bytes);
          }
        }
      }
    }
  }

  void write_strip(const SafeTensor& stored, std::int64_t first_column, std::size_t width, std::size_t height,
                   std::size_t bytes) {
    const auto stacked = static_cast<std::size_t>(stored.shape[1]);
    const bool whole = width == stacked;
    const std::size_t part_rows = whole ? height : 1;
    for (std::size_t j = 0; j < height; j += part_rows) {
      const std::size_t at = (j * stacked + static_cast<std::size_t>(first_column)) * bytes;
      const std::size_t part_bytes = part_rows * width * bytes;
      file_.write_at(stored.begin + at, std::span(strip_).subspan(j * width * bytes, part_bytes));
    }
    if (done_) done_(strip_.size());
  }

  const Reader& checkpoint_;
  model::ParameterTable table_;
  File file_;
  const BytesDone& done_;
  std::vector<std::byte> slab_;
  std::vector<std::byte> strip_;
};

/// --overwrite must not cost anybody a home folder or a run.
void check_replaceable(const fs::path& folder, bool overwrite) {
  std::error_code error;
  if (!fs::exists(fs::symlink_status(folder, error))) return;
  const std::string name = folder.string();
  if (!overwrite)
    throw Error(ErrorKind::input, name + " exists already", "choose another name, or --overwrite it");
  const bool is_model =
      fs::exists(folder / "config.json", error) && !fs::exists(folder / manifest_name, error);
  const bool is_folder = fs::is_directory(folder, error);
  if (is_folder && (is_model || fs::is_empty(folder, error))) return;
  throw Error(ErrorKind::input, fmt::format("{} is not a model's folder and will not be overwritten", name),
              "choose another name, or remove it yourself");
}

}  // namespace

void export_hf(const Reader& checkpoint, const fs::path& folder, bool overwrite, const BytesDone& done) {
  check_replaceable(folder, overwrite);
  AtomicDirectory directory(folder);
  File config = File::create(directory.path() / "config.json");
  config.write(model::hf_config(checkpoint.manifest().model));
  config.close();
  copy_companions(checkpoint, directory.path());
  Exporter(checkpoint, directory.path() / "model.safetensors", done).run();
  directory.commit(overwrite);
}

}  // namespace dt::checkpoint
