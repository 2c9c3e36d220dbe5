// SPDX-License-Identifier: GPL-2.0-only
#include "loader/kernel_btf.h"

#include <bpf/btf.h>

#include <cerrno>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace steward {
namespace {

bool MemberExists(const btf* types, const btf_type* type, const std::string& member) {
  const btf_member* const members = btf_members(type);
  for (int i = 0; i < btf_vlen(type); i++) {
    const std::string name = btf__name_by_offset(types, members[i].name_off);
    if (name == member) return true;
    if (!name.empty()) continue;
    const btf_type* const inner = btf__type_by_id(types, members[i].type);
    if (btf_is_composite(inner) && MemberExists(types, inner, member)) return true;
  }
  return false;
}

}  // namespace

void KernelBtf::Free::operator()(btf* b) const { btf__free(b); }

absl::StatusOr<KernelBtf> KernelBtf::Load(const std::string& path) {
  btf* const types = btf__parse_raw(path.c_str());
  if (types == nullptr) {
    return absl::ErrnoToStatus(errno,
                               absl::StrCat("cannot read the kernel's type information ", path));
  }
  return KernelBtf(types);
}

bool KernelBtf::HasFunction(const std::string& name) const {
  return btf__find_by_name_kind(types_.get(), name.c_str(), BTF_KIND_FUNC) > 0;
}

bool KernelBtf::HasMember(const std::string& type, const std::string& member) const {
  const int id = btf__find_by_name_kind(types_.get(), type.c_str(), BTF_KIND_STRUCT);
  return id > 0 &&
         MemberExists(types_.get(), btf__type_by_id(types_.get(), static_cast<__u32>(id)), member);
}

uint64_t KernelBtf::EnumValueOrZero(const std::string& type, const std::string& value) const {
  const btf* const types = types_.get();
  if (const int id = btf__find_by_name_kind(types, type.c_str(), BTF_KIND_ENUM); id > 0) {
    const btf_type* const t = btf__type_by_id(types, static_cast<__u32>(id));
    const struct btf_enum* const values = btf_enum(t);
    for (int i = 0; i < btf_vlen(t); i++) {
      if (value == btf__name_by_offset(types, values[i].name_off)) {
        return static_cast<uint32_t>(values[i].val);
      }
    }
  }
  if (const int id = btf__find_by_name_kind(types, type.c_str(), BTF_KIND_ENUM64); id > 0) {
    const btf_type* const t = btf__type_by_id(types, static_cast<__u32>(id));
    const struct btf_enum64* const values = btf_enum64(t);
    for (int i = 0; i < btf_vlen(t); i++) {
      if (value == btf__name_by_offset(types, values[i].name_off)) {
        return btf_enum64_value(&values[i]);
      }
    }
  }
  return 0;
}

}  // namespace steward
