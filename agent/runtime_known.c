/* SPDX-License-Identifier: Apache-2.0 */
/* Remembers for the next run of the agent how far the run-time code of processes was sent. */
#include "agent_work.h"

#include "clock.h"
#include "proc_files.h"

enum {
	NS_IN_US = 1000,
};

static struct ux_agent_key runtime_start_key(const struct ux_agent *a,
					     const struct ux_runtime_process *p)
{
	const uint64_t numbers[] = {(uint64_t)p->pid, (uint64_t)p->started_boot_ns};
	return ux_agent_number_key(&a->state, "run-time start", numbers, ux_countof(numbers));
}

/* The start is in wall-clock time, so that a file from before a reboot has another key. */
static struct ux_agent_key runtime_file_key(const struct ux_agent *a,
					    const struct ux_runtime_process *p,
					    const struct ux_runtime_file *f)
{
	const uint64_t numbers[] = {(uint64_t)p->pid, (uint64_t)p->started_ns, f->dev, f->ino};
	return ux_agent_number_key(&a->state, "run-time file", numbers, ux_countof(numbers));
}

void ux_agent_runtime_recall_start(struct ux_agent *a, struct ux_runtime_process *p,
				   const struct ux_proc *proc)
{
	uint64_t number = 0;
	int64_t at_s = 0;
	p->started_boot_ns = proc->started_boot_ns;
	p->started_ns = proc->started_ns / NS_IN_US * NS_IN_US;
	if (!ux_agent_state_find_number(&a->state, runtime_start_key(a, p), ux_clock_wall(),
					&number, &at_s))
		return;
	/* Before a reboot, another process may have had the same ID and the same start time after
	 * boot. */
	const int64_t known = (int64_t)number * NS_IN_US;
	if (imaxabs(known - p->started_ns) <= UX_CLOCK_NS_IN_S)
		p->started_ns = known;
}

void ux_agent_runtime_recall_file(struct ux_agent *a, const struct ux_runtime_process *p,
				  struct ux_runtime_file *f)
{
	uint64_t number = 0;
	int64_t at_s = 0;
	if (!ux_agent_state_find_number(&a->state, runtime_file_key(a, p, f), ux_clock_wall(),
					&number, &at_s))
		return;
	f->known = number;
	f->from_ns = at_s * UX_CLOCK_NS_IN_S;
}

void ux_agent_runtime_remember(struct ux_agent *a, const struct ux_runtime_process *p,
			       const struct ux_runtime_file *f)
{
	if (a->push.dry_run)
		return;
	ux_agent_state_put_number(&a->state, runtime_start_key(a, p),
				  (uint64_t)(p->started_ns / NS_IN_US), ux_clock_wall());
	/* The next run continues from this time, because sending may have taken long. */
	ux_agent_state_put_number(&a->state, runtime_file_key(a, p, f), f->known,
				  f->from_ns / UX_CLOCK_NS_IN_S);
}
