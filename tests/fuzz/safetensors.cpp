// A .safetensors file: tensors lie in its data one behind the other, and can be read.
#include "convert/safetensors.hpp"

#include "fuzz/fuzz.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const dt_fuzz::ScratchFolder folder;
  const std::string path = folder.put("model.safetensors", dt_fuzz::text_of(bytes, size));
  return dt_fuzz::accepted([&] {
    const dt::convert::SafetensorsFile file(path);
    std::uint64_t total = 0;
    for (const auto& [name, tensor] : file.tensors()) {
      std::vector<std::byte> content(tensor.end - tensor.begin);
      file.read(tensor, 0, content);
      total += content.size();
    }
    dt_fuzz::require(total <= size, "no byte is of two tensors");
  });
}
