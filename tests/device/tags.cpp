// Tags cases that use a device, so that they are found where there is a GPU. [device]: uses a device;
// [devices]: uses several; [test-device]: holds for the test device alone.

#define CATCH_CONFIG_EXTERNAL_INTERFACES
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <iostream>

#include "device/test_device.hpp"

namespace {

class Tags : public Catch::TestEventListenerBase {
 public:
  using TestEventListenerBase::TestEventListenerBase;
  void testCaseStarting(const Catch::TestCaseInfo& info) override {
    TestEventListenerBase::testCaseStarting(info);
    times_before_ = dt::test_device::Use::times();
  }
  void testCaseEnded(const Catch::TestCaseStats& stats) override {
    TestEventListenerBase::testCaseEnded(stats);
    if (dt::test_device::Use::times() == times_before_) return;
    const auto& tags = stats.testInfo.tags;
    if (std::ranges::any_of(tags,
                            [](const std::string& tag) { return tag.find("device") != std::string::npos; }))
      return;
    std::cerr << "'" << stats.testInfo.name
              << "' uses a device and has none of the tags [device], [devices], "
              << "[test-device]\n";
    std::exit(1);
  }

 private:
  int times_before_ = 0;
};
CATCH_REGISTER_LISTENER(Tags)

}  // namespace
