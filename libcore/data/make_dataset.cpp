#include "data/make_dataset.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <unistd.h>
#include <utility>

#include "base/error.hpp"
#include "data/document_spool.hpp"
#include "data/encode_inputs.hpp"
#include "data/shard_writer.hpp"
#include "data/train_tokenizer.hpp"

namespace dt::data {

namespace {

constexpr std::uint32_t largest_u16_vocabulary = 65536;

DType token_dtype(const TokenizerInfo& tokenizer) {
  return tokenizer.vocabulary_size <= largest_u16_vocabulary ? DType::u16 : DType::u32;
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

void append_chunk(const EncodedChunk& chunk, const MakeOptions& options, std::uint32_t eos,
                  DocumentSpool& spool) {
  for (const Part& part : chunk.parts) {
    spool.append(std::span(chunk.ids).subspan(part.begin, part.end - part.begin));
    if (!part.ends_document) continue;
    if (options.append_eos && !spool.is_document_empty()) spool.append(std::span(&eos, 1));
    spool.end_document();
  }
}

void spool_inputs(const MakeOptions& options, const Tokenizer& tokenizer, DocumentSpool& spool,
                  const MakeProgress& progress) {
  encode_inputs(
      options, tokenizer,
      [&](const EncodedChunk& chunk) { append_chunk(chunk, options, tokenizer.info().eos, spool); },
      [&](std::uint64_t done, std::uint64_t total) { progress(MakePhase::read, done, total); });
  spool.flush();
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
  const auto writing = options.threads > 1 ? std::launch::async : std::launch::deferred;
  ShardSeries series(folder, plan_shards(spool, options), dataset.tokenizer, dtype, writing);
  std::uint64_t done = 0;
  spool.drain([&](std::uint64_t) { series.begin_document(); },
              [&](std::span<const std::byte> tokens) {
                series.append(tokens);
                done += tokens.size() / dtype_bytes(dtype);
                progress(MakePhase::write, done, spool.num_tokens());
              });
  series.finish(dataset);
}

std::unique_ptr<Tokenizer> tokenizer_of(const MakeOptions& options, const MakeProgress& progress) {
  if (options.train_vocabulary == 0)
    return make_tokenizer(options.tokenizer, options.tokenizer_pattern, options.eos_token);
  check_readable_again(options);
  return trained_tokenizer(train_tokenizer(options, progress));
}

std::string made_by(const MakeOptions& options) {
  constexpr const char* formats[] = {"auto", "text", "jsonl"};
  nlohmann::ordered_json made = {{"tool", options.tool}, {"inputs", options.inputs}};
  made["format"] = formats[static_cast<std::size_t>(options.read.format)];
  made["text_key"] = options.text_key;
  made["document_separator"] = options.read.document_separator;
  made["shuffle"] = options.shuffle;
  made["seed"] = options.seed;
  made["append_eos"] = options.append_eos;
  made["val_fraction"] = options.val_fraction;
  made["shard_tokens"] = options.shard_tokens;
  if (options.train_vocabulary > 0) made["train_bpe"] = options.train_vocabulary;
  // A name need not be UTF-8, but JSON must be.
  return made.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

DatasetFile make_dataset(const fs::path& folder, const MakeOptions& options, const MakeProgress& progress) {
  check_replaceable(folder, options.overwrite);
  const auto tokenizer = tokenizer_of(options, progress);
  DatasetFile dataset;
  dataset.tokenizer = tokenizer->info();
  dataset.made = made_by(options);

  AtomicDirectory directory(folder);
  const fs::path spool_folder = directory.path() / "spool";
  std::error_code error;
  if (!fs::create_directory(spool_folder, error))
    throw system_error(error.value(), "create", spool_folder.string());
  SpoolOptions spool_options;
  if (options.shuffle) spool_options.shuffle_seed = options.seed;
  spool_options.dtype = token_dtype(dataset.tokenizer);
  DocumentSpool spool(spool_folder, spool_options);
  spool_inputs(options, *tokenizer, spool, progress);
  if (spool.num_documents() == 0) throw no_text_error(options.inputs);
  write_shards(directory.path(), spool, options, dataset, progress);
  fs::remove_all(spool_folder, error);
  if (error) throw system_error(error.value(), "remove", spool_folder.string());

  tokenizer->save(directory.path());
  write_dataset_file(directory.path(), dataset);
  if (!options.overwrite) ::rmdir(folder.c_str());  // an empty folder may stand there; any other stays
  directory.commit(options.overwrite);
  return dataset;
}

}  // namespace dt::data
