/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the agent may use of the machine: a share of a core, bytes a second, low priority for
 * processor and disk.
 *
 * The share holds for any minute. A bucket that is refilled with 3/4 of the share and holds a fifth
 * of what the share gives in a minute never lets more than 19/20 of it pass; the rest is for the
 * slice of time in which a child is not watched. Children are stopped while the bucket is empty,
 * which needs no right, unlike a control group, and is exact to that slice.
 */
#include "agent_work.h"

#include "clock.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	NICE = 10,
	WHOLE = 1000000,   /* the share of a whole core */
	REFILL_SHARE = 75, /* percent of the share */
	WINDOW_S = 60,     /* in which the share holds */
	BURST_SHARE = 20,  /* percent of what the share gives in that time */
	WAIT_MS = 1000,    /* longest sleep between two looks */
};

/* Numbers of ioprio_set(2), for which there is no header of the C library. */
enum {
	IOPRIO_WHO_PROCESS = 1,
	IOPRIO_CLASS_IDLE = 3 << 13,
};

void ux_agent_budget_begin(struct ux_agent *a)
{
	if (a->o->cpu_ppm == 0)
		return;
	/* Threads and children that are started from here on have them, too. */
	(void)setpriority(PRIO_PROCESS, 0, NICE);
	(void)syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_CLASS_IDLE);
}

static int64_t budget_timeval_ns(const struct timeval *t)
{
	return (int64_t)t->tv_sec * UX_CLOCK_NS_IN_S + (int64_t)t->tv_usec * 1000;
}

/* Processor time of this process, of its children that have ended, and of one that works. */
static int64_t budget_used_ns(pid_t child)
{
	struct rusage ended = {0};
	clockid_t clock = 0;
	int64_t ns = ux_clock_read(CLOCK_PROCESS_CPUTIME_ID);
	if (getrusage(RUSAGE_CHILDREN, &ended) == 0)
		ns += budget_timeval_ns(&ended.ru_utime) + budget_timeval_ns(&ended.ru_stime);
	if (child > 0 && clock_getcpuclockid(child, &clock) == 0)
		ns += ux_clock_read(clock);
	return ns;
}

/* Charges what was used since the last look. Returns how long nothing more may be used. */
static int64_t budget_look(struct ux_agent *a, pid_t child)
{
	const int64_t refill = (int64_t)a->o->cpu_ppm * REFILL_SHARE / 100;
	const int64_t room =
		(int64_t)WINDOW_S * UX_CLOCK_NS_IN_S / 100 * BURST_SHARE * 100 / REFILL_SHARE;
	int64_t now = ux_clock_ns(), used = budget_used_ns(child);
	int64_t more = ux_max(used - a->cpu_ns, INT64_C(0));
	a->cpu_ns = ux_max(a->cpu_ns, used);
	ux_agent_metric_set(&a->metrics.cpu_ms, (uint64_t)(a->cpu_ns / UX_CLOCK_NS_IN_MS));
	if (refill == 0)
		return 0;
	ux_bucket_take(&a->cpu, now, more * WHOLE / refill);
	return ux_bucket_wait(&a->cpu, now, 0, room);
}

/* Sleeps; the deadline of what is under way moves by that time. */
static void budget_sleep(struct ux_agent *a, int64_t ns)
{
	struct timespec t = {.tv_sec = ns / UX_CLOCK_NS_IN_S, .tv_nsec = ns % UX_CLOCK_NS_IN_S};
	int64_t before = ux_clock_ms();
	(void)nanosleep(&t, NULL);
	int64_t slept = ux_clock_ms() - before;
	a->work.client.deadline_ms += slept;
	ux_agent_metric_add(&a->metrics.paused_ms, (uint64_t)slept);
}

static void budget_wait(struct ux_agent *a, pid_t child)
{
	const int64_t most = (int64_t)WAIT_MS * UX_CLOCK_NS_IN_MS;
	for (int64_t ns; (ns = budget_look(a, child)) > 0;)
		budget_sleep(a, ux_min(ns, most));
}

void ux_agent_budget_wait(struct ux_agent *a)
{
	budget_wait(a, 0);
}

void ux_agent_budget_pace(void *ctx, int child)
{
	struct ux_agent *a = ctx;
	if (budget_look(a, child) == 0)
		return;
	bool stopped = kill(child, SIGSTOP) == 0;
	budget_wait(a, child);
	if (stopped)
		(void)kill(child, SIGCONT);
}

void ux_agent_budget_sent(void *ctx, uint64_t bytes)
{
	struct ux_agent *a = ctx;
	int64_t now = ux_clock_ns();
	if (a->push.rate == 0)
		return;
	int64_t cost = (int64_t)((double)bytes / (double)a->push.rate * UX_CLOCK_NS_IN_S);
	ux_bucket_take(&a->bytes, now, cost);
	int64_t ns = ux_bucket_wait(&a->bytes, now, 0, UX_CLOCK_NS_IN_S);
	if (ns > 0)
		budget_sleep(a, ns);
}
