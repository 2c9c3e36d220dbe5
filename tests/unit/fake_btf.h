// SPDX-License-Identifier: GPL-2.0-only
// Type information of a made-up kernel, built with libbpf and written to where the real one is.
#pragma once

#include <bpf/btf.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/unit/fake_root.h"

namespace steward {

struct FakeBtf {
  std::vector<std::string> functions;
  // struct name -> one member
  std::vector<std::pair<std::string, std::string>> members;
  // name of scx_ops_flags -> value
  std::vector<std::pair<std::string, uint64_t>> ops_flags;

  void Write(const FakeRoot& root) const {
    btf* const types = btf__new_empty();
    const int int_id = btf__add_int(types, "int", 4, BTF_INT_SIGNED);
    const int proto_id = btf__add_func_proto(types, int_id);
    for (const std::string& name : functions) {
      btf__add_func(types, name.c_str(), BTF_FUNC_STATIC, proto_id);
    }
    for (const auto& [type, member] : members) {
      // In an anonymous union, as the kernel has many.
      const int inner = btf__add_union(types, nullptr, 4);
      btf__add_field(types, member.c_str(), int_id, 0, 0);
      btf__add_struct(types, type.c_str(), 4);
      btf__add_field(types, "", inner, 0, 0);
    }
    btf__add_enum64(types, "scx_ops_flags", 8, false);
    for (const auto& [name, value] : ops_flags) {
      btf__add_enum64_value(types, name.c_str(), value);
    }
    btf__add_enum(types, "small", 4);
    btf__add_enum_value(types, "SMALL_TWO", 2);
    __u32 size = 0;
    const void* const data = btf__raw_data(types, &size);
    root.Write("/sys/kernel/btf/vmlinux", std::string(static_cast<const char*>(data), size));
    btf__free(types);
  }
};

// What the oldest supported kernel has.
inline FakeBtf OldKernelBtf() {
  return {{"scx_bpf_dispatch", "scx_bpf_dispatch_vtime", "scx_bpf_consume",
           "scx_bpf_dispatch_vtime_from_dsq", "scx_bpf_create_dsq", "scx_bpf_dsq_nr_queued",
           "scx_bpf_kick_cpu", "scx_bpf_select_cpu_dfl", "scx_bpf_get_idle_cpumask",
           "scx_bpf_get_online_cpumask", "bpf_iter_scx_dsq_new"},
          {{"sched_ext_ops", "dispatch"}, {"rq", "cpu"}},
          {{"SCX_OPS_ENQ_LAST", 2}}};
}

// What the newest one has.
inline FakeBtf NewKernelBtf() {
  return {
      {"scx_bpf_dsq_insert___v2", "__scx_bpf_dsq_insert_vtime", "scx_bpf_dsq_move_to_local___v2",
       "scx_bpf_dsq_move_vtime", "scx_bpf_create_dsq", "scx_bpf_dsq_nr_queued", "scx_bpf_kick_cpu",
       "scx_bpf_select_cpu_dfl", "scx_bpf_get_idle_cpumask", "scx_bpf_get_online_cpumask",
       "bpf_iter_scx_dsq_new", "scx_bpf_now", "scx_bpf_dsq_peek"},
      {{"sched_ext_ops", "dispatch"}, {"rq", "ext_server"}},
      {{"SCX_OPS_ALLOW_QUEUED_WAKEUP", 0x20}}};
}

}  // namespace steward
