/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * scx_steward: every CPU dispatches from its own queue; one CPU, the timer CPU,
 * balances for all. The one translation unit: modules in call order.
 */
#include <kernel.bpf.h> /* angles: a native build puts its own in front */

#include "abi.h"
#include "balance.h"
#include "load.h"
#include "vtime.h"
#include "watch.h"

#include "maps.bpf.h"
#include "stats.bpf.h"
#include "account.bpf.h"
#include "select_cpu.bpf.h"
#include "enqueue.bpf.h"
#include "balance.bpf.h"
#include "dispatch.bpf.h"
#include "lifecycle.bpf.h"

char _license[] SEC("license") = "GPL";

/* flags, timeout_ms, hotplug_seq, exit_dump_len and the full name are set by the
 * loader from what the running kernel knows. Left out on purpose: dequeue, whose
 * meaning changed in 7.1 and which would cost a call per switch; update_idle,
 * which would switch the kernel's own idle tracking off; tick, set_weight and
 * set_cpumask, as weight and mask are read where they are used.
 */
SEC(".struct_ops.link")
struct sched_ext_ops steward_ops = {
	.select_cpu = (void *)steward_select_cpu,
	.enqueue = (void *)steward_enqueue,
	.dispatch = (void *)steward_dispatch,
	.running = (void *)steward_running,
	.stopping = (void *)steward_stopping,
	.enable = (void *)steward_enable,
	.disable = (void *)steward_disable,
	.init_task = (void *)steward_init_task,
	.exit_task = (void *)steward_exit_task,
	.cpu_online = (void *)steward_cpu_online,
	.cpu_offline = (void *)steward_cpu_offline,
	.init = (void *)steward_init,
	.exit = (void *)steward_exit,
	.dump = (void *)steward_dump,
	.dump_cpu = (void *)steward_dump_cpu,
	.dump_task = (void *)steward_dump_task,
	.name = "steward",
};
