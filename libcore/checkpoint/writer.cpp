#include "checkpoint/writer.hpp"

#include "base/build_info.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/host.hpp"
#include "checkpoint/piece_file.hpp"

namespace dt::checkpoint {

std::string checkpoint_name(std::int64_t step, std::int64_t generation) {
  return fmt::format("step-{:08}.g{}", step, generation);
}

fs::path write_checkpoint(const fs::path& folder, Manifest manifest, std::span<const SourcePiece> pieces,
                          const std::function<void(std::uint64_t)>& written) {
  const fs::path path = folder / checkpoint_name(manifest.state.step, manifest.generation);
  // Asked again by commit(); here it saves the writing.
  if (fs::exists(fs::symlink_status(path))) throw input_error("{} exists already", path.string());
  if (manifest.created.empty()) manifest.created = utc_timestamp();
  if (manifest.dt_version.empty()) manifest.dt_version = dt_version();
  AtomicDirectory directory(path);
  PieceFile stored = write_piece_file(directory.path(), "rank-00000.h5", manifest, pieces, written);
  manifest.files = {std::move(stored.file)};
  manifest.pieces = std::move(stored.pieces);
  File file = File::create(directory.path() / manifest_name);
  file.write(to_json(manifest));
  file.close();
  directory.commit();
  return path;
}

}  // namespace dt::checkpoint
