/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits the agent's use of the machine: a share of a core, bytes a second, low priority for
 * processor and disk.
 *
 * The share is enforced over any minute (usage_window.h). After an idle minute the agent may use a
 * minute's share without a pause, so that new files are known within seconds. Large files leave a
 * part of the share for small files and vice versa, so that neither waits for a minute. When the
 * share is used up, the agent stops its children. Unlike a control group this needs no privilege.
 * It is exact to one slice, the time between two checks of a child; a twentieth of the share is
 * reserved for that error.
 *
 * The share bounds the use of the host, but the agent could still delay other programs. Therefore a
 * child that works for longer than a slice gets a low priority. Shorter work keeps its priority: on
 * a busy host, each of a hundred small files would otherwise wait for all other work.
 */
#include "agent_work.h"

#include "clock.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	NICE = 10,
	WHOLE = 1000000, /* the share that is a whole core */
	USED_SHARE = 95, /* percent of the share that is used; the rest covers unwatched slices */
	/* percent of the share that large files may use, and that small files may use */
	PART_SHARE = 75,
	/* percent of the share up to which new files begin: a file that has begun should not
	 * wait */
	BEGUN_SHARE = 65,
	OWNER_SHARE = 55, /* the same, for the files of one user */
	/* the same, for a user who has used less than LIGHT_USE: others may have used the rest */
	LIGHT_SHARE = 74,
	LIGHT_USE = 3,
	ENDED_SHARE = 50, /* the same, for files whose processes have ended */
	WAIT_MS = 1000,   /* longest sleep between two checks */
};

/* Values for ioprio_set(2), which the C library declares nowhere. */
enum {
	IOPRIO_WHO_PROCESS = 1,
	/* lowest priority of the best-effort class: the idle class would wait for all others */
	IOPRIO_LOW = 2 << 13 | 7,
	IOPRIO_CLASS_IDLE = 3 << 13,
};

void ux_agent_budget_begin(struct ux_agent *a)
{
	if (a->o->cpu_ppm == 0)
		return;
	/* Threads and children that start later inherit it. */
	(void)syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_LOW);
}

static int64_t budget_timeval_ns(const struct timeval *t)
{
	return (int64_t)t->tv_sec * UX_CLOCK_NS_IN_S + (int64_t)t->tv_usec * 1000;
}

/* Returns the processor time of this process, of its ended children, and of the running child. */
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

/* Returns `percent` of a minute's processor time, in ns. */
static int64_t budget_share(const struct ux_agent *a, int64_t percent)
{
	const int64_t ppm = (int64_t)a->o->cpu_ppm;
	return ppm * UX_USAGE_MINUTE * (UX_CLOCK_NS_IN_S / WHOLE) / 100 * percent;
}

/* Charges the use since the last check. Returns for how many ns nothing more may be used. */
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
	if (a->spender)
		ux_usage_add(&a->spender->cpu[a->large], now, more);
	return ux_max(ux_usage_wait(&a->cpu, now, max),
		      ux_usage_wait(&a->cpu_of[a->large], now, part));
}

/* Sleeps, and returns for how many milliseconds: a deadline is extended by that. */
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
	for (int64_t ns; (ns = budget_look(a, child)) > 0;) {
		ux_agent_beat(a);
		a->work.client.deadline_ms += budget_sleep(a, ux_min(ns, max));
	}
}

bool ux_agent_budget_is_low(struct ux_agent *a, bool large, bool ended)
{
	(void)budget_look(a, 0);
	const int64_t max = budget_share(a, ended ? ENDED_SHARE : BEGUN_SHARE);
	return max > 0 && ux_usage_wait(&a->cpu_of[large], ux_clock_ns(), max) > 0;
}

bool ux_agent_budget_is_spent(struct ux_agent *a, bool large, uid_t owner)
{
	const int64_t max = budget_share(a, OWNER_SHARE), now = ux_clock_ns();
	for (size_t i = 0; max > 0 && i < UX_AGENT_SPENDERS_MAX; i++) {
		struct ux_agent_spender *s = &a->spenders[i];
		if (s->owner == owner && ux_usage_wait(&s->cpu[large], now, max) > 0)
			return true;
	}
	return false;
}

bool ux_agent_budget_is_light(struct ux_agent *a, bool large, uid_t owner)
{
	const int64_t max = budget_share(a, LIGHT_SHARE), now = ux_clock_ns();
	int64_t used = 0;
	for (size_t i = 0; i < UX_AGENT_SPENDERS_MAX; i++)
		if (a->spenders[i].owner == owner)
			used = ux_max(used, a->spenders[i].cpu[large].sum);
	return used < budget_share(a, LIGHT_USE) && ux_usage_wait(&a->cpu_of[large], now, max) == 0;
}

static int64_t budget_spent(const struct ux_agent_spender *s)
{
	return s->cpu[0].sum + s->cpu[1].sum;
}

/* Returns the counts of a user, which may take the place of the one who has used least. */
static struct ux_agent_spender *budget_spender(struct ux_agent *a, uid_t owner)
{
	struct ux_agent_spender *least = a->spenders;
	for (size_t i = 0; i < UX_AGENT_SPENDERS_MAX; i++) {
		struct ux_agent_spender *s = &a->spenders[i];
		for (int k = 0; k < 2; k++)
			ux_usage_advance(&s->cpu[k], ux_clock_ns());
		if (s->owner == owner && budget_spent(s) > 0)
			return s;
		if (budget_spent(s) < budget_spent(least))
			least = s;
	}
	*least = (struct ux_agent_spender){.owner = owner};
	return least;
}

void ux_agent_budget_charge(struct ux_agent *a, const struct ux_mapped_file *f, uint64_t size)
{
	(void)budget_look(a, 0); /* the use until now belongs to the file before */
	a->large = f && ux_mapped_is_large(size);
	a->spender = f ? budget_spender(a, f->process_owner) : NULL;
}

void ux_agent_budget_wait(struct ux_agent *a)
{
	budget_wait(a, 0);
}

void ux_agent_budget_pace(void *ctx, int child)
{
	struct ux_agent *a = ctx;
	ux_agent_beat(a);
	if (a->o->cpu_ppm != 0) { /* it has worked for one slice */
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

/* Charges bytes to the bucket. Returns the time to wait before they are sent, in ns. */
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
