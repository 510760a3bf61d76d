/* SPDX-License-Identifier: Apache-2.0 */
/* The connections of a server, and closing of slow ones. */
#include "http_server.h"

#include "clock.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>

enum {
	CROWDED_MS = 2000, /* a client with a request to send sends it faster than this */
	CHECK_MS = 1000,
	/*
	 * bytes of an address that identify a host: the network prefix for IPv6, since one host
	 * owns it all
	 */
	KEY_SIZE = 8,
};

struct ux_connection {
	struct ux_connection *next;
	struct ux_connection **back; /* the pointer to this element */
	int fd;
	uint8_t from[KEY_SIZE];
	/* Written by the thread that serves the connection, read by the timers' thread. */
	/*
	 * stored last with release, loaded first with acquire, so the fields below are at least as
	 * recent
	 */
	_Atomic int phase;
	_Atomic int64_t since_ms;
	_Atomic uint64_t moved; /* bytes of the body received */
	/* Used only by the timers' thread. */
	bool cut;
	int64_t answer_ms;      /* since_ms of the answer that was checked last... */
	uint64_t answer_before; /* ...and the bytes acknowledged before it */
};

struct ux_connections {
	struct ux_http_limits limits;
	struct ux_timers *timers;
	struct ux_timer timer; /* time of the next check of all connections */
	/* guards the rest; also keeps sockets from being closed during a check */
	pthread_mutex_t lock;
	size_t n;
	struct ux_connection *first;
	_Atomic uint64_t n_cut; /* for statistics: no memory order needed */
};

bool ux_connection_is_slow(const struct ux_http_limits *limits, enum ux_connection_phase phase,
			   int64_t elapsed_ms, uint64_t moved, bool crowded)
{
	uint64_t start_ms = (uint64_t)limits->idle_seconds * 1000;
	uint64_t allowed_ms = 0;
	switch (phase) {
	case UX_CONNECTION_WAITING:
		allowed_ms = crowded ? ux_min(start_ms, (uint64_t)CROWDED_MS) : start_ms;
		break;
	case UX_CONNECTION_WORK:
		return false;
	case UX_CONNECTION_BODY:
	case UX_CONNECTION_ANSWER:
		allowed_ms = start_ms + moved / limits->rate_bytes * 1000;
		break;
	}
	return elapsed_ms > 0 && (uint64_t)elapsed_ms > allowed_ms;
}

/* Bytes that the peer has acknowledged since it connected. */
static uint64_t connection_acked(int fd)
{
	struct tcp_info info = {0};
	socklen_t size = sizeof(info);
	return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 ? info.tcpi_bytes_acked : 0;
}

/*
 * Bytes of the answer that were acknowledged since its first check, which comes at most a second
 * after it began.
 */
static uint64_t connection_answered(struct ux_connection *one, int64_t since)
{
	uint64_t all = connection_acked(one->fd);
	if (one->answer_ms != since)
		one->answer_before = all;
	one->answer_ms = since;
	return ux_max(all, one->answer_before) - one->answer_before;
}

static bool connection_is_slow(const struct ux_connections *c, struct ux_connection *one,
			       int64_t now, bool crowded)
{
	enum ux_connection_phase phase =
		(enum ux_connection_phase)atomic_load_explicit(&one->phase, memory_order_acquire);
	int64_t since = atomic_load_explicit(&one->since_ms, memory_order_relaxed);
	uint64_t moved = phase == UX_CONNECTION_ANSWER
				 ? connection_answered(one, since)
				 : atomic_load_explicit(&one->moved, memory_order_relaxed);
	return ux_connection_is_slow(&c->limits, phase, now - since, moved, crowded);
}

/* Called with the lock held. */
static void connections_cut_slow(struct ux_connections *c)
{
	int64_t now = ux_clock_coarse_ms();
	bool crowded = c->n > c->limits.connections / 4 * 3;
	for (struct ux_connection *one = c->first; one; one = one->next) {
		if (one->cut || !connection_is_slow(c, one, now, crowded))
			continue;
		one->cut = true;
		atomic_fetch_add_explicit(&c->n_cut, 1, memory_order_relaxed);
		shutdown(one->fd, SHUT_RDWR);
	}
}

static void connections_on_timer(struct ux_timer *timer)
{
	struct ux_connections *c = ux_container_of(timer, struct ux_connections, timer);
	pthread_mutex_lock(&c->lock);
	connections_cut_slow(c);
	pthread_mutex_unlock(&c->lock);
	ux_timer_start(c->timers, &c->timer, CHECK_MS);
}

enum ux_code ux_connections_open(struct ux_connections **ret, const struct ux_http_limits *limits,
				 struct ux_timers *timers, struct ux_error *err)
{
	struct ux_connections *c = calloc(1, sizeof(*c));
	if (!c)
		return ux_error_nomem(err);
	c->limits = *limits;
	c->timers = timers;
	c->timer.fire = connections_on_timer;
	pthread_mutex_init(&c->lock, NULL);
	ux_timer_start(timers, &c->timer, CHECK_MS);
	*ret = c;
	return UX_OK;
}

void ux_connections_close(struct ux_connections *c)
{
	if (!c)
		return;
	ux_timer_stop(c->timers, &c->timer);
	assert(!c->first);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

/* The key that distinguishes hosts: the IPv4 address, or the IPv6 network. */
static void connection_host(const struct ux_address *from, uint8_t key[KEY_SIZE])
{
	static const uint8_t v4[KEY_SIZE + 4] = {[10] = 0xff, [11] = 0xff};
	bool is_v4 = memcmp(from->bytes, v4, sizeof(v4)) == 0;
	memset(key, 0, KEY_SIZE);
	memcpy(key, from->bytes + (is_v4 ? sizeof(v4) : 0), is_v4 ? 4 : KEY_SIZE);
}

bool ux_connections_allow(struct ux_connections *c, const struct ux_address *from)
{
	uint8_t key[KEY_SIZE];
	size_t n = 0;
	if (!from->known || ux_address_is_loopback(from))
		return true;
	connection_host(from, key);
	pthread_mutex_lock(&c->lock);
	for (const struct ux_connection *one = c->first; one; one = one->next)
		n += memcmp(one->from, key, KEY_SIZE) == 0;
	pthread_mutex_unlock(&c->lock);
	return n < c->limits.address_connections;
}

struct ux_connection *ux_connections_add(struct ux_connections *c, int fd,
					 const struct ux_address *from)
{
	struct ux_connection *one = calloc(1, sizeof(*one));
	if (!one)
		return NULL;
	one->fd = fd;
	connection_host(from, one->from);
	ux_connection_enter(one, UX_CONNECTION_WAITING);
	pthread_mutex_lock(&c->lock);
	one->next = c->first;
	one->back = &c->first;
	if (one->next)
		one->next->back = &one->next;
	c->first = one;
	c->n++;
	pthread_mutex_unlock(&c->lock);
	return one;
}

void ux_connections_remove(struct ux_connections *c, struct ux_connection *one)
{
	if (!one)
		return;
	pthread_mutex_lock(&c->lock);
	*one->back = one->next;
	if (one->next)
		one->next->back = one->back;
	c->n--;
	pthread_mutex_unlock(&c->lock);
	free(one);
}

void ux_connection_enter(struct ux_connection *one, enum ux_connection_phase phase)
{
	if (!one)
		return;
	atomic_store_explicit(&one->since_ms, ux_clock_coarse_ms(), memory_order_relaxed);
	atomic_store_explicit(&one->moved, 0, memory_order_relaxed);
	atomic_store_explicit(&one->phase, (int)phase, memory_order_release);
}

void ux_connection_moved(struct ux_connection *one, size_t bytes)
{
	if (one)
		atomic_fetch_add_explicit(&one->moved, bytes, memory_order_relaxed);
}

uint64_t ux_connections_cut(const struct ux_connections *c)
{
	return atomic_load_explicit(&c->n_cut, memory_order_relaxed);
}
