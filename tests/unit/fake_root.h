// SPDX-License-Identifier: GPL-2.0-only
// A temporary folder that stands for / : tests put the files of /sys and /proc in it that they
// need.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"

namespace steward {

class FakeRoot {
 public:
  FakeRoot() {
    std::string name = std::filesystem::temp_directory_path() / "steward-test-XXXXXX";
    path_ = mkdtemp(name.data());
  }
  ~FakeRoot() { std::filesystem::remove_all(path_); }
  FakeRoot(const FakeRoot&) = delete;
  FakeRoot& operator=(const FakeRoot&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

  // file: as on a real machine, such as "/proc/cmdline".
  void Write(const std::string& file, const std::string& text) const {
    const std::filesystem::path path = path_ + file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }

  void Remove(const std::string& file) const { std::filesystem::remove_all(path_ + file); }

  void SetCpus(const std::string& possible, const std::string& online) const {
    Write("/sys/devices/system/cpu/possible", possible + "\n");
    Write("/sys/devices/system/cpu/online", online + "\n");
  }

  // An online CPU's files. An empty list leaves the cache folder out.
  void AddCpu(int cpu, const std::string& llc_shared, int node, const std::string& siblings,
              int package) const {
    const std::string dir = absl::StrCat("/sys/devices/system/cpu/cpu", cpu);
    Write(dir + "/topology/thread_siblings_list", siblings + "\n");
    Write(dir + "/topology/physical_package_id", absl::StrCat(package, "\n"));
    Write(absl::StrCat(dir, "/node", node, "/cpulist"), "\n");
    if (llc_shared.empty()) return;
    AddCache(cpu, 0, 1, "Data", siblings);
    AddCache(cpu, 1, 1, "Instruction", siblings);
    AddCache(cpu, 2, 2, "Unified", siblings);
    AddCache(cpu, 3, 3, "Unified", llc_shared);
  }

  void AddCache(int cpu, int index, int level, const std::string& type,
                const std::string& shared) const {
    const std::string dir = absl::StrCat("/sys/devices/system/cpu/cpu", cpu, "/cache/index", index);
    Write(dir + "/level", absl::StrCat(level, "\n"));
    Write(dir + "/type", type + "\n");
    Write(dir + "/shared_cpu_list", shared + "\n");
  }

 private:
  std::string path_;
};

}  // namespace steward
