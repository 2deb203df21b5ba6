// pieces.index: the body, to which the target adds the digests of its blocks, after one byte with the number
// of the manifest's files. What is accepted is written again as an index that says the same.
#include "checkpoint/piece_index.hpp"

#include "checkpoint/digested_bytes.hpp"
#include "checkpoint/written_pieces.hpp"
#include "fuzz/fuzz.hpp"
#include "model/model_spec.hpp"

using namespace dt::checkpoint;

namespace {

constexpr std::uint64_t file_bytes = std::uint64_t{1} << 20;

std::vector<std::byte> body_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// Returns the pieces as the writers of the files would have given them.
WrittenPieces written_again(const Manifest& manifest, const PieceIndex& index) {
  WrittenPieces written;
  for (std::size_t file = 0; file < manifest.files.size(); ++file)
    written.add(
        WriterManifest{0, 0, static_cast<std::int64_t>(file), {manifest.files[file]}, index.of_file(file)});
  return written;
}

void use(const Manifest& manifest, const PieceIndex& index) {
  for (const StoredTensor& tensor : index.tensors()) {
    dt_fuzz::require(index.find(tensor.kind, tensor.tensor) == &tensor, "a tensor is found by its name");
    any_overlap(tensor);
    for (const StoredBox& box : tensor.boxes) {
      const auto [first, last] = index.find_intersecting(box, box.whole);
      dt_fuzz::require(first == box.first && last == box.first + box.count,
                       "a whole box finds all of its pieces");
    }
  }
  std::uint64_t total = 0;
  for (std::size_t file = 0; file < manifest.files.size(); ++file) {
    for (const DigestedBytes& part : digested_bytes(manifest.files[file], index.of_file(file)))
      total += part.bytes();
  }
  dt_fuzz::require(total == manifest.files.size() * file_bytes, "a file's bytes are digested once each");
  const WrittenPieces written = written_again(manifest, index);
  Manifest again = manifest;
  std::vector<std::byte> bytes = written.index_file(again, *again.index);
  const auto second = parse_pieces(again, std::move(bytes));
  second->check();
  dt_fuzz::require(second->num_pieces() == index.num_pieces() && stored_bytes(*second) == stored_bytes(index),
                   "an index that is written again says the same");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  std::string_view text = dt_fuzz::text_of(bytes, size);
  if (text.empty()) return 0;
  Manifest manifest;
  for (int file = 0; file < text.front() % 8; ++file)
    manifest.files.push_back({piece_file_name(file), file_bytes, static_cast<std::uint64_t>(file)});
  manifest.index = StoredFile{index_name, 0, 0};
  std::vector<std::byte> sealed = seal_index(body_of(text.substr(1)), *manifest.index);
  return dt_fuzz::accepted([&] {
    const auto index = parse_pieces(manifest, std::move(sealed));
    index->check();
    use(manifest, *index);
  });
}
