#include "checkpoint/reshard.hpp"

#include <algorithm>
#include <future>
#include <memory>
#include <sys/resource.h>
#include <tuple>
#include <vector>

#include "base/error.hpp"
#include "base/numeric/digest.hpp"
#include "base/system/concurrent_calls.hpp"
#include "checkpoint/checkpoint_name.hpp"
#include "checkpoint/manifest.hpp"
#include "checkpoint/tokenizer_files.hpp"

namespace dt::checkpoint {

namespace {

/// Checks that a name with a step and a generation has the right ones, since resume relies on it.
void check_name(const fs::path& out, const Manifest& manifest) {
  const auto entry = parse_checkpoint_name(out);
  if (!entry) return;
  if (entry->step == manifest.state.step && entry->generation == manifest.generation) return;
  throw Error(
      ErrorKind::input,
      fmt::format("the name {} means step {}, generation {}, but the state is from step {}, generation {}",
                  out.string(), entry->step, entry->generation, manifest.state.step, manifest.generation),
      fmt::format("name it {}, or choose a name that does not look like a checkpoint's",
                  checkpoint_name(manifest.state.step, manifest.generation)));
}

/// Checks that `out` is free, or may be overwritten. Only a checkpoint is ever replaced.
void check_place(const fs::path& out, bool overwrite) {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(out, error);
  if (!fs::exists(status)) return;
  if (!overwrite) {
    throw Error(ErrorKind::input, out.string() + " already exists",
                "choose another name, or replace it with --overwrite");
  }
  if (fs::is_directory(status) && file_exists(out / manifest_name)) return;
  throw Error(ErrorKind::input, out.string() + " is not a checkpoint and will not be overwritten",
              "choose another name");
}

bool are_siblings(const fs::path& a, const fs::path& b) {
  return fs::weakly_canonical(a).parent_path() == fs::weakly_canonical(b).parent_path();
}

Manifest header_of(const Reader& source, const ReshardOptions& how, const fs::path& out) {
  Manifest header = source.manifest();
  header.mesh = how.mesh;
  header.created.clear();
  header.dt_version.clear();
  header.files.clear();
  header.pieces.clear();
  header.index.reset();
  if (!are_siblings(source.path(), out)) header.parent.clear();
  return header;
}

/// Reads a piece's payload, up to one block at a time.
class Payload {
 public:
  explicit Payload(const Reader& source) : source_(source) {}

  std::span<const std::byte> block(const PieceSpec& spec, std::uint64_t begin, std::uint64_t count) {
    const std::size_t size = dtype_bytes(spec.dtype);
    Piece wanted = spec.piece;
    wanted.begin += static_cast<std::int64_t>(begin / size);
    wanted.end = wanted.begin + static_cast<std::int64_t>(count / size);
    buffer_.resize(count);
    source_.read(spec.kind, spec.tensor, wanted,
                 Tensor(buffer_.data(), spec.dtype, Shape{wanted.numel()}, Device::host()));
    return buffer_;
  }

 private:
  const Reader& source_;
  std::vector<std::byte> buffer_;
};

/// The files of consecutive writers, which are open at the same time. Their pieces are written tensor by
/// tensor, so that a source's block that holds parts of many of them is read and verified once.
class ShardGroup {
 public:
  ShardGroup(const fs::path& folder, const Manifest& header, std::vector<std::vector<PieceSpec>> pieces,
             int first)
      : pieces_(std::move(pieces)) {
    for (const std::vector<PieceSpec>& of_writer : pieces_)
      files_.emplace_back(folder, header, first + static_cast<int>(files_.size()), of_writer);
  }

  void write(Payload& source, const std::function<void(std::uint64_t)>& written) {
    for (const Place& place : places_by_tensor()) {
      const PieceSpec& spec = pieces_[place.writer][place.piece];
      const auto bytes = static_cast<std::uint64_t>(spec.piece.numel()) * dtype_bytes(spec.dtype);
      for (std::uint64_t begin = 0; begin < bytes; begin += digest_block_bytes) {
        const std::uint64_t count = std::min<std::uint64_t>(digest_block_bytes, bytes - begin);
        files_[place.writer].write_block(place.piece, source.block(spec, begin, count));
        if (written) written(count);
      }
    }
  }

  /// Syncs and closes the files. Returns their descriptions.
  std::vector<WriterManifest> close() {
    std::vector<WriterManifest> closed(files_.size());
    call_concurrently(files_.size(), max_concurrent_files,
                      [&](std::size_t i) { closed[i] = files_[i].close(); });
    return closed;
  }

 private:
  struct Place {
    std::size_t writer, piece;
  };

  std::vector<Place> places_by_tensor() const {
    std::vector<Place> places;
    for (std::size_t writer = 0; writer < pieces_.size(); ++writer) {
      for (std::size_t piece = 0; piece < pieces_[writer].size(); ++piece) places.push_back({writer, piece});
    }
    const auto key = [&](const Place& place) {
      const PieceSpec& spec = pieces_[place.writer][place.piece];
      return std::tie(spec.kind, spec.tensor, spec.piece.start, spec.piece.begin);
    };
    std::ranges::sort(places, {}, key);
    return places;
  }

  std::vector<std::vector<PieceSpec>> pieces_;  // by writer
  std::vector<PieceFileWriter> files_;
};

/// Returns how many files a group may have. Three groups are open at a time. Larger groups read fewer blocks
/// of the source twice, and need more memory.
int max_group_size() {
  constexpr rlim_t most = 512, other_files = 192;  // the source's files, among others
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return 256;
  const rlim_t open = std::max(files.rlim_cur, other_files) - other_files;
  return static_cast<int>(std::clamp<rlim_t>(open / 3, 1, most));
}

}  // namespace

void reshard(const Reader& source, const ReshardOptions& how,
             const std::function<void(std::uint64_t)>& written) {
  const int group_size = max_group_size();
  const fs::path out = without_trailing_slash(how.out);
  check_name(out, source.manifest());
  check_place(out, how.overwrite);
  source.pieces().check();
  const Manifest header = header_of(source, how, out);
  auto unfinished =
      CheckpointTransaction::at(out, header.state.step, header.generation, how.overwrite && path_exists(out));
  restrict_readers(unfinished.path(), read_access_of(source));
  WrittenPieces all;
  Payload payload(source);
  const auto open_group = [&](int first) {
    std::vector<std::vector<PieceSpec>> pieces;
    for (int writer = first; writer < std::min(first + group_size, how.num_writers); ++writer)
      pieces.push_back(how.pieces(writer));
    return std::make_shared<ShardGroup>(unfinished.path(), header, std::move(pieces), first);
  };
  // While one group is written, the next one is laid out and the previous one is synced.
  std::future<std::shared_ptr<ShardGroup>> opening = std::async(std::launch::async, open_group, 0);
  std::future<std::vector<WriterManifest>> closing;
  const auto finish_closing = [&] {
    if (!closing.valid()) return;
    for (const WriterManifest& of_writer : closing.get()) all.add(of_writer);
  };
  for (int first = 0; first < how.num_writers; first += group_size) {
    const std::shared_ptr<ShardGroup> group = opening.get();
    const int next = first + group_size;
    if (next < how.num_writers) opening = std::async(std::launch::async, open_group, next);
    group->write(payload, written);
    finish_closing();
    closing = std::async(std::launch::async, [group] { return group->close(); });
  }
  finish_closing();
  unfinished.commit(header, all,
                    {.max_files_with_list = how.max_files_with_list,
                     .other_files = copy_tokenizer_files(source, unfinished.path())});
}

}  // namespace dt::checkpoint
