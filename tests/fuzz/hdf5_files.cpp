#include "fuzz/hdf5_files.hpp"

#include <algorithm>
#include <vector>

#include "base/error.hpp"
#include "base/hdf5/hdf5_file.hpp"
#include "data/read/token_shard.hpp"
#include "fuzz/fuzz.hpp"

namespace dt_fuzz {

using namespace dt;

void read_shard(const std::filesystem::path& path) {
  const data::TokenShard shard(path);
  const std::uint64_t tokens = shard.header().tokens;
  require(shard.header().tokenizer.vocabulary_size > 0, "a vocabulary has tokens");
  std::size_t num_sound = 0;
  for (std::size_t i = 0; i < shard.num_blocks(); ++i) num_sound += shard.block_problem(i).empty() ? 1 : 0;
  accepted([&] {
    for (const std::uint64_t start : shard.document_starts(0, tokens))
      require(start < tokens, "a document begins in its shard");
  });
  accepted([&] {
    std::vector<std::int32_t> values(tokens);
    shard.will_need(0, tokens);
    shard.read(0, values);
    require(num_sound == shard.num_blocks(), "only sound blocks are read");
    for (const std::int32_t value : values)
      require(value >= 0 && static_cast<std::uint32_t>(value) < shard.header().tokenizer.vocabulary_size,
              "a token is of the vocabulary");
    shard.read_labels(0, values);
  });
}

void read_hdf5(const std::filesystem::path& path) {
  const Hdf5Reader reader(path);
  const std::uint64_t file_bytes = reader.file().size();
  for (const std::string& dataset : reader.dataset_paths()) {
    accepted([&] {
      const DatasetInfo& info = reader.info(dataset);
      require(info.bytes <= file_bytes && info.offset <= file_bytes - info.bytes, "a payload is of its file");
      std::vector<std::byte> ends(std::min<std::uint64_t>(info.bytes, 64));
      reader.read(dataset, 0, ends);
      reader.read(dataset, info.bytes - ends.size(), ends);
    });
    accepted([&] { reader.int_attribute(dataset, "number"); });
  }
  for (const char* name : {"format", "config", "split"})
    accepted([&] { reader.string_attribute("/", name); });
  for (const char* name : {"version", "step"}) accepted([&] { reader.int_attribute("/", name); });
}

}  // namespace dt_fuzz
