/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Cells and their counters. A scheduling path counts in the cell of the CPU it
 * executes on, never in another one's: plain stores, no contended line.
 */
#pragma once

static __always_inline struct steward_cell *cell_of(s32 cpu)
{
	return &cells[steward_index(cpu)];
}

static __always_inline const volatile struct steward_cpu *topo_of(s32 cpu)
{
	return &topo[steward_index(cpu)];
}

/* The record of the CPU that executes this. */
static __always_inline struct steward_local *local_here(void)
{
	return &cell_of(bpf_get_smp_processor_id())->local;
}

#define count(field) (local_here()->field++)
