/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The share of the machine that the agent may use: a share of a core, bytes a second, low priority
 * for processor and disk.
 *
 * The share holds for any minute (usage_window.h), and a host that was at rest may use a minute's
 * worth of it in one go: new files are known within seconds. Large files leave a part of it for
 * small ones, and small ones for large ones, so that neither waits for a minute. Children are
 * stopped while nothing is left, which needs no right, unlike a control group, and is exact to the
 * slice of time in which a child is not watched; a twentieth of the share is kept for that.
 *
 * The share bounds how much is taken of the host, not whom it delays. For that a child that works
 * for longer than such a slice gets a low priority. Shorter work is not worth it: on a busy host a
 * low priority would make each of a hundred small files wait for all other work.
 */
#include "agent_work.h"

#include "clock.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	NICE = 10,
	WHOLE = 1000000,  /* the share of a whole core */
	USED_SHARE = 95,  /* percent of the share; the rest is for slices that are not watched */
	PART_SHARE = 75,  /* percent of the share, for large files, and for others */
	BEGUN_SHARE = 65, /* until more of either are begun, as waiting for time is no good then */
	ENDED_SHARE = 50, /* the same, for files whose processes have ended */
	WAIT_MS = 1000,   /* longest sleep between two looks */
};

/* Numbers of ioprio_set(2), for which there is no header of the C library. */
enum {
	IOPRIO_WHO_PROCESS = 1,
	IOPRIO_LOW = 2 << 13 | 7, /* the last class that does not have to wait for all others */
	IOPRIO_CLASS_IDLE = 3 << 13,
};

void ux_agent_budget_begin(struct ux_agent *a)
{
	if (a->o->cpu_ppm == 0)
		return;
	/* Threads and children that are started from here on have it, too. */
	(void)syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_LOW);
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

/* Some percent of the processor time of a minute, in ns. */
static int64_t budget_share(const struct ux_agent *a, int64_t percent)
{
	const int64_t ppm = (int64_t)a->o->cpu_ppm;
	return ppm * UX_USAGE_MINUTE * (UX_CLOCK_NS_IN_S / WHOLE) / 100 * percent;
}

/* Charges the use since the last look. Returns how long nothing more may be used. */
static int64_t budget_look(struct ux_agent *a, pid_t child)
{
	const int64_t max = budget_share(a, USED_SHARE), part = budget_share(a, PART_SHARE);
	int64_t now = ux_clock_ns(), used = budget_used_ns(child);
	int64_t more = ux_max(used - a->cpu_ns, INT64_C(0));
	a->cpu_ns = ux_max(a->cpu_ns, used);
	ux_agent_metric_set(&a->metrics.cpu_ms, (uint64_t)(a->cpu_ns / UX_CLOCK_NS_IN_MS));
	if (max == 0)
		return 0;
	ux_usage_add(&a->cpu, now, more);
	ux_usage_add(&a->cpu_of[a->large], now, more);
	return ux_max(ux_usage_wait(&a->cpu, now, max),
		      ux_usage_wait(&a->cpu_of[a->large], now, part));
}

/* Sleeps. Returns for how many milliseconds, by which a deadline moves. */
static int64_t budget_sleep(struct ux_agent *a, int64_t ns)
{
	struct timespec t = {.tv_sec = ns / UX_CLOCK_NS_IN_S, .tv_nsec = ns % UX_CLOCK_NS_IN_S};
	int64_t before = ux_clock_ms();
	(void)nanosleep(&t, NULL);
	int64_t slept = ux_clock_ms() - before;
	ux_agent_metric_add(&a->metrics.paused_ms, (uint64_t)slept);
	return slept;
}

static void budget_wait(struct ux_agent *a, pid_t child)
{
	const int64_t max = (int64_t)WAIT_MS * UX_CLOCK_NS_IN_MS;
	for (int64_t ns; (ns = budget_look(a, child)) > 0;)
		a->work.client.deadline_ms += budget_sleep(a, ux_min(ns, max));
}

bool ux_agent_budget_is_low(struct ux_agent *a, bool large, bool ended)
{
	(void)budget_look(a, 0);
	const int64_t max = budget_share(a, ended ? ENDED_SHARE : BEGUN_SHARE);
	return max > 0 && ux_usage_wait(&a->cpu_of[large], ux_clock_ns(), max) > 0;
}

void ux_agent_budget_wait(struct ux_agent *a)
{
	budget_wait(a, 0);
}

void ux_agent_budget_pace(void *ctx, int child)
{
	struct ux_agent *a = ctx;
	if (a->o->cpu_ppm != 0) { /* it has worked for a slice */
		(void)setpriority(PRIO_PROCESS, (id_t)child, NICE);
		(void)syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, child, IOPRIO_CLASS_IDLE);
	}
	if (budget_look(a, child) == 0)
		return;
	bool stopped = kill(child, SIGSTOP) == 0;
	budget_wait(a, child);
	if (stopped)
		(void)kill(child, SIGCONT);
}

/* Takes bytes out of the bucket. Returns how long to wait before they are sent, in ns. */
static int64_t budget_take_bytes(struct ux_agent *a, uint64_t bytes)
{
	const int64_t now = ux_clock_ns();
	int64_t cost = (int64_t)((double)bytes / (double)a->push.rate * UX_CLOCK_NS_IN_S);
	(void)pthread_mutex_lock(&a->bytes_lock);
	int64_t ns = ux_bucket_wait(&a->bytes, now, 0, UX_CLOCK_NS_IN_S);
	ux_bucket_take(&a->bytes, now, cost);
	(void)pthread_mutex_unlock(&a->bytes_lock);
	return ns;
}

void ux_agent_budget_sends(void *ctx, struct ux_push_client *c, uint64_t bytes)
{
	struct ux_agent *a = ctx;
	int64_t ns = a->push.rate > 0 ? budget_take_bytes(a, bytes) : 0;
	if (ns > 0)
		c->deadline_ms += budget_sleep(a, ns);
}
