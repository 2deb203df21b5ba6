// Runs the kernels' cases on the PTX of their objects. Without a choice of cases, or with --all-launched,
// it also fails if a kernel was never launched.

#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#include <iostream>

#include "device/ptx/runtime.hpp"
#include "kernels/fixture.hpp"

int main(int argc, char** argv) {
  Catch::Session session;
  bool checks_launches = false;
  session.cli(session.cli() | Catch::clara::Opt(checks_launches)["--all-launched"](
                                  "fail where a kernel is launched by none of the cases"));
  if (const int status = session.applyCommandLine(argc, argv); status != 0) return status;
  if (session.configData().testsOrTags.empty()) {
    session.configData().testsOrTags = {"[device]"};
    checks_launches = true;
  }
  dt::kernels::test::check_devices_only();
  const int failures = session.run();
  if (failures != 0 || !checks_launches) return failures;
  const std::vector<std::string> missing = dt::ptx::kernels_never_launched();
  for (const std::string& name : missing) std::cerr << "no case launches " << name << "\n";
  return missing.empty() ? 0 : 1;
}
