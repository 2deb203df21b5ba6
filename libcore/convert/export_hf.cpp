// Exports a checkpoint as a Hugging Face folder.

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/io/atomic_files.hpp"
#include "base/io/files.hpp"
#include "checkpoint/tokenizer_files.hpp"
#include "convert/export.hpp"
#include "convert/safetensors.hpp"
#include "convert/tensor_copier.hpp"
#include "model/hf/hf_config.hpp"
#include "model/hf/hf_names.hpp"
#include "model/parameter_table.hpp"

namespace dt::convert {

namespace {

/// A tensor to write: the parameters that it is made of, and its entry in the file.
struct Item {
  model::HfTensor layout;
  std::string kind;
  SafeTensor stored;
  std::uint64_t bytes() const { return storage_bytes(*stored.dtype, stored.shape.numel()); }
};

/// Cuts greedily and in order, as transformers does: a shard ends where the next tensor would exceed
/// the bound.
std::vector<std::vector<Item>> cut_into_shards(std::vector<Item> items, std::uint64_t max_bytes) {
  std::vector<std::vector<Item>> shards(1);
  std::uint64_t bytes = 0;
  for (Item& item : items) {
    const std::uint64_t size = item.bytes();
    if (max_bytes > 0 && !shards.back().empty() && bytes + size > max_bytes) {
      shards.emplace_back();
      bytes = 0;
    }
    bytes += size;
    shards.back().push_back(std::move(item));
  }
  return shards;
}

void write_text(const fs::path& path, const std::string& text) {
  File file = File::create(path);
  file.write(text);
  file.close();
}

/// Writes sets of tensors as safetensors files into a folder.
class Exporter {
 public:
  using Metadata = std::map<std::string, std::string>;

  Exporter(const ExportSource& source, const fs::path& folder, const ExportOptions& options,
           const BytesDone& done)
      : table_(source.manifest().model),
        source_(source),
        folder_(folder),
        options_(options),
        mover_(source, options.clamp, done) {}

  /// Writes `stem`.safetensors, or its shards and their index. Returns the number of files.
  std::int64_t write_shards(const std::string& stem, std::vector<Item> items, const Metadata& metadata = {}) {
    for (const Item& item : items) {
      result_.bytes += item.bytes();
      ++result_.num_tensors;
    }
    std::vector<std::vector<Item>> shards = cut_into_shards(std::move(items), options_.max_shard_bytes);
    nlohmann::json weight_map;  // by tensor name
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < shards.size(); ++i) {
      const std::string name = shards.size() == 1
                                   ? stem + ".safetensors"
                                   : fmt::format("{}-{:05}-of-{:05}.safetensors", stem, i + 1, shards.size());
      write_file(folder_ / name, shards[i], metadata);
      for (const Item& item : shards[i]) {
        weight_map[item.stored.name] = name;
        total += item.bytes();
      }
    }
    if (shards.size() > 1) {
      const nlohmann::ordered_json index = {{"metadata", {{"total_size", total}}},
                                            {"weight_map", weight_map}};
      write_text(folder_ / (stem + ".safetensors.index.json"), index.dump(2) + "\n");
    }
    return static_cast<std::int64_t>(shards.size());
  }

  /// Appends the tensors of a kind, under names that begin with `prefix`. State whose shape is not its
  /// parameter's cannot be stacked or transposed like weights. It keeps the names of dt's parameters.
  void collect(const std::string& kind, const std::string& prefix, std::optional<DType> dtype,
               std::vector<Item>& items) const {
    const model::ModelSpec& spec = source_.manifest().model;
    const model::ParameterTable table(spec);
    if (source_.kind_of(kind).shape != kernels::StateShape::parameter)
      return collect_lines(kind, prefix, items);
    for (model::HfTensor& t : model::hf_tensors(spec)) {
      if (!source_.has_state(table, kind, table.find(t.params.front()))) continue;
      const DType stored = dtype.value_or(source_.stored_dtype(kind, t.params.front()));
      SafeTensor entry{prefix + t.name, stored, safetensors_dtype(stored), t.shape};
      items.push_back({std::move(t), kind, std::move(entry)});
    }
  }

  ExportResult& result() { return result_; }
  const ClampCount& clamped() const { return mover_.clamped(); }

 private:
  void collect_lines(const std::string& kind, const std::string& prefix, std::vector<Item>& items) const {
    for (int index = 0; index < static_cast<int>(table_.params().size()); ++index) {
      if (!source_.has_state(table_, kind, index)) continue;
      const model::ParamSpec& param = table_.params()[static_cast<std::size_t>(index)];
      const Shape shape = model::state_shape(param.shape, source_.kind_of(kind).shape);
      const DType stored = source_.stored_dtype(kind, param.name);
      SafeTensor entry{prefix + param.name, stored, safetensors_dtype(stored), shape};
      items.push_back({{param.name, {}, shape, {param.name}}, kind, std::move(entry)});
    }
  }

  void write_file(const fs::path& path, const std::vector<Item>& items, const Metadata& metadata) {
    std::vector<SafeTensor> entries;
    for (const Item& item : items) entries.push_back(item.stored);
    const auto file = std::make_shared<File>(File::create(path));
    file->write(safetensors_head(entries, metadata));
    for (std::size_t i = 0; i < items.size(); ++i) copy(items[i], file, entries[i].begin);
    mover_.finish();
    file->close();
  }

  /// Moves a tensor into the file. Queued writes share the file, since an error elsewhere may leave
  /// them under way.
  void copy(const Item& item, const std::shared_ptr<File>& file, std::uint64_t begin) {
    const DType dtype = *item.stored.dtype;
    const TensorCopier::WriteAt put = [file, begin](std::uint64_t offset, std::span<const std::byte> bytes) {
      file->write_at(begin + offset, bytes);
    };
    std::int64_t row = 0;
    for (const std::string& part : item.layout.params) {
      const Shape shape =
          model::state_shape(table_.params()[static_cast<std::size_t>(table_.find(part))].shape,
                             source_.kind_of(item.kind).shape);
      if (item.layout.transposed) {
        mover_.copy_transposed(item.kind, part, shape, dtype, row, item.layout.shape[1], put);
      } else {
        const model::StackedRows rows{row, shape[0], item.layout.shape[0], item.layout.groups};
        const auto row_bytes = storage_bytes(dtype, shape.numel() / shape[0]);
        mover_.copy(item.kind, part, shape, dtype, 0,
                    [=](std::uint64_t offset, std::span<const std::byte> bytes) {
                      rows.for_runs(row_bytes, offset, bytes.size(),
                                    [&](std::uint64_t at, std::size_t done, std::size_t n) {
                                      put(at, bytes.subspan(done, n));
                                    });
                    });
      }
      row += shape[0];
    }
  }

  model::ParameterTable table_;
  const ExportSource& source_;
  fs::path folder_;
  const ExportOptions& options_;
  ExportResult result_;
  TensorCopier mover_;
};

/// Returns whether --overwrite may remove the folder, which must never cost a home folder or a run. A
/// model has its config, safetensors and no folders.
bool is_model_folder(const fs::path& folder) {
  if (!path_exists(folder / "config.json") || path_exists(folder / checkpoint::manifest_name)) return false;
  bool has_weights = false;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory() && !entry.is_symlink()) return false;
    has_weights |= entry.path().extension() == ".safetensors";
  }
  return has_weights;
}

void check_replaceable(const fs::path& folder, bool overwrite) {
  std::error_code error;
  if (!fs::exists(fs::symlink_status(folder, error))) return;
  const std::string name = folder.string();
  if (!overwrite)
    throw Error(ErrorKind::input, name + " already exists",
                "choose another name, or replace it with --overwrite");
  if (folder_exists(folder) && (entries_of(folder).empty() || is_model_folder(folder))) return;
  throw Error(ErrorKind::input,
              fmt::format("{} is not a Hugging Face model folder and will not be overwritten", name),
              "choose another name, or delete the folder first");
}

bool has_stored_file(const ExportSource& source, const std::string& name) {
  return std::ranges::any_of(checkpoint::stored_tokenizer_files(source.newest()),
                             [&](const checkpoint::StoredFile& file) { return file.name == name; });
}

/// Writes generation_config.json if the folder's own is missing or names other ends. generate()
/// takes the end-of-text ids from this file, and without it from config.json.
void write_generation_config(const model::SpecialTokens& special, const fs::path& folder) {
  const fs::path file = folder / model::generation_config_name;
  const bool is_there = fs::exists(file);
  if (special.eos.empty()) return;
  const std::string given = is_there ? read_file(file) : "";
  if (is_there && model::parse_generation_ends(given, file.string()) == special.eos) return;
  write_text(file, model::hf_generation_config(special, given, file.string()));
}

}  // namespace

model::SpecialTokens exported_special_tokens(const model::SpecialTokens& trained,
                                             std::vector<std::int64_t> generation_ends,
                                             std::optional<std::int64_t> end_of_text) {
  model::SpecialTokens special = trained;
  if (!generation_ends.empty()) special.eos = std::move(generation_ends);
  if (!end_of_text && !trained.eos.empty()) end_of_text = trained.eos.front();
  if (end_of_text) special = model::with_end_of_text(std::move(special), *end_of_text);
  if (trained.eos.size() < 2) return special;
  for (const std::int64_t one : trained.eos)  // ends of sources whose documents end differently
    special = model::with_end_of_text(std::move(special), one, /*replaces_one=*/false);
  return special;
}

model::ModelSpec exported_model(const ExportSource& source, const ExportOptions& options) {
  model::ModelSpec spec = source.manifest().model;
  const fs::path given = source.newest().path() / model::generation_config_name;
  std::vector<std::int64_t> generation_ends;
  if (has_stored_file(source, model::generation_config_name))
    generation_ends = model::parse_generation_ends(read_file(given), given.string());
  spec.special = exported_special_tokens(spec.special, std::move(generation_ends), options.end_of_text);
  return spec;
}

ExportResult export_hf(const ExportSource& source, const fs::path& folder, const ExportOptions& options,
                       const BytesDone& done) {
  check_replaceable(folder, options.overwrite);
  AtomicDirectory directory(folder);
  restrict_readers(directory.path(), source.readers());
  Exporter exporter(source, directory.path(), options, done);
  std::vector<Item> weights;
  exporter.collect(options.weights, "", options.dtype, weights);
  exporter.result().dtype = *weights.front().stored.dtype;
  const model::ModelSpec spec = exported_model(source, options);
  write_text(directory.path() / "config.json", model::hf_config(spec, exporter.result().dtype));
  checkpoint::copy_tokenizer_files(source.newest(), directory.path());
  write_generation_config(spec.special, directory.path());
  for (const fs::path& file : options.files) {
    write_text(directory.path() / file.filename(), read_file(file));
    restrict_readers(directory.path() / file.filename(), ReadAccess::of_file(file));
  }
  exporter.result().num_shards = exporter.write_shards("model", std::move(weights));
  if (options.with_optimizer) {
    std::vector<Item> states;
    for (const std::string& kind : source.state_kinds()) {
      if (kind != options.weights) exporter.collect(kind, kind + ".", std::nullopt, states);
    }
    exporter.write_shards("optimizer", std::move(states),
                          {{"step", std::to_string(source.manifest().state.step)}});
  }
  exporter.result().clamped = exporter.clamped();
  if (done) done(0);
  directory.commit(options.overwrite);
  return exporter.result();
}

}  // namespace dt::convert
