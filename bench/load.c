/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load [OPTION...] HOST PORT PATH: asks an HTTP server on connections that stay open, one request
 * at a time on each, and prints the results as NAME=NUMBER words. {id} in PATH is another random ID
 * of 40 hex digits each time.
 *
 * Without --rate, a connection asks again as soon as it has its answer. With it, requests fall due
 * at random moments, at that average rate, and the time of each counts from then: a server that
 * stands still is also charged the requests that could not be sent meanwhile.
 */
#include "file.h"
#include "out.h"
#include "vec.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum {
	CLIENTS_MAX = 4096,
	BODIES_MAX = 256,
	HEAD_MAX = 16 << 10, /* bytes of an answer's header lines */
	ID_DIGITS = 40,
	DRAIN_SECONDS = 300, /* that the last answers may take */
};

UX_VEC(times, uint32_t);

/* One connection. */
struct client {
	int fd;
	bool busy;
	double due; /* when the current request was due */
	const struct ux_out *text;
	uint8_t *own; /* the text with its own ID; NULL: it has none */
	size_t sent;
	bool in_body;
	uint64_t left; /* bytes of the body */
	size_t n_head;
	char head[HEAD_MAX + 1];
};

struct load {
	const char *host, *port, *path, *method;
	const char *bodies[BODIES_MAX];
	size_t n_bodies;
	struct ux_out lines; /* more header lines */
	unsigned expected;   /* status */
	double rate;         /* a second; 0: as fast as it goes */
	double seconds;
	uint64_t max; /* requests */

	struct addrinfo *address;
	struct ux_out texts[BODIES_MAX]; /* whole requests, sent in turn */
	size_t n_texts;
	size_t id_at; /* position of the ID in each; 0: none */
	struct client *clients;
	size_t n_clients;
	int epoll, timer;
	uint64_t dice;

	double start, end; /* no request falls due at the end or later */
	double next;       /* when the next request falls due */
	uint64_t requested, wrong, bytes;
	struct times us;
};

_Noreturn static void die(const char *what)
{
	fprintf(stderr, "load: %s: %s\n", what, errno ? strerror(errno) : "failed");
	exit(1);
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* xorshift64*: the same every time. */
static uint64_t roll(struct load *l)
{
	l->dice ^= l->dice >> 12;
	l->dice ^= l->dice << 25;
	l->dice ^= l->dice >> 27;
	return l->dice * UINT64_C(0x2545f4914f6cdd1d);
}

static void make_text(struct load *l, const char *body)
{
	struct ux_out *out = &l->texts[l->n_texts++];
	struct ux_mapping file = {0};
	struct ux_error err = UX_ERROR_INIT;
	static const char digits[] = "0000000000000000000000000000000000000000";
	static_assert(sizeof(digits) == ID_DIGITS + 1, "an ID");
	const char *id = strstr(l->path, "{id}");
	if (body && ux_file_map(body, &file, &err) != UX_OK)
		die(err.text);
	ux_out_fmt(out, "%s ", l->method ? l->method : body ? "POST" : "GET");
	if (id) {
		l->id_at = out->size + (size_t)(id - l->path);
		ux_out_fmt(out, "%.*s%s%s", (int)(id - l->path), l->path, digits, id + 4);
	} else {
		ux_out_cstr(out, l->path);
	}
	ux_out_fmt(out, " HTTP/1.1\r\nHost: %s:%s\r\n", l->host, l->port);
	ux_out_put(out, l->lines.data, l->lines.size);
	if (body)
		ux_out_fmt(out, "Content-Length: %zu\r\n", file.bytes.size);
	ux_out_cstr(out, "\r\n");
	ux_out_put(out, file.bytes.data, file.bytes.size);
	ux_file_unmap(&file);
	if (out->failed)
		die("memory");
}

static void watch(struct load *l, struct client *c, int how, uint32_t events)
{
	struct epoll_event e = {.events = events, .data.ptr = c};
	if (epoll_ctl(l->epoll, how, c->fd, &e) != 0)
		die("epoll_ctl");
}

static void open_client(struct load *l, struct client *c)
{
	int on = 1;
	c->fd = socket(l->address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd < 0 || connect(c->fd, l->address->ai_addr, l->address->ai_addrlen) != 0)
		die("connect");
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	watch(l, c, EPOLL_CTL_ADD, EPOLLIN);
}

static void send_more(struct load *l, struct client *c)
{
	const uint8_t *text = c->own ? c->own : c->text->data;
	while (c->sent < c->text->size) {
		ssize_t n = send(c->fd, text + c->sent, c->text->size - c->sent,
				 MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && errno == EAGAIN) {
			watch(l, c, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
			return;
		}
		if (n < 0)
			die("send");
		c->sent += (size_t)n;
	}
	if (c->text->size > HEAD_MAX) /* it may not have been sent in one call */
		watch(l, c, EPOLL_CTL_MOD, EPOLLIN);
}

static void ask(struct load *l, struct client *c, double due)
{
	c->busy = true;
	c->due = due;
	c->text = &l->texts[l->requested++ % l->n_texts];
	c->sent = 0;
	c->in_body = false;
	c->n_head = 0;
	for (size_t i = 0; c->own && i < ID_DIGITS; i++)
		c->own[l->id_at + i] = (uint8_t) "0123456789abcdef"[roll(l) >> 60];
	send_more(l, c);
}

static bool may_ask(const struct load *l, double due)
{
	return due < l->end && l->requested < l->max;
}

static double gap(struct load *l)
{
	return -log(1 - (double)(roll(l) >> 11) * 0x1p-53) / l->rate;
}

/* Sends the requests that fell due, as far as connections are free; then sets the timer to the next
 * one. */
static void ask_due(struct load *l)
{
	double t = now();
	for (size_t i = 0; i < l->n_clients && l->next <= t && may_ask(l, l->next); i++) {
		if (l->clients[i].busy)
			continue;
		ask(l, &l->clients[i], l->next);
		l->next += gap(l);
	}
	double in = ux_max(l->next - now(), 1e-6);
	struct itimerspec when = {.it_value = {(time_t)in, (long)((in - floor(in)) * 1e9)}};
	timerfd_settime(l->timer, 0, &when, NULL);
}

static void answered(struct load *l, struct client *c)
{
	double t = now();
	c->busy = false;
	if (!times_append(&l->us, (uint32_t)((t - c->due) * 1e6)))
		die("memory");
	if (l->rate > 0)
		ask_due(l);
	else if (may_ask(l, t))
		ask(l, c, t);
}

/* Reads the status line and the length of the body, after the empty line has come. */
static void read_head(struct load *l, struct client *c)
{
	c->head[c->n_head] = '\0';
	char *end = strstr(c->head, "\r\n\r\n");
	if (!end && c->n_head == HEAD_MAX)
		die("an answer with too many header lines");
	if (!end)
		return;
	end += 4;
	unsigned status = (unsigned)strtoul(c->head + strcspn(c->head, " "), NULL, 10);
	size_t have = c->n_head - (size_t)(end - c->head);
	end[-1] = '\0';
	const char *length = strcasestr(c->head, "\r\nContent-Length:");
	if (!length && status != 204 && status != 304)
		die("an answer without Content-Length");
	c->left = length ? strtoull(length + 17, NULL, 10) : 0;
	l->wrong += status != l->expected;
	if (have > c->left)
		die("an answer longer than announced");
	l->bytes += c->left;
	c->left -= have;
	c->in_body = true;
}

static void receive(struct load *l, struct client *c)
{
	static uint8_t rest[1 << 18];
	void *to = c->in_body ? (void *)rest : c->head + c->n_head;
	size_t room = c->in_body ? sizeof(rest) : HEAD_MAX - c->n_head;
	ssize_t n = recv(c->fd, to, room, MSG_DONTWAIT);
	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0 || !c->busy)
		die("the server hung up");
	if (c->in_body) {
		c->left -= ux_min((uint64_t)n, c->left);
	} else {
		c->n_head += (size_t)n;
		read_head(l, c);
	}
	if (c->in_body && c->left == 0)
		answered(l, c);
}

static bool busy(const struct load *l)
{
	for (size_t i = 0; i < l->n_clients; i++)
		if (l->clients[i].busy)
			return true;
	return false;
}

static bool goes_on(const struct load *l)
{
	double t = now();
	if (t > l->end + DRAIN_SECONDS)
		die("no answer");
	return l->requested == 0 || busy(l) || (l->rate > 0 && may_ask(l, l->next));
}

static void begin(struct load *l)
{
	l->start = l->next = now();
	l->end = l->start + l->seconds;
	if (l->rate > 0)
		ask_due(l);
	for (size_t i = 0; l->rate <= 0 && i < l->n_clients && may_ask(l, l->start); i++)
		ask(l, &l->clients[i], now());
}

static void run(struct load *l)
{
	struct epoll_event events[64];
	begin(l);
	while (goes_on(l)) {
		int n = epoll_wait(l->epoll, events, ux_countof(events), 1000);
		if (n < 0 && errno != EINTR)
			die("epoll_wait");
		for (int i = 0; i < n; i++) {
			struct client *c = events[i].data.ptr;
			uint64_t ticks = 0;
			if (!c) {
				if (read(l->timer, &ticks, sizeof(ticks)) > 0)
					ask_due(l);
				continue;
			}
			if ((events[i].events & EPOLLOUT) != 0 && c->busy)
				send_more(l, c);
			if ((events[i].events & ~(uint32_t)EPOLLOUT) != 0)
				receive(l, c);
		}
	}
}

static int compare(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

static void report(struct load *l)
{
	double seconds = now() - l->start;
	size_t n = l->us.size;
	uint32_t *us = l->us.data;
	if (n == 0)
		die("no answer");
	qsort(us, n, sizeof(*us), compare);
	printf("requests=%zu wrong=%" PRIu64 " seconds=%.6f rate=%.1f bytes=%" PRIu64
	       " p50_us=%u p90_us=%u p99_us=%u most_us=%u\n",
	       n, l->wrong, seconds, (double)n / seconds, l->bytes, us[n / 2], us[n - 1 - n / 10],
	       us[n - 1 - n / 100], us[n - 1]);
}

static void set_up(struct load *l)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	struct epoll_event e = {.events = EPOLLIN};
	for (size_t i = 0; i < ux_max(l->n_bodies, (size_t)1); i++)
		make_text(l, l->bodies[i]);
	if (getaddrinfo(l->host, l->port, &hints, &l->address) != 0)
		die("the address");
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	l->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	l->clients = calloc(l->n_clients, sizeof(*l->clients));
	if (l->epoll < 0 || l->timer < 0 || !l->clients ||
	    epoll_ctl(l->epoll, EPOLL_CTL_ADD, l->timer, &e) != 0)
		die("epoll");
	for (size_t i = 0; i < l->n_clients; i++) {
		struct client *c = &l->clients[i];
		open_client(l, c);
		if (l->id_at == 0)
			continue;
		c->own = malloc(l->texts[0].size);
		if (!c->own)
			die("memory");
		memcpy(c->own, l->texts[0].data, l->texts[0].size);
	}
}

static void tear_down(struct load *l)
{
	for (size_t i = 0; i < l->n_clients; i++) {
		close(l->clients[i].fd);
		free(l->clients[i].own);
	}
	for (size_t i = 0; i < l->n_texts; i++)
		ux_out_deinit(&l->texts[i]);
	free(l->clients);
	freeaddrinfo(l->address);
	times_deinit(&l->us);
	ux_out_deinit(&l->lines);
}

static const char usage[] =
	"usage: load [--connections=N] [--seconds=S] [--requests=N] [--rate=N] [--expect=STATUS]\n"
	"            [--body=FILE]... [--header=LINE]... [--method=NAME] HOST PORT PATH\n";

static bool take_option(struct load *l, int option)
{
	switch (option) {
	case 'c':
		l->n_clients = strtoul(optarg, NULL, 10);
		return l->n_clients > 0 && l->n_clients <= CLIENTS_MAX;
	case 's':
		l->seconds = strtod(optarg, NULL);
		return l->seconds > 0;
	case 'n':
		l->max = strtoull(optarg, NULL, 10);
		return l->max > 0;
	case 'r':
		l->rate = strtod(optarg, NULL);
		return l->rate > 0;
	case 'e':
		l->expected = (unsigned)strtoul(optarg, NULL, 10);
		return true;
	case 'b':
		if (l->n_bodies == BODIES_MAX)
			return false;
		l->bodies[l->n_bodies++] = optarg;
		return true;
	case 'h':
		ux_out_fmt(&l->lines, "%s\r\n", optarg);
		return true;
	case 'm':
		l->method = optarg;
		return true;
	default:
		return false;
	}
}

static bool take_options(struct load *l, int argc, char **argv)
{
	static const struct option options[] = {
		{"connections", required_argument, NULL, 'c'},
		{"seconds", required_argument, NULL, 's'},
		{"requests", required_argument, NULL, 'n'},
		{"rate", required_argument, NULL, 'r'},
		{"expect", required_argument, NULL, 'e'},
		{"body", required_argument, NULL, 'b'},
		{"header", required_argument, NULL, 'h'},
		{"method", required_argument, NULL, 'm'},
		{NULL, 0, NULL, 0},
	};
	int option = 0;
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
		if (!take_option(l, option))
			return false;
	if (argc - optind != 3)
		return false;
	l->host = argv[optind];
	l->port = argv[optind + 1];
	l->path = argv[optind + 2];
	return true;
}

int main(int argc, char **argv)
{
	static struct load l = {.n_clients = 16,
				.seconds = 2,
				.max = UINT64_MAX,
				.expected = 200,
				.dice = UINT64_C(0x9e3779b97f4a7c15)};
	if (!take_options(&l, argc, argv)) {
		fputs(usage, stderr);
		return 2;
	}
	set_up(&l);
	run(&l);
	report(&l);
	tear_down(&l);
	return 0;
}
