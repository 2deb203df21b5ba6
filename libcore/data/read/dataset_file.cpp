#include "data/read/dataset_file.hpp"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/io/files.hpp"
#include "base/io/json.hpp"
#include "base/io/owned_folder.hpp"
#include "base/numeric/digest.hpp"
#include "data/tokenizer.hpp"

namespace dt::data {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* dataset_format = "dt-dataset";

Split split_of(const JsonValue& object) {
  const std::string name = object.string("split");
  if (const auto split = parse_name<Split>(name)) return *split;
  throw object.at("split").error(fmt::format("'{}' is not a known split", name));
}

Json to_object(const DatasetFile& dataset) {
  Json object = {{"format", dataset_format},
                 {"version", dataset_version},
                 {"tokenizer",
                  {{"name", dataset.tokenizer.name},
                   {"digest", to_hex(dataset.tokenizer.digest)},
                   {"vocabulary_size", dataset.tokenizer.vocabulary_size},
                   {"eos", dataset.tokenizer.eos ? Json(*dataset.tokenizer.eos) : Json()}}},
                 {"documents", dataset.documents()},
                 {"tokens", dataset.tokens()},
                 {"digest", to_hex(dataset.content_digest())}};
  for (const Split split : all_splits) {
    const SplitEntry& entry = dataset.split(split);
    object["splits"][name_of(split)] = {
        {"tokens", entry.tokens}, {"documents", entry.documents}, {"digest", to_hex(entry.digest)}};
    if (entry.targets) object["splits"][name_of(split)]["targets"] = *entry.targets;
  }
  object["shards"] = Json::array();
  for (const ShardEntry& shard : dataset.shards) {
    object["shards"].push_back({{"file", shard.file},
                                {"split", name_of(shard.split)},
                                {"tokens", shard.tokens},
                                {"documents", shard.documents},
                                {"bytes", shard.bytes},
                                {"digest", to_hex(shard.digest)}});
  }
  object["made"] = parse_json_object(dataset.made, {"how the dataset was made"});
  return object;
}

/// Upper bound of every count. Sums and products of two counts do not overflow.
constexpr std::int64_t most = std::int64_t{1} << 56;

std::uint64_t count(const JsonValue& object, const char* name) {
  return static_cast<std::uint64_t>(object.integer(name, 0, most));
}

ShardEntry shard_of(const JsonValue& object) {
  ShardEntry shard{object.string("file"),      split_of(object),       count(object, "tokens"),
                   count(object, "documents"), count(object, "bytes"), object.digest("digest")};
  if (!is_plain_file_name(shard.file))
    throw object.at("file").error(
        fmt::format("'{}' is not a plain name of a file in the folder of dataset.json", shard.file));
  return shard;
}

/// Adds a number up to `most` to `sum`. Returns whether the sum is at most `expected`.
bool adds_up(std::uint64_t& sum, std::uint64_t number, std::uint64_t expected) {
  sum += number;
  return sum <= expected;
}

void check_sums(const DatasetFile& dataset, const JsonValue& splits) {
  for (const Split split : all_splits) {
    const SplitEntry& entry = dataset.split(split);
    std::uint64_t tokens = 0, documents = 0;
    bool fits = true;
    for (const ShardEntry& shard : dataset.shards) {
      if (shard.split != split) continue;
      fits = fits && adds_up(tokens, shard.tokens, entry.tokens) &&
             adds_up(documents, shard.documents, entry.documents);
    }
    if (!fits || tokens != entry.tokens || documents != entry.documents)
      throw splits.at(std::string(name_of(split))).error("its counts are not the sums over the shards");
    if (entry.targets.value_or(0) > entry.tokens)
      throw splits.at(std::string(name_of(split))).error("it has more training targets than tokens");
  }
}

TokenizerIdentity tokenizer_of(const JsonValue& object) {
  TokenizerIdentity info{object.string("name"),
                         object.digest("digest"),
                         static_cast<std::uint32_t>(object.integer("vocabulary_size", 1, largest_vocabulary)),
                         {}};
  if (!object.at("eos").is_null())
    info.eos = static_cast<std::uint32_t>(object.integer("eos", 0, std::int64_t{info.vocabulary_size} - 1));
  return info;
}

DatasetFile from_object(const JsonValue& object) {
  DatasetFile dataset;
  dataset.tokenizer = tokenizer_of(object.object("tokenizer"));
  const JsonValue splits = object.object("splits");
  for (const Split split : all_splits) {
    const JsonValue entry = splits.object(std::string(name_of(split)));
    dataset.split(split) = {count(entry, "tokens"), count(entry, "documents"), entry.digest("digest")};
    if (entry.has("targets")) dataset.split(split).targets = count(entry, "targets");
  }
  for (const JsonValue& shard : object.objects("shards")) dataset.shards.push_back(shard_of(shard));
  dataset.made = object.object_text("made");
  check_sums(dataset, splits);
  if (object.unsigned_integer("tokens") != dataset.tokens() ||
      object.unsigned_integer("documents") != dataset.documents() ||
      object.digest("digest") != dataset.content_digest()) {
    throw object.error("its totals differ from those of its splits");
  }
  return dataset;
}

}  // namespace

std::uint64_t DatasetFile::tokens() const {
  return splits[0].tokens + splits[1].tokens;
}

std::uint64_t DatasetFile::documents() const {
  return splits[0].documents + splits[1].documents;
}

std::optional<std::uint64_t> DatasetFile::targets() const {
  if (!splits[0].targets || !splits[1].targets) return std::nullopt;
  return *splits[0].targets + *splits[1].targets;
}

bool DatasetFile::begins_split(std::size_t shard) const {
  const Split own = shards[shard].split;
  const auto first = std::ranges::find(shards, own, &ShardEntry::split);
  return first - shards.begin() == static_cast<std::ptrdiff_t>(shard) && split(own).documents > 0;
}

std::uint64_t DatasetFile::content_digest() const {
  const std::array digests = {splits[0].digest, splits[1].digest};
  return digest(std::as_bytes(std::span(digests)));
}

std::string to_json(const DatasetFile& dataset, bool indented) {
  return to_object(dataset).dump(indented ? 2 : -1);
}

void write_dataset_file(const fs::path& folder, const DatasetFile& dataset) {
  File file = OwnedFolder::open(folder).create(dataset_file_name);
  file.write(to_json(dataset, true) + "\n");
  file.close();
}

DatasetFile read_dataset_file(const fs::path& folder) {
  const fs::path path = folder / dataset_file_name;
  const bool is_folder = folder_exists(folder);
  if (path_exists(folder) && (!is_folder || !path_exists(path))) {
    throw Error(
        ErrorKind::input,
        is_folder ? fmt::format("{} contains no {}", folder.string(), dataset_file_name)
                  : fmt::format("{} is a file, not a dataset folder", folder.string()),
        fmt::format("expected a folder made by dt-shard-data; make one from text with: dt-shard-data --out "
                    "DIR {}",
                    folder.string()));
  }
  const JsonValue object = JsonValue::parse_object(
      read_file(path), {.origin = path.string() + " is damaged",
                        .remedy = "make the dataset again, or restore the file from a copy"});
  if (const std::string format = object.string("format"); format != dataset_format)
    throw object.at("format").error(fmt::format("'{}' is not '{}'", format, dataset_format));
  const std::int64_t version = object.integer("version");
  if (version == dataset_version) return from_object(object);
  throw Error(ErrorKind::input, fmt::format("{} has version {}", path.string(), version),
              fmt::format("this dt reads version {}: make the dataset again with this dt", dataset_version));
}

TokenTally::TokenTally(bool masks_targets) {
  if (masks_targets) targets_ = 0;
}

void TokenTally::update(std::span<const std::byte> tokens) {
  digester_.update(tokens);
  if (!targets_) return;
  std::uint64_t targets = 0;
  for (std::size_t at = 0; at + sizeof(std::uint32_t) <= tokens.size(); at += sizeof(std::uint32_t)) {
    std::uint32_t stored = 0;
    std::memcpy(&stored, tokens.data() + at, sizeof(stored));
    targets += is_target(stored) ? 1 : 0;
  }
  *targets_ += targets;
}

}  // namespace dt::data
