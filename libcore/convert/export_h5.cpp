// Exports a checkpoint as one HDF5 file.

#include <algorithm>

#include "base/error.hpp"
#include "base/hdf5/hdf5_file.hpp"
#include "base/io/atomic_files.hpp"
#include "convert/export.hpp"
#include "convert/tensor_copier.hpp"
#include "model/hf/hf_config.hpp"
#include "model/parameter_table.hpp"

namespace dt::convert {

namespace {

constexpr const char* format_name = "dt-model";
constexpr std::int64_t format_version = 1;

struct Item {
  std::string dataset;
  std::string kind;
  const model::ParamSpec* param;
  Shape shape;
  DType dtype;
};

std::vector<Item> items_of(const ExportSource& source, const model::ParameterTable& table,
                           const ExportOptions& options) {
  std::vector<Item> items;
  const auto add = [&](const std::string& group, const std::string& kind, std::optional<DType> dtype) {
    for (int index = 0; index < static_cast<int>(table.params().size()); ++index) {
      if (!source.has_state(table, kind, index)) continue;
      const model::ParamSpec& param = table.params()[static_cast<std::size_t>(index)];
      items.push_back({fmt::format("/{}/{}", group, param.name), kind, &param,
                       model::state_shape(param.shape, source.kind_of(kind).shape),
                       dtype.value_or(source.stored_dtype(kind, param.name))});
    }
  };
  add("parameters", options.weights, options.dtype);
  if (options.with_optimizer) {
    for (const std::string& kind : source.state_kinds()) {
      if (kind != options.weights) add(kind, kind, std::nullopt);
    }
  }
  return items;
}

bool is_model_file(const fs::path& file) {
  try {
    return fs::file_size(file) == 0 || Hdf5Reader(file).string_attribute("/", "format") == format_name;
  } catch (const Error&) {  // not an HDF5 file
    return false;
  }
}

void check_replaceable(const fs::path& file, bool overwrite) {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(file, error);
  if (!fs::exists(status)) return;
  if (!overwrite) {
    throw Error(ErrorKind::input, file.string() + " already exists",
                "choose another name, or replace it with --overwrite");
  }
  if (fs::is_regular_file(status) && is_model_file(file)) return;
  throw Error(ErrorKind::input, file.string() + " is not a model file of dt and will not be overwritten",
              "choose another name, or delete the file first");
}

void declare(Hdf5Writer& writer, const ExportSource& source, const ExportOptions& options,
             const std::vector<Item>& items) {
  const checkpoint::Manifest& manifest = source.manifest();
  const DType dtype = items.front().dtype;
  writer.set_attribute("/", "format", std::string(format_name));
  writer.set_attribute("/", "version", format_version);
  writer.set_attribute("/", "config", model::hf_config(exported_model(source, options), dtype));
  writer.set_attribute("/", "step", manifest.state.step);
  for (const Item& item : items) {
    const std::vector<std::int64_t>& dims = item.shape.dims();
    writer.declare(item.dataset, item.dtype, {dims.begin(), dims.end()});
  }
  writer.end_declarations();
}

}  // namespace

ExportResult export_h5(const ExportSource& source, const fs::path& file, const ExportOptions& options,
                       const BytesDone& done) {
  check_replaceable(file, options.overwrite);
  const model::ParameterTable table(source.manifest().model);
  const std::vector<Item> items = items_of(source, table, options);
  AtomicFile target(file);
  restrict_readers(target.path(), source.readers());
  Hdf5Writer writer(target.open(), items.size());
  declare(writer, source, options, items);
  TensorCopier mover(source, options.clamp, done);
  for (const Item& item : items) {
    mover.copy(item.kind, item.param->name, item.shape, item.dtype, 0,
               [&writer, &item](std::uint64_t offset, std::span<const std::byte> bytes) {
                 writer.write(item.dataset, offset, bytes);
               });
  }
  mover.finish();
  if (done) done(0);
  writer.close();
  target.commit(options.overwrite);
  return {static_cast<std::int64_t>(items.size()), export_bytes(source, options), 1, items.front().dtype,
          mover.clamped()};
}

std::uint64_t export_bytes(const ExportSource& source, const ExportOptions& options) {
  const model::ParameterTable table(source.manifest().model);
  std::uint64_t bytes = 0;
  for (const Item& item : items_of(source, table, options))
    bytes += storage_bytes(item.dtype, item.shape.numel());
  return bytes;
}

}  // namespace dt::convert
