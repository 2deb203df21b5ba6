// manifest.json and part-NNNNN.json; the tests give them the digest that their last line states. Accepted
// files are written again as something that reads the same, and say which bytes of files belong to which
// piece.
#include "base/numeric/digest.hpp"
#include "checkpoint/digested_bytes.hpp"
#include "checkpoint/piece_index.hpp"
#include "checkpoint/writer_manifest.hpp"
#include "fuzz/fuzz.hpp"

using namespace dt::checkpoint;

namespace {

std::string sealed(std::string_view text) {
  std::string before(text.substr(0, text.rfind('}')));
  before += ",\n";
  return before + "\"digest\": \"" + dt::to_hex(dt::digest(before)) + "\"\n}\n";
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string text = sealed(dt_fuzz::text_of(bytes, size));
  dt_fuzz::accepted([&] {
    const std::string written = to_json(parse_writer_manifest(text, "part.json"));
    dt_fuzz::require(to_json(parse_writer_manifest(written, "written")) == written,
                     "a part that is written reads the same");
  });
  return dt_fuzz::accepted([&] {
    const Manifest manifest = parse_manifest(text, "manifest.json");
    const std::string written = to_json(manifest);
    dt_fuzz::require(to_json(parse_manifest(written, "written")) == written,
                     "what is written reads the same");
    if (manifest.index) return;  // the target piece_index reads it
    const auto pieces = open_pieces(manifest, {});
    for (std::size_t i = 0; i < manifest.files.size(); ++i) {
      std::uint64_t total = 0;
      for (const DigestedBytes& part : digested_bytes(manifest.files[i], pieces->of_file(i)))
        total += part.bytes();
      dt_fuzz::require(total == manifest.files[i].bytes, "a file's bytes are digested once each");
    }
  });
}
