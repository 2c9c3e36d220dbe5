// SPDX-License-Identifier: GPL-2.0-only
// What the running kernel's type information says: which functions, members and enum values it
// has. Features are judged by this, never by version numbers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

struct btf;

namespace steward {

class KernelBtf {
 public:
  static absl::StatusOr<KernelBtf> Load(const std::string& path);

  [[nodiscard]] bool HasFunction(const std::string& name) const;
  // Also true if the member sits in an anonymous struct or union of `type`.
  [[nodiscard]] bool HasMember(const std::string& type, const std::string& member) const;
  // 0 if the kernel does not know the name.
  [[nodiscard]] uint64_t EnumValueOrZero(const std::string& type, const std::string& value) const;

 private:
  struct Free {
    void operator()(btf* b) const;
  };
  explicit KernelBtf(btf* types) : types_(types) {}

  std::unique_ptr<btf, Free> types_;
};

}  // namespace steward
