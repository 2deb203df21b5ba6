#include "data/dataset_file.hpp"

#include <algorithm>
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

/// More than any dataset has; the sum of two still fits 64 bits.
constexpr std::uint64_t largest_count = std::uint64_t{1} << 62;

/// Reads members of an object whose place in the file is `where` ("shards[3]."). Errors: input, naming the
/// member.
class Members {
 public:
  Members(const Json& object, std::string where) : object_(object), where_(std::move(where)) {}

  const Json& at(const char* key) const {
    if (!has(key)) throw input_error("it has no {}{}", where_, key);
    return object_.at(key);
  }
  std::uint64_t count(const char* key, std::uint64_t least = 0, std::uint64_t most = largest_count) const {
    const Json& value = at(key);
    if (value.is_number_unsigned() && value.get<std::uint64_t>() >= least &&
        value.get<std::uint64_t>() <= most)
      return value.get<std::uint64_t>();
    throw input_error("its {}{} is {}, not an integer from {} to {}", where_, key,
                      value.is_number() ? value.dump() : value.type_name(), least, most);
  }
  bool has(const char* key) const { return object_.is_object() && object_.contains(key); }
  std::string text(const char* key) const {
    const Json& value = at(key);
    if (!value.is_string()) throw input_error("its {}{} is {}, not a string", where_, key, value.type_name());
    return value.get<std::string>();
  }
  std::uint64_t digest() const {
    try {
      return from_hex(text("digest"));
    } catch (const Error& error) {
      throw input_error("its {}digest: {}", where_, error.message());
    }
  }
  Error bad(const char* key, const std::string& what) const {
    return input_error("its {}{} is {}", where_, key, what);
  }
  /// A member that is an object.
  Members object(const char* key) const { return {at(key), fmt::format("{}{}.", where_, key)}; }

 private:
  const Json& object_;
  std::string where_;
};

TokenizerInfo tokenizer_of(const Members& object) {
  TokenizerInfo tokenizer;
  tokenizer.name = object.text("name");
  tokenizer.digest = object.digest();
  tokenizer.vocabulary_size =
      static_cast<std::uint32_t>(object.count("vocabulary_size", 1, std::uint64_t{largest_vocabulary}));
  if (!object.at("eos").is_null())
    tokenizer.eos = static_cast<std::uint32_t>(object.count("eos", 0, tokenizer.vocabulary_size - 1));
  return tokenizer;
}

ShardEntry shard_of(const Members& object) {
  ShardEntry shard{object.text("file"),    parse_split(object.text("split")),
                   object.count("tokens"), object.count("documents"),
                   object.count("bytes"),  object.digest()};
  if (shard.file.empty() || shard.file.front() == '.' ||
      shard.file.find_first_of(std::string_view("/\0", 2)) != std::string::npos)
    throw object.bad("file", fmt::format("not the name of a file beside it: '{}'", shard.file));
  return shard;
}

void check_sums(const DatasetFile& dataset) {
  for (const Split split : all_splits) {
    std::uint64_t tokens = 0;
    std::uint64_t documents = 0;
    for (const ShardEntry& shard : dataset.shards) {
      tokens += shard.split == split ? shard.tokens : 0;
      documents += shard.split == split ? shard.documents : 0;
      if (tokens > largest_count || documents > largest_count)
        throw input_error("its shards have more than {} tokens or documents", largest_count);
    }
    const SplitEntry& entry = dataset.split(split);
    if (tokens != entry.tokens || documents != entry.documents) {
      throw input_error("its shards do not add up to the {} split", split_name(split));
    }
    if (entry.targets.value_or(0) > entry.tokens)
      throw input_error("the {} split has more targets than tokens", split_name(split));
  }
}

DatasetFile from_object(const Json& json) {
  const Members object(json, "");
  DatasetFile dataset;
  dataset.tokenizer = tokenizer_of(object.object("tokenizer"));
  for (const Split split : all_splits) {
    const Members entry = object.object("splits").object(split_name(split).data());
    dataset.split(split) = {entry.count("tokens"), entry.count("documents"), entry.digest()};
    if (entry.has("targets")) dataset.split(split).targets = entry.count("targets");
  }
  const Json& shards = object.at("shards");
  if (!shards.is_array()) throw input_error("its shards is {}, not a list", shards.type_name());
  for (const Json& shard : shards)
    dataset.shards.push_back(shard_of({shard, fmt::format("shards[{}].", dataset.shards.size())}));
  dataset.made = object.at("made").dump();
  check_sums(dataset);
  if (object.count("tokens", 0, 2 * largest_count) != dataset.tokens() ||
      object.count("documents", 0, 2 * largest_count) != dataset.documents() ||
      object.digest() != dataset.content_digest()) {
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
    const Members members(object, "");
    if (members.text("format") != dataset_format) throw input_error("its format is not {}", dataset_format);
    version = static_cast<std::int64_t>(members.count("version"));
    if (version == dataset_version) return from_object(object);
  } catch (const std::exception& error) {
    throw Error(ErrorKind::input, fmt::format("{} is damaged: {}", path.string(), reason_of(error)),
                "make the dataset again, or restore the file from a copy");
  }
  throw Error(ErrorKind::input, fmt::format("{} is of version {}", path.string(), version),
              fmt::format("this dt reads version {}: make the dataset again with it", dataset_version));
}

}  // namespace dt::data
