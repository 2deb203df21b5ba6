#include "convert/import.hpp"

#include "base/error.hpp"
#include "checkpoint/checkpoint_name.hpp"
#include "checkpoint/manifest.hpp"
#include "checkpoint/tokenizer_files.hpp"
#include "checkpoint/writer.hpp"
#include "model/parameter_table.hpp"

namespace dt::convert {

namespace {

std::int64_t generation_of(const fs::path& out) {
  const auto name = checkpoint::parse_checkpoint_name(out);
  if (!name) return 0;
  if (name->step == 0) return name->generation;
  throw Error(ErrorKind::input, fmt::format("the name {} means step {}", out.string(), name->step),
              fmt::format("an imported model starts at step 0: name it {}",
                          checkpoint::checkpoint_name(0, name->generation)));
}

std::vector<checkpoint::PieceSpec> pieces_of(const HfFolder& source) {
  const model::ParameterTable table(source.spec());
  std::vector<checkpoint::PieceSpec> pieces;
  for (const model::ParamSpec& param : table.params()) {
    pieces.push_back(
        {param.name, checkpoint::kind_weights, Piece::whole(param.shape), source.dtype(param.name)});
  }
  return pieces;
}

checkpoint::WriterManifest write_weights(const HfFolder& source, const fs::path& folder,
                                         const checkpoint::Manifest& header,
                                         const std::function<void(std::uint64_t)>& written) {
  const std::vector<checkpoint::PieceSpec> pieces = pieces_of(source);
  std::vector<std::byte> buffer;
  const auto payload = [&](std::size_t index, std::uint64_t begin, std::size_t count) {
    const checkpoint::PieceSpec& spec = pieces[index];
    const std::size_t size = dtype_bytes(spec.dtype);
    Piece wanted = spec.piece;
    wanted.begin = static_cast<std::int64_t>(begin / size);
    wanted.end = wanted.begin + static_cast<std::int64_t>(count / size);
    buffer.resize(count);
    source.read(spec.tensor, wanted,
                Tensor(buffer.data(), spec.dtype, Shape{wanted.numel()}, Device::host()));
    return std::span<const std::byte>(buffer);
  };
  return checkpoint::write_files(folder, header, 0, pieces, payload, written);
}

/// Refuses the folder of a run's checkpoints. There the import would pass for a generation that the run
/// does not have.
void refuse_in_run(const fs::path& out) {
  const fs::path folder = fs::absolute(out).parent_path();
  if (folder.filename() != "checkpoints" || !path_exists(folder.parent_path() / "generations")) return;
  throw Error(ErrorKind::input,
              fmt::format("{} is reserved for the checkpoints that a run writes", folder.string()),
              "import to another folder, then start a run with --init-from");
}

}  // namespace

std::uint64_t weight_bytes(const HfFolder& source) {
  std::uint64_t bytes = 0;
  for (const checkpoint::PieceSpec& spec : pieces_of(source))
    bytes += storage_bytes(spec.dtype, spec.piece.numel());
  return bytes;
}

checkpoint::Manifest import_hf(const HfFolder& source, const fs::path& target,
                               const std::function<void(std::uint64_t)>& written) {
  const fs::path out = without_trailing_slash(target);
  refuse_in_run(out);
  checkpoint::Manifest header;
  header.model = source.spec();
  header.generation = generation_of(out);
  auto unfinished = checkpoint::CheckpointTransaction::at(out, 0, header.generation, false);
  restrict_readers(unfinished.path(), source.readers());
  checkpoint::WrittenPieces weights;
  weights.add(write_weights(source, unfinished.path(), header, written));
  unfinished.commit(header, weights,
                    {.other_files = checkpoint::add_tokenizer_files(source.path(), unfinished.path())});
  return checkpoint::load_manifest(out);
}

}  // namespace dt::convert
