// A checkpoint's weights as one HDF5 file.

#include "base/error.hpp"
#include "base/hdf5_file.hpp"
#include "checkpoint/export.hpp"
#include "checkpoint/export_parts.hpp"
#include "model/parameter_table.hpp"

namespace dt::checkpoint {

void export_h5(const Reader& checkpoint, const fs::path& file, bool overwrite, const BytesDone& done) {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(file, error);
  if (fs::exists(status)) {
    if (!overwrite) {
      throw Error(ErrorKind::input, file.string() + " exists already",
                  "choose another name, or --overwrite it");
    }
    if (!fs::is_regular_file(status)) {
      throw Error(ErrorKind::input, file.string() + " is not a file and will not be overwritten",
                  "choose another name");
    }
  }
  const Manifest& manifest = checkpoint.manifest();
  const model::ParameterTable table(manifest.model);
  const auto dataset = [](const model::ParamSpec& param) { return "/parameters/" + param.name; };
  AtomicFile target(file);
  Hdf5Writer writer(target.path());
  writer.attribute("/", "format", std::string("dt-model"));
  writer.attribute("/", "version", format_version);
  writer.attribute("/", "config", model::hf_config(manifest.model));
  writer.attribute("/", "step", manifest.state.step);
  for (const model::ParamSpec& param : table.params()) {
    writer.declare(dataset(param), stored_dtype(checkpoint, param.name),
                   {param.shape.dims().begin(), param.shape.dims().end()});
  }
  writer.layout();
  for (const model::ParamSpec& param : table.params()) {
    std::uint64_t offset = 0;
    const DType dtype = writer.info(dataset(param)).dtype;
    for_each_block(checkpoint, param.name, param.shape, dtype, [&](std::span<const std::byte> block) {
      writer.write(dataset(param), offset, block);
      offset += block.size();
      if (done) done(block.size());
    });
  }
  writer.close();
  target.commit(overwrite);
}

}  // namespace dt::checkpoint
