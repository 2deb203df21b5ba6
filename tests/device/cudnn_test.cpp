#include <catch2/catch.hpp>
#include <set>
#include <thread>
#include <vector>

#include "kernels/cuda/attention/cudnn/libraries.hpp"
#include "kernels/cuda/attention/cudnn/thread_cache.hpp"

namespace dt::kernels::cuda {
namespace {

/// Libraries by the paths at which they lie. The loader also opens those in its folders by name.
struct Machine {
  std::set<std::string> files;
  std::set<std::string> loader_folders;
  std::vector<std::string> opened{};
  std::set<std::string> loaded_names{};

  static std::string name(const std::string& path) { return path.substr(path.rfind('/') + 1); }
  void* open(const std::string& asked) {
    std::string path = asked;
    if (asked.find('/') == std::string::npos) {
      if (loaded_names.contains(asked)) return this;
      for (const std::string& folder : loader_folders)
        if (files.contains(folder + "/" + asked)) path = folder + "/" + asked;
    }
    if (!files.contains(path)) return nullptr;
    opened.push_back(path);
    loaded_names.insert(name(path));
    return this;
  }
  CudnnLibraries take(const std::string& asked = "") {
    const Loader loader{[this](const std::string& asked_name) { return open(asked_name); },
                        [] { return std::string("no such file"); },
                        [this](void*) { return opened.front().substr(0, opened.front().rfind('/')); }};
    return open_cudnn(loader, 13, asked);
  }
};

TEST_CASE("cuDNN is taken with a CUDA runtime that its front end will find by name") {
  const std::string toolkit = "/usr/local/cuda/lib64", packages = "/venv/nvidia/cudnn/lib";
  const std::string runtime = "/libcudart.so.13";
  const std::pair<Machine, std::string> machines[] = {
      {{{toolkit + "/libcudnn.so.9", "/lib" + runtime}, {"/lib"}}, "/lib" + runtime},
      {{{toolkit + "/libcudnn.so.9", toolkit + runtime}, {}}, toolkit + runtime},
      {{{packages + "/libcudnn.so.9", packages + "/../../cu13/lib" + runtime}, {packages}},
       packages + "/../../cu13/lib" + runtime},
      {{{"/opt/cudnn/libcudnn.so.9", "/usr/local/cuda-13/lib64" + runtime}, {"/opt/cudnn"}},
       "/usr/local/cuda-13/lib64" + runtime},
  };
  for (auto [machine, expected] : machines) {
    CAPTURE(expected);
    const CudnnLibraries found = machine.take();
    CHECK(found.cudnn != nullptr);
    CHECK(found.unavailable_reason.empty());
    CHECK(machine.opened.back() == expected);
  }
}

TEST_CASE("without its CUDA runtime cuDNN is declined before anything is asked of it") {
  const std::string cudnn = "/usr/local/cuda/lib64/libcudnn.so.9";
  CHECK_THAT(Machine{}.take().unavailable_reason, Catch::Contains("cannot load cuDNN"));
  for (const char* other : {"/lib/libcudart.so.12", "/elsewhere/libcudart.so.13"}) {
    Machine machine{{cudnn, other}, {"/lib"}};
    const CudnnLibraries found = machine.take();
    CHECK(found.cudnn == nullptr);
    CHECK_THAT(found.unavailable_reason,
               Catch::Contains("libcudart.so.13") && Catch::Contains("LD_LIBRARY_PATH"));
  }
}

TEST_CASE("the CUDA runtime that a user names is taken, or missed") {
  const std::string cudnn = "/usr/local/cuda/lib64/libcudnn.so.9";
  Machine machine{{cudnn, "/lib/libcudart.so.13", "/mine/libcudart.so.12"}, {"/lib"}};
  CHECK(machine.take("/mine/libcudart.so.12").cudnn != nullptr);
  CHECK(machine.opened == std::vector<std::string>{cudnn, "/mine/libcudart.so.12"});
  const CudnnLibraries missed = machine.take("/nowhere/libcudart.so.13");
  CHECK(missed.cudnn == nullptr);
  CHECK_THAT(missed.unavailable_reason,
             Catch::Contains("CUDNN_FRONTEND_CUDART_LIB_NAME") && Catch::Contains("no such file"));
}

TEST_CASE("the process's loader opens libraries and knows where they lie") {
  const Loader& loader = process_loader();
  void* const library = loader.open("libm.so.6");
  REQUIRE(library != nullptr);
  const std::string folder = loader.folder(library);
  REQUIRE(!folder.empty());
  CHECK(loader.open(folder + "/libm.so.6") == library);
  CHECK(loader.open("libdt-nowhere.so.1") == nullptr);
  CHECK_THAT(loader.error(), Catch::Contains("libdt-nowhere.so.1"));
}

TEST_CASE("each thread has what it made itself, once") {
  struct Plan {
    std::thread::id made_by;
  };
  int made = 0;
  const auto get = [&](int key) {
    return thread_cached<int, Plan>(key, [&] {
      ++made;
      return Plan{std::this_thread::get_id()};
    });
  };
  for (int turn = 0; turn < 2; ++turn) CHECK(get(1).made_by == std::this_thread::get_id());
  CHECK(made == 1);
  std::thread::id of_other;
  std::thread other([&] { of_other = get(1).made_by; });
  const std::thread::id id = other.get_id();
  other.join();
  CHECK(of_other == id);
  CHECK(made == 2);
  get(2);
  CHECK(made == 3);
}

}  // namespace
}  // namespace dt::kernels::cuda
