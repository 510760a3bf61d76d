/* SPDX-License-Identifier: Apache-2.0 */
/* Crashes, and prints its stack as addresses: what a program without symbols can say about itself.
 */
#include <execinfo.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static void on_crash(int number)
{
	void *stack[32];
	backtrace_symbols_fd(stack, backtrace(stack, 32), STDERR_FILENO);
	_exit(128 + number);
}

static inline int half(int n, int of)
{
	return n / of;
}

__attribute__((noinline)) static int share(int n, int of)
{
	return half(n, of) + 1;
}

int main(int argc, char **argv)
{
	signal(SIGFPE, on_crash);
	int n = share(argc, argc > 1 ? atoi(argv[1]) : 0);
	return n > 100 ? 1 : 0;
}
