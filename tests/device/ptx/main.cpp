// Kernels' cases on the PTX of their objects. Run without a choice of cases it also fails where a kernel was
// never launched.

#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#include <iostream>

#include "device/ptx/runtime.hpp"
#include "kernels/fixture.hpp"

int main(int argc, char** argv) {
  Catch::Session session;
  if (const int status = session.applyCommandLine(argc, argv); status != 0) return status;
  const bool is_whole = session.configData().testsOrTags.empty();
  if (is_whole) session.configData().testsOrTags = {"[device]"};
  dt::kernels::test::check_devices_only();
  const int failures = session.run();
  if (failures != 0 || !is_whole) return failures;
  const std::vector<std::string> missing = dt::ptx::kernels_never_launched();
  for (const std::string& name : missing) std::cerr << "no case launches " << name << "\n";
  return missing.empty() ? 0 : 1;
}
