/* SPDX-License-Identifier: Apache-2.0 */
/* Watching the threads of a server; the server's handlers take as long as their request asks. */
#include "watch.h"

#include "clock.h"
#include "sweep.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static atomic_bool door_open;

static enum ux_code wait_at_door(struct ux_request *req, struct ux_response *res)
{
	(void)req;
	while (!atomic_load(&door_open))
		usleep(1000);
	res->status = 204;
	return UX_OK;
}

static const struct ux_route routes[] = {
	{UX_METHOD_GET, "/works", wait_at_door, NULL, 0, "", .works = true},
	{UX_METHOD_GET, "/moves", wait_at_door, NULL, 0, ""},
};

static sigset_t blocked_signals(void)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	assert_int_equal(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
	return set;
}

static struct ux_watch *watch_open(int64_t stuck_ms, int64_t stop_ms)
{
	const sigset_t set = blocked_signals();
	struct ux_watch *w = NULL;
	assert_int_equal(ux_watch_open(&w, &set, NULL), UX_OK);
	ux_watch_set_limits(w, stuck_ms, stop_ms);
	return w;
}

/* Waits until the watch finds that all is fine, or not; returns the thread that it names. */
static const char *wait_until(struct ux_watch *w, bool fine)
{
	const char *what = "";
	int64_t ms = 0, end = ux_clock_ms() + 30000;
	while (ux_watch_is_fine(w, &what, &ms) != fine) {
		assert_true(ux_clock_ms() < end);
		(void)ux_watch_wait(w, 5); /* the main thread goes on */
	}
	return what;
}

/* Sends a request; the answer can be read from the socket. */
static int request_begin(const struct ux_http_server *s, const char *path)
{
	char text[128];
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	in.sin_port =
		htons((uint16_t)strtoul(strrchr(ux_http_server_address(s), ':') + 1, NULL, 10));
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&in, sizeof(in)), 0);
	int n = snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path);
	assert_int_equal(write(fd, text, (size_t)n), n);
	return fd;
}

static void stuck_handler_is_named_until_it_goes_on(void **state)
{
	(void)state;
	static const struct {
		const char *path, *what;
	} cases[] = {
		{"/works", "a request on a worker thread"},
		{"/moves", "a request on a connection thread"},
	};
	struct ux_http_app app = {.routes = routes, .n_routes = ux_countof(routes)};
	app.limits = ux_http_limits_default((struct ux_http_limits){.threads = 2});
	for (size_t i = 0; i < ux_countof(cases); i++) {
		struct ux_http_server *s = NULL;
		struct ux_watch *w = watch_open(1500, 0);
		char byte;
		atomic_store(&door_open, false);
		assert_int_equal(ux_http_server_open(&s, "127.0.0.1:0", &app, NULL), UX_OK);
		ux_watch_set_server(w, s);
		wait_until(w, true);
		int fd = request_begin(s, cases[i].path);
		assert_string_equal(wait_until(w, false), cases[i].what);
		atomic_store(&door_open, true);
		assert_int_equal(read(fd, &byte, 1), 1);
		wait_until(w, true);
		close(fd);
		ux_watch_set_server(w, NULL);
		ux_http_server_close(s);
		ux_watch_close(w);
	}
}

static void main_thread_that_does_not_come_back_is_noticed(void **state)
{
	(void)state;
	struct ux_watch *w = watch_open(100, 0);
	const char *what = "";
	int64_t ms = 0;
	assert_true(ux_watch_is_fine(w, &what, &ms));
	usleep(300 * 1000);
	assert_false(ux_watch_is_fine(w, &what, &ms));
	assert_string_equal(what, "the main thread");
	assert_in_range(ms, 300, 60000);
	assert_int_equal(ux_watch_wait(w, 0), -1);
	assert_true(ux_watch_is_fine(w, &what, &ms));
	assert_true(ux_watch_is_fine(NULL, &what, &ms));
	ux_watch_close(w);
	ux_watch_close(NULL);
}

static void signals_reach_the_main_thread_once(void **state)
{
	(void)state;
	struct ux_watch *w = watch_open(60000, 60000);
	assert_int_equal(ux_watch_wait(w, 10), -1);
	assert_int_equal(kill(getpid(), SIGHUP), 0);
	assert_int_equal(ux_watch_wait(w, 30000), SIGHUP);
	assert_int_equal(kill(getpid(), SIGTERM), 0);
	assert_int_equal(ux_watch_wait(w, 30000), SIGTERM);
	assert_int_equal(ux_watch_wait(w, 10), -1);
	ux_watch_close(w);
}

/* A process whose main thread never takes the signal. */
static void signal_ends_a_process_that_is_stuck(void **state)
{
	(void)state;
	int64_t start = ux_clock_ms();
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)watch_open(60000, /* stop_ms= */ 500);
		kill(getpid(), SIGHUP); /* does not ask it to stop */
		kill(getpid(), SIGTERM);
		for (;;)
			pause();
	}
	int status = 0;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 1);
	assert_in_range(ux_clock_ms() - start, UX_WATCH_END_MS + 500, UX_WATCH_END_MS + 30000);
}

/* Returns how many messages arrive at the service manager within `ms` milliseconds. */
static unsigned messages_within(int fd, int ms)
{
	int64_t end = ux_clock_ms() + ms;
	unsigned n = 0;
	for (int64_t now = ux_clock_ms(); now < end; now = ux_clock_ms()) {
		char text[64] = "";
		struct pollfd p = {.fd = fd, .events = POLLIN};
		if (poll(&p, 1, (int)(end - now)) == 1 && recv(fd, text, sizeof(text) - 1, 0) > 0)
			n += strcmp(text, "WATCHDOG=1") == 0;
	}
	return n;
}

static void service_manager_is_notified_only_of_progress(void **state)
{
	(void)state;
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	char name[64];
	int n = snprintf(name, sizeof(name), "@unhex-test-watch-%d", (int)getpid());
	memcpy(un.sun_path + 1, name + 1, (size_t)n - 1);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&un,
			      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)n)),
			 0);
	setenv("NOTIFY_SOCKET", name, 1);
	setenv("WATCHDOG_USEC", "2000000", 1);
	struct ux_watch *w = watch_open(3000, 0);
	assert_in_range(messages_within(fd, 2500), 1, 4); /* each second */
	usleep(1500 * 1000);
	messages_within(fd, 300);
	assert_int_equal(messages_within(fd, 2500), 0); /* the main thread is stuck */
	(void)ux_watch_wait(w, 0);
	assert_in_range(messages_within(fd, 2500), 1, 4);
	ux_watch_close(w);
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	close(fd);
}

UX_SUITE(watch)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(stuck_handler_is_named_until_it_goes_on),
		UX_TEST(main_thread_that_does_not_come_back_is_noticed),
		UX_TEST(signals_reach_the_main_thread_once),
		UX_TEST(signal_ends_a_process_that_is_stuck),
		UX_TEST(service_manager_is_notified_only_of_progress),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
