#include "tensor/device/gpu_probe.hpp"

#include <catch2/catch.hpp>
#include <fstream>

#include "base/test_folder.hpp"

using namespace dt;
using Kind = DriverProbe::Kind;

namespace {

Gpu gpu(const std::string& name, int major, int ordinal) {
  return {.name = name, .address = "0000:01:00.0", .major = major, .ordinal = ordinal};
}

/// Returns a driver's answer that refuses GPUs whose device files exist.
DriverProbe refusal(Kind kind) {
  return {.kind = kind, .said = "said", .driver = 12040, .runtime = 13000, .device_file = "/dev/nvidia0"};
}

/// Returns why no GPU can be used though some are present. The remedy follows "; ".
std::string why(const DriverProbe& answer) {
  try {
    usable_gpus(answer);
  } catch (const NoGpu& error) {
    return "none: " + error.message();
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::environment);
    return error.message();
  }
  return "some";
}

}  // namespace

TEST_CASE("GPUs that are too old are left out, and the others keep their ordinals") {
  const std::vector<Gpu> gpus = usable_gpus(
      {.kind = Kind::gpus,
       .gpus = {gpu("display", 6, 0), gpu("A100", 8, 1), gpu("display", 7, 2), gpu("H100", 9, 3)}});
  REQUIRE(gpus.size() == 2);
  CHECK(gpus[0].name == "A100");
  CHECK(gpus[0].ordinal == 1);
  CHECK(gpus[1].name == "H100");
  CHECK(gpus[1].ordinal == 3);
}

TEST_CASE("GPUs all of which are too old are an error, which names the newest") {
  const std::string said = why({.kind = Kind::gpus, .gpus = {gpu("P100", 6, 0), gpu("V100", 7, 1)}});
  CHECK(
      said ==
      "V100 (0000:01:00.0) has compute capability 7.0, but dt needs 8.0 or newer; start ranks on hosts with "
      "newer GPUs");
}

TEST_CASE("a driver that is too old for GPUs that are there is an error, which names what to do") {
  CHECK(why(refusal(Kind::no_driver)) ==
        "the NVIDIA driver supports CUDA 12.4 or older, not CUDA 13.0 of this program, but "
        "/dev/nvidia0 exists; update the driver to r580 or newer, or add the folder of cuda-compat-13-0 to "
        "LD_LIBRARY_PATH (data-center GPUs only), or build dt with CUDA 12");
  DriverProbe old = refusal(Kind::no_driver);
  old.driver = 11040;
  CHECK_THAT(why(old), !Catch::Contains("build dt"));
  old.runtime = 12040;
  CHECK_THAT(why(old), Catch::Contains("r525 or newer") && Catch::Contains("cuda-compat-12-4"));
  old.driver = 0;
  CHECK_THAT(why(old), Catch::StartsWith("there is no NVIDIA driver, but /dev/nvidia0 exists") &&
                           Catch::Contains("apptainer exec --nv"));
}

TEST_CASE("whatever else keeps GPUs that are there from being used is an error with a remedy") {
  CHECK_THAT(why(refusal(Kind::stub)), Catch::Contains("said") && Catch::Contains("LD_LIBRARY_PATH"));
  CHECK_THAT(why(refusal(Kind::other_module)), Catch::Contains("reboot the machine"));
  CHECK_THAT(why(refusal(Kind::no_forward)), Catch::Contains("cuda-compat"));
  CHECK_THAT(why(refusal(Kind::not_ready)), Catch::Contains("nvidia-fabricmanager"));
  CHECK_THAT(why(refusal(Kind::other)), Catch::Contains("said") && Catch::Contains("nvidia-smi"));
  CHECK_THAT(why(refusal(Kind::no_gpu)),
             Catch::StartsWith("the NVIDIA driver finds no GPU, but /dev/nvidia0"));
  DriverProbe misled = refusal(Kind::no_gpu);
  misled.visible = "7";
  CHECK_THAT(why(misled), Catch::StartsWith("CUDA_VISIBLE_DEVICES='7' hides all GPUs, but /dev/nvidia0"));
}

TEST_CASE("where no GPU is there, whatever the driver says, there is none") {
  for (const Kind kind : {Kind::no_gpu, Kind::no_driver, Kind::stub, Kind::other_module, Kind::no_forward,
                          Kind::not_ready, Kind::other}) {
    DriverProbe answer = refusal(kind);
    answer.device_file.clear();
    CHECK_THAT(why(answer), Catch::StartsWith("none: "));
  }
  CHECK(why({.kind = Kind::no_driver}) == "none: there is no NVIDIA driver");
}

TEST_CASE("GPUs that CUDA_VISIBLE_DEVICES hides are not there") {
  for (const std::string hiding : {"", "-1", "NoDevFiles", "none"}) {
    DriverProbe answer = refusal(Kind::no_driver);
    answer.visible = hiding;
    CHECK(why(answer) == "none: CUDA_VISIBLE_DEVICES='" + hiding + "' hides all GPUs");
  }
  for (const std::string showing : {"0", "3,4", "GPU-8932f937", "MIG-1"}) {
    DriverProbe answer = refusal(Kind::no_driver);
    answer.visible = showing;
    CHECK_THAT(why(answer), Catch::StartsWith("the NVIDIA driver supports CUDA 12.4"));
  }
}

TEST_CASE("a GPU is there where its device file can be opened") {
  const dt_test::Folder folder;
  for (const char* name : {"null", "nvidiactl", "nvidia-uvm", "nvidia-caps"})
    std::ofstream(folder / name) << "";
  CHECK(gpu_device_file(folder / "").empty());
  std::ofstream(folder / "nvidia3") << "";
  CHECK(gpu_device_file(folder / "") == (folder / "nvidia3").string());
  std::filesystem::create_symlink("missing", folder / "nvidia1");  // a device file that cannot be opened
  CHECK(gpu_device_file(folder / "") == (folder / "nvidia3").string());
  CHECK(gpu_device_file(folder / "missing").empty());
}
