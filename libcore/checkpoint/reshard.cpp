#include "checkpoint/reshard.hpp"

#include "base/error.hpp"
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
      fmt::format("{} would name step {} of generation {}, but the state is of step {}, generation {}",
                  out.string(), entry->step, entry->generation, manifest.state.step, manifest.generation),
      fmt::format("name it {}, or something that is no checkpoint's name",
                  checkpoint_name(manifest.state.step, manifest.generation)));
}

/// Checks that `out` is free, or may be overwritten. Only a checkpoint is ever replaced.
void check_place(const fs::path& out, bool overwrite) {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(out, error);
  if (!fs::exists(status)) return;
  if (!overwrite) {
    throw Error(ErrorKind::input, out.string() + " exists already", "choose another name, or --overwrite it");
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
  if (!are_siblings(source.path(), out)) header.parent.clear();
  return header;
}

/// Reads a piece's payload, up to one block at a time.
class Payload {
 public:
  Payload(const Reader& source, std::span<const PieceSpec> pieces) : source_(source), pieces_(pieces) {}

  std::span<const std::byte> operator()(std::size_t index, std::uint64_t begin, std::size_t count) {
    const PieceSpec& spec = pieces_[index];
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
  std::span<const PieceSpec> pieces_;
  std::vector<std::byte> buffer_;
};

}  // namespace

void reshard(const Reader& source, const ReshardOptions& how,
             const std::function<void(std::uint64_t)>& written) {
  const fs::path out = without_trailing_slash(how.out);
  check_name(out, source.manifest());
  check_place(out, how.overwrite);
  const Manifest header = header_of(source, how, out);
  auto unfinished =
      CheckpointTransaction::at(out, header.state.step, header.generation, how.overwrite && path_exists(out));
  restrict_readers(unfinished.path(), read_access_of(source));
  for (int writer = 0; writer < how.num_writers; ++writer) {
    const std::vector<PieceSpec> pieces = how.pieces(writer);
    Payload payload(source, pieces);
    write_shard(
        unfinished.path(), header, writer, pieces,
        [&](std::size_t index, std::uint64_t begin, std::size_t count) {
          return payload(index, begin, count);
        },
        written);
  }
  write_tokenizer_manifest(unfinished.path(), header, how.num_writers,
                           copy_tokenizer_files(source, unfinished.path()));
  unfinished.commit(header, how.num_writers + 1);
}

}  // namespace dt::checkpoint
