#include "data/make_dataset.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/error.hpp"
#include "data/document_spool.hpp"
#include "data/shard_writer.hpp"

namespace dt::data {

namespace {

DType token_dtype(const TokenizerInfo& tokenizer) {
  return tokenizer.fits_u16() ? DType::u16 : DType::u32;
}

/// Refuses early what commit() would refuse at the end, and more: only a dataset or an empty folder is
/// replaced.
void check_replaceable(const fs::path& folder, bool overwrite) {
  std::error_code ignored;
  if (!fs::exists(fs::symlink_status(folder, ignored))) return;
  if (fs::is_directory(folder, ignored) && fs::is_empty(folder, ignored)) return;
  if (!overwrite) {
    throw Error(ErrorKind::input, fmt::format("{} exists already", folder.string()),
                "give another --out, or --overwrite to replace it");
  }
  if (!fs::exists(folder / dataset_file_name, ignored)) {
    throw Error(ErrorKind::input,
                fmt::format("{} is not a dataset, so it is not overwritten", folder.string()),
                "give another --out, or remove it yourself");
  }
}

Flaws spool_inputs(const MakeOptions& options, const Tokenizer& tokenizer, DocumentSpool& spool,
                   const MakeProgress& progress) {
  const auto append = [&](std::span<const std::uint32_t> ids, bool ends_document) {
    spool.append(ids);
    if (ends_document) spool.end_document();
  };
  const Flaws flaws = encode_inputs(options, tokenizer, append, [&](std::uint64_t done, std::uint64_t total) {
    progress(MakePhase::read, done, total);
  });
  spool.flush();
  return flaws;
}

/// How the documents divide: the first `train_documents` train; of a single one the last `tail_tokens`
/// validate.
struct Division {
  std::uint64_t train_documents;
  std::uint64_t tail_tokens;
};

Division divide(std::uint64_t documents, std::uint64_t tokens, double val_fraction) {
  if (val_fraction <= 0) return {documents, 0};
  if (documents == 1) {
    const auto tail = static_cast<std::uint64_t>(std::ceil(val_fraction * static_cast<double>(tokens)));
    return {1, std::min(tail, tokens - 1)};
  }
  const auto rounded =
      static_cast<std::uint64_t>(std::llround(val_fraction * static_cast<double>(documents)));
  return {documents - std::clamp<std::uint64_t>(rounded, 1, documents - 1), 0};
}

std::vector<ShardPlan> plan_shards(const DocumentSpool& spool, const MakeOptions& options) {
  const Division division = divide(spool.num_documents(), spool.num_tokens(), options.val_fraction);
  ShardPlanner planner(options.shard_tokens);
  std::uint64_t index = 0;
  spool.visit([&](std::uint64_t tokens) {
    if (index++ == division.train_documents) planner.begin_split(Split::validation);
    planner.begin_document();
    planner.advance(tokens - division.tail_tokens);
  });
  if (division.tail_tokens > 0) {
    planner.begin_split(Split::validation);
    planner.advance(division.tail_tokens);
  }
  return planner.finish();
}

void write_shards(const fs::path& folder, DocumentSpool& spool, const MakeOptions& options,
                  DatasetFile& dataset, const MakeProgress& progress) {
  const DType dtype = token_dtype(dataset.tokenizer);
  ShardSeries series(folder, plan_shards(spool, options), dataset.tokenizer, dtype);
  std::uint64_t done = 0;
  spool.drain([&](std::uint64_t) { series.begin_document(); },
              [&](std::span<const std::byte> tokens) {
                series.append(tokens);
                done += tokens.size() / dtype_bytes(dtype);
                progress(MakePhase::write, done, spool.num_tokens());
              });
  series.finish(dataset);
}

std::string made_by(const MakeOptions& options, const Flaws& flaws) {
  constexpr const char* formats[] = {"auto", "text", "jsonl", "npy", "bin", "megatron"};
  constexpr const char* invalid[] = {"fail", "replace", "skip"};
  nlohmann::ordered_json made = {{"tool", options.tool}, {"inputs", options.inputs}};
  if (!options.input_list.empty()) made["input_list"] = options.input_list;
  made["format"] = formats[static_cast<std::size_t>(options.read.format)];
  made["text_key"] = options.lines.text_key;
  made["document_separator"] = options.read.document_separator;
  made["invalid"] = invalid[static_cast<std::size_t>(options.read.invalid)];
  made["skip_bad_lines"] = options.lines.skip_bad;
  made["shuffle"] = options.shuffle;
  made["seed"] = options.seed;
  made["append_eos"] = options.append_eos;
  made["val_fraction"] = options.val_fraction;
  made["shard_tokens"] = options.shard_tokens;
  if (flaws.invalid_sequences > 0) made["invalid_sequences"] = flaws.invalid_sequences;
  if (flaws.bad_lines > 0) made["bad_lines"] = flaws.bad_lines;
  // A name need not be UTF-8, but JSON must be.
  return made.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Error no_text_error(const MakeOptions& options) {
  std::string names;
  for (const std::string& input : options.inputs) {
    if (names.size() > 200) {
      names += ", …";
      break;
    }
    names += (names.empty() ? "" : ", ") + (input == "-" ? "standard input" : input);
  }
  if (!options.input_list.empty())
    names += (names.empty() ? "what " : ", what ") + options.input_list + " names";
  return Error(ErrorKind::input, "no text in " + names,
               "give files that are not empty, or folders that hold some");
}

}  // namespace

MadeDataset make_dataset(const fs::path& folder, const MakeOptions& options, const MakeProgress& progress) {
  check_replaceable(folder, options.overwrite);
  const auto tokenizer = make_tokenizer(options);
  DatasetFile dataset;
  dataset.tokenizer = tokenizer->info();

  AtomicDirectory directory(folder);
  const fs::path spool_folder = directory.path() / "spool";
  std::error_code error;
  if (!fs::create_directory(spool_folder, error))
    throw system_error(error.value(), "create", spool_folder.string());
  SpoolOptions spool_options;
  if (options.shuffle) spool_options.shuffle_seed = options.seed;
  spool_options.dtype = token_dtype(dataset.tokenizer);
  DocumentSpool spool(spool_folder, spool_options);
  const Flaws flaws = spool_inputs(options, *tokenizer, spool, progress);
  dataset.made = made_by(options, flaws);
  if (spool.num_documents() == 0) throw no_text_error(options);
  write_shards(directory.path(), spool, options, dataset, progress);
  fs::remove_all(spool_folder, error);
  if (error) throw system_error(error.value(), "remove", spool_folder.string());

  tokenizer->save(directory.path());
  write_dataset_file(directory.path(), dataset);
  if (!options.overwrite) ::rmdir(folder.c_str());  // an empty folder may stand there; any other stays
  directory.commit(options.overwrite);
  return {dataset, flaws};
}

}  // namespace dt::data
