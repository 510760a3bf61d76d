/* SPDX-License-Identifier: Apache-2.0 */
/* Ctrl-C: prints the summary of a command that a signal ends. */
#include "interrupt.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static struct {
	ux_interrupt_fn *fn;
	void *ctx;
	sigset_t signals;
	int number; /* of the signal that arrived */
} interrupt;

enum {
	SUMMARY_S = 3, /* s for the summary, whose reader may not read */
};

/* Lets the signal end the process. A handler of SIGALRM, and also called without a signal. */
static void interrupt_end(int unused)
{
	(void)unused;
	(void)sigprocmask(SIG_UNBLOCK, &interrupt.signals, NULL);
	(void)kill(getpid(), interrupt.number);
}

static void *interrupt_wait(void *unused)
{
	(void)unused;
	const struct sigaction late = {.sa_handler = interrupt_end};
	if (sigwait(&interrupt.signals, &interrupt.number) != 0)
		return NULL;
	(void)sigaction(SIGALRM, &late, NULL);
	(void)alarm(SUMMARY_S);
	interrupt.fn(interrupt.ctx);
	interrupt_end(0);
	return NULL;
}

void ux_interrupt_begin(ux_interrupt_fn *fn, void *ctx)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
	pthread_t thread;
	struct sigaction before;
	interrupt.fn = fn;
	interrupt.ctx = ctx;
	(void)sigemptyset(&interrupt.signals);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
			(void)sigaddset(&interrupt.signals, numbers[i]);
	if (pthread_sigmask(SIG_BLOCK, &interrupt.signals, NULL) != 0)
		return;
	if (pthread_create(&thread, NULL, interrupt_wait, NULL) == 0)
		(void)pthread_detach(thread);
	else
		(void)pthread_sigmask(SIG_UNBLOCK, &interrupt.signals, NULL);
}
