#include "data/dataset_file.hpp"

#include <nlohmann/json.hpp>

#include "base/digest.hpp"
#include "base/error.hpp"
#include "base/own_folder.hpp"
#include "base/text.hpp"

namespace dt::data {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* dataset_format = "dt-dataset";

Split parse_split(const std::string& name) {
  for (const Split split : all_splits) {
    if (name == split_name(split)) return split;
  }
  throw input_error("the split '{}' is unknown", name);
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
    object["splits"][split_name(split)] = {
        {"tokens", entry.tokens}, {"documents", entry.documents}, {"digest", to_hex(entry.digest)}};
    if (entry.targets) object["splits"][split_name(split)]["targets"] = *entry.targets;
  }
  object["shards"] = Json::array();
  for (const ShardEntry& shard : dataset.shards) {
    object["shards"].push_back({{"file", shard.file},
                                {"split", split_name(shard.split)},
                                {"tokens", shard.tokens},
                                {"documents", shard.documents},
                                {"bytes", shard.bytes},
                                {"digest", to_hex(shard.digest)}});
  }
  object["made"] = Json::parse(dataset.made);
  return object;
}

std::uint64_t digest_of(const Json& object) {
  return from_hex(object.at("digest").get<std::string>());
}

ShardEntry shard_of(const Json& object) {
  ShardEntry shard{object.at("file"),   parse_split(object.at("split")),
                   object.at("tokens"), object.at("documents"),
                   object.at("bytes"),  digest_of(object)};
  if (shard.file.empty() || shard.file.find('/') != std::string::npos) {
    throw input_error("'{}' is not the name of a file beside it", shard.file);
  }
  return shard;
}

void check_sums(const DatasetFile& dataset) {
  for (const Split split : all_splits) {
    std::uint64_t tokens = 0;
    std::uint64_t documents = 0;
    for (const ShardEntry& shard : dataset.shards) {
      tokens += shard.split == split ? shard.tokens : 0;
      documents += shard.split == split ? shard.documents : 0;
    }
    const SplitEntry& entry = dataset.split(split);
    if (tokens != entry.tokens || documents != entry.documents) {
      throw input_error("its shards do not add up to the {} split", split_name(split));
    }
    if (entry.targets.value_or(0) > entry.tokens)
      throw input_error("the {} split has more targets than tokens", split_name(split));
  }
}

DatasetFile from_object(const Json& object) {
  DatasetFile dataset;
  const Json& tokenizer = object.at("tokenizer");
  dataset.tokenizer = {tokenizer.at("name"), digest_of(tokenizer), tokenizer.at("vocabulary_size"), {}};
  if (const Json& eos = tokenizer.at("eos"); !eos.is_null()) dataset.tokenizer.eos = eos.get<std::uint32_t>();
  for (const Split split : all_splits) {
    const Json& entry = object.at("splits").at(split_name(split));
    dataset.split(split) = {entry.at("tokens"), entry.at("documents"), digest_of(entry)};
    if (entry.contains("targets")) dataset.split(split).targets = entry.at("targets");
  }
  for (const Json& shard : object.at("shards")) dataset.shards.push_back(shard_of(shard));
  dataset.made = object.at("made").dump();
  check_sums(dataset);
  if (object.at("tokens") != dataset.tokens() || object.at("documents") != dataset.documents() ||
      digest_of(object) != dataset.content_digest()) {
    throw input_error("its totals differ from those of its splits");
  }
  return dataset;
}

/// What a JSON error says, without the library's own prefix.
std::string reason_of(const std::exception& error) {
  const std::string text = error.what();
  const std::size_t prefix = text.find("] ");
  return prefix == text.npos ? text : text.substr(prefix + 2);
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

std::uint64_t DatasetFile::content_digest() const {
  const std::array digests = {splits[0].digest, splits[1].digest};
  return digest(std::as_bytes(std::span(digests)));
}

std::string to_json(const DatasetFile& dataset, bool indented) {
  return to_object(dataset).dump(indented ? 2 : -1);
}

void write_dataset_file(const fs::path& folder, const DatasetFile& dataset) {
  File file = OwnFolder::open(folder).create(dataset_file_name);
  file.write(to_json(dataset, true) + "\n");
  file.close();
}

DatasetFile read_dataset_file(const fs::path& folder) {
  const fs::path path = folder / dataset_file_name;
  const bool is_folder = folder_exists(folder);
  if (path_exists(folder) && (!is_folder || !path_exists(path))) {
    throw Error(
        ErrorKind::input,
        is_folder ? fmt::format("{} holds no {}", folder.string(), dataset_file_name)
                  : fmt::format("{} is a file, no dataset", folder.string()),
        fmt::format("a folder that dt-shard-data made is expected; text becomes one by: dt-shard-data --out "
                    "DIR {}",
                    folder.string()));
  }
  const std::string content = read_file(path);
  std::int64_t version = 0;
  try {
    if (json_nests_too_deep(content)) throw input_error("it nests more than {} levels deep", max_json_depth);
    const Json object = Json::parse(content);
    if (object.at("format") != dataset_format) throw input_error("its format is not {}", dataset_format);
    version = object.at("version");
    if (version == dataset_version) return from_object(object);
  } catch (const std::exception& error) {
    throw Error(ErrorKind::input, fmt::format("{} is damaged: {}", path.string(), reason_of(error)),
                "make the dataset again, or restore the file from a copy");
  }
  throw Error(ErrorKind::input, fmt::format("{} is of version {}", path.string(), version),
              fmt::format("this dt reads version {}: make the dataset again with it", dataset_version));
}

}  // namespace dt::data
