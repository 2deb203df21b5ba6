#pragma once
// Kernels of a few lines, for tests of the interpreter.

#include <cstring>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "device/ptx/grid.hpp"
#include "device/ptx/module.hpp"

namespace dt::ptx {

/// Returns a kernel with one parameter, the address of `out`, in %out. %tid is the thread of the block,
/// %mine the address of its element. The body may use %r, %f, %d, %l, %h (32 bits, fp32, fp64, 64 bits, 16
/// bits), %p, and shared memory `shared`.
inline std::string kernel_text(const std::string& body, std::size_t element_bytes) {
  return ".version 9.0\n.target sm_90\n.address_size 64\n.extern .shared .align 16 .b8 shared[];\n"
         ".visible .entry k(\n.param .u64 k_param_0\n)\n{\n"
         ".reg .pred %p<9>;\n.reg .b16 %h<20>;\n.reg .b32 %r<40>;\n.reg .f32 %f<20>;\n.reg .b64 "
         "%l<20>;\n.reg .f64 %d<20>;\n"
         ".reg .b64 %out, %mine, %where;\n.reg .b32 %tid;\n"
         "ld.param.u64 %out, [k_param_0];\ncvta.to.global.u64 %out, %out;\nmov.u32 %tid, %tid.x;\n"
         "mul.wide.u32 %where, %tid, " +
         std::to_string(element_bytes) + ";\nadd.s64 %mine, %out, %where;\n" + body + "\nret;\n}\n";
}

/// Runs the kernel, which has the address of `out`; returns the contents of `out` afterwards.
template <class T>
std::vector<T> run_on(std::vector<T> out, const std::string& body, const Grid& grid) {
  Module module(kernel_text(body, sizeof(T)));
  auto* const begin = reinterpret_cast<std::byte*>(out.data());
  const std::span<std::byte> memory(begin, out.size() * sizeof(T));
  const auto address = reinterpret_cast<std::uint64_t>(begin);
  run(
      module.kernel("k"), grid, std::as_bytes(std::span(&address, 1)),
      [=](const std::byte* at) {
        return at >= memory.data() && at < memory.data() + memory.size() ? memory : std::span<std::byte>();
      },
      1);
  return out;
}

/// Returns the error that the interpreter reports; "" if there is none.
inline std::string flaw_of(const std::string& body, const Grid& grid, std::size_t words = 256) {
  try {
    run_on(std::vector<std::uint32_t>(words), body, grid);
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

inline Grid threads(unsigned count, unsigned blocks = 1) {
  return {.blocks = {blocks, 1, 1}, .threads = {count, 1, 1}, .dynamic_bytes = 1024};
}

}  // namespace dt::ptx
