/* SPDX-License-Identifier: Apache-2.0 */
/* The connections of a server; closes slow ones. */
#include "http_server.h"

#include "clock.h"

#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

enum {
	CROWDED_MS = 2000, /* ms; a client with a request to send sends it faster than this */
	CHECK_MS = 1000,
	BURDEN_MS = 4000,       /* ms; the window while connections or memory are short */
	CROWDED_RATE = 4 << 10, /* bytes a second while nearly all connections are in use */
	/* bytes a second for connections that hold memory while it is short */
	SHORT_RATE = 32 << 10,
	SHORT_SHARE = 4, /* memory is short when 1/4 of it is used */
	/*
	 * bytes of an address that identify a host: for IPv6 the network prefix, because one host
	 * has all of it
	 */
	KEY_SIZE = 8,
	EXPECTED_MS = 10000, /* ms; a turn of the thread that adds an expected one is shorter */
};

/* Bytes transferred since a time. */
struct window {
	int64_t start_ms;
	uint64_t before; /* bytes transferred before the start */
};

struct ux_connection {
	struct ux_connection *next;
	struct ux_connection **back; /* the pointer to this element */
	int fd;
	bool expected; /* accepted, and not added yet; its socket may be closed already */
	uint8_t from[KEY_SIZE];
	/* Written by the thread that serves the connection, read by the timers' thread. */
	/*
	 * stored last with release, loaded first with acquire, so the fields below are at least as
	 * recent
	 */
	_Atomic int phase;
	_Atomic int64_t since_ms;
	_Atomic uint64_t moved;  /* bytes of the body received */
	_Atomic size_t held;     /* bytes of the memory for requests */
	_Atomic int64_t busy_ms; /* time at which a thread began to work on it; 0: no thread does */
	/* Used only by the timers' thread. */
	bool cut;
	int64_t checked_since_ms; /* since_ms at the last check */
	/* measure the rate: over the whole time, and while memory is short */
	struct window all, last;
};

struct ux_connections {
	struct ux_http_limits limits;
	const struct ux_http_memory *memory; /* NULL: not counted */
	struct ux_timers *timers;
	struct ux_timer timer; /* timer of the next check of all connections */
	/* guards the rest; also keeps sockets from being closed during a check */
	pthread_mutex_t lock;
	size_t n;
	struct ux_connection *first;
	_Atomic int64_t checked_ms; /* time of the last check: no memory order needed */
	_Atomic uint64_t n_cut;     /* for statistics: no memory order needed */
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

bool ux_connection_is_a_burden(enum ux_connection_phase phase, int64_t elapsed_ms, uint64_t moved,
			       unsigned rate)
{
	return (phase == UX_CONNECTION_BODY || phase == UX_CONNECTION_ANSWER) &&
	       elapsed_ms >= BURDEN_MS && moved < (uint64_t)elapsed_ms * rate / 1000;
}

/* Gets the bytes that the peer has acknowledged since it connected; false: not a TCP socket. */
static bool connection_acked(int fd, uint64_t *ret)
{
	struct tcp_info info = {0};
	socklen_t size = sizeof(info);
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0)
		return false;
	*ret = info.tcpi_bytes_acked;
	return true;
}

/*
 * Returns the bytes in the queue of a socket: SIOCINQ received bytes, SIOCOUTQ bytes that the peer
 * has not acknowledged.
 */
static uint64_t connection_queue(int fd, unsigned long which)
{
	int n = 0;
	return ioctl(fd, which, &n) == 0 && n > 0 ? (uint64_t)n : 0;
}

/*
 * Returns the bytes of the body or the answer transferred so far, by any counter that only grows.
 * *ret_waits: the server has not read everything that the client sent, or has nothing more to send;
 * or the system does not count the bytes that the peer receives, as for Unix sockets. Their peer is
 * a proxy on this machine, which the library closes if it takes nothing at all for idle_seconds.
 */
static uint64_t connection_progress(struct ux_connection *one, enum ux_connection_phase phase,
				    bool *ret_waits)
{
	uint64_t acked = 0;
	if (phase == UX_CONNECTION_ANSWER) {
		*ret_waits = !connection_acked(one->fd, &acked) ||
			     connection_queue(one->fd, SIOCOUTQ) == 0;
		return acked;
	}
	*ret_waits = connection_queue(one->fd, SIOCINQ) > 0;
	return atomic_load_explicit(&one->moved, memory_order_relaxed);
}

/* Updates a window: if the client is not too slow and the window has ended, starts the next one. */
static bool window_is_slow(struct window *w, bool slow, int64_t length_ms, int64_t now,
			   uint64_t moved)
{
	if (!slow && now - w->start_ms > length_ms)
		*w = (struct window){now, moved};
	return slow;
}

/*
 * Tests for a client that does not send its headers, or a body or an answer that does not progress.
 */
static bool connection_is_slow(const struct ux_connections *c, struct ux_connection *one,
			       int64_t now, bool crowded, bool is_short)
{
	enum ux_connection_phase phase =
		(enum ux_connection_phase)atomic_load_explicit(&one->phase, memory_order_acquire);
	int64_t since = atomic_load_explicit(&one->since_ms, memory_order_relaxed);
	bool waits = false;
	if (phase == UX_CONNECTION_WAITING)
		return ux_connection_is_slow(&c->limits, phase, now - since, 0, crowded);
	if (phase == UX_CONNECTION_WORK)
		return false;
	uint64_t moved = connection_progress(one, phase, &waits);
	if (one->checked_since_ms != since || waits)
		one->all = one->last = (struct window){now, moved};
	one->checked_since_ms = since;
	bool holds = atomic_load_explicit(&one->held, memory_order_relaxed) > 0;
	unsigned rate = is_short && holds ? SHORT_RATE : crowded ? CROWDED_RATE : 0;
	bool burden = ux_connection_is_a_burden(phase, now - one->last.start_ms,
						moved - one->last.before, rate);
	bool slow = ux_connection_is_slow(&c->limits, phase, now - one->all.start_ms,
					  moved - one->all.before, crowded);
	burden = window_is_slow(&one->last, burden, BURDEN_MS, now, moved);
	return window_is_slow(&one->all, slow, (int64_t)c->limits.idle_seconds * 1000, now,
			      moved) ||
	       burden;
}

static bool connections_memory_is_short(const struct ux_connections *c)
{
	const struct ux_http_memory *m = c->memory;
	return m && atomic_load_explicit(&m->used, memory_order_relaxed) >
			    atomic_load_explicit(&m->max, memory_order_relaxed) / SHORT_SHARE;
}

static void connection_unlink(struct ux_connections *c, struct ux_connection *one)
{
	*one->back = one->next;
	if (one->next)
		one->next->back = one->back;
	assert(c->n > 0);
	c->n--;
}

/* Shuts down slow connections. Called with the lock held. */
static void connections_cut_slow(struct ux_connections *c)
{
	int64_t now = ux_clock_coarse_ms();
	bool crowded = c->n > c->limits.connections / 4 * 3;
	bool is_short = connections_memory_is_short(c);
	for (struct ux_connection *one = c->first, *next = NULL; one; one = next) {
		next = one->next;
		if (one->expected) {
			if (now - atomic_load_explicit(&one->since_ms, memory_order_relaxed) >
			    EXPECTED_MS) {
				connection_unlink(c, one);
				free(one);
			}
			continue;
		}
		if (one->cut || !connection_is_slow(c, one, now, crowded, is_short))
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
	atomic_store_explicit(&c->checked_ms, ux_clock_ms(), memory_order_relaxed);
	ux_timer_start(c->timers, &c->timer, CHECK_MS);
}

enum ux_code ux_connections_open(struct ux_connections **ret, const struct ux_http_limits *limits,
				 const struct ux_http_memory *memory, struct ux_timers *timers,
				 struct ux_error *err)
{
	assert(limits->rate_bytes > 0);
	struct ux_connections *c = calloc(1, sizeof(*c));
	if (!c)
		return ux_error_nomem(err);
	c->limits = *limits;
	c->memory = memory;
	c->timers = timers;
	c->checked_ms = ux_clock_ms();
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
	for (struct ux_connection *one = c->first, *next = NULL; one; one = next) {
		next = one->next;
		assert(one->expected); /* by threads that have ended before they added it */
		free(one);
	}
	pthread_mutex_destroy(&c->lock);
	free(c);
}

/* Makes the key of a host: the IPv4 address, or the IPv6 network. */
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

bool ux_connections_are_full(struct ux_connections *c)
{
	pthread_mutex_lock(&c->lock);
	bool full = c->n >= c->limits.connections;
	pthread_mutex_unlock(&c->lock);
	return full;
}

/* Finds the expected connection of this socket, or makes one. Called with the lock held. */
static struct ux_connection *connections_of_fd(struct ux_connections *c, int fd,
					       const struct ux_address *from)
{
	struct ux_connection *one = c->first;
	while (one && !(one->expected && one->fd == fd))
		one = one->next;
	if (!one) {
		one = calloc(1, sizeof(*one));
		if (!one)
			return NULL;
		one->fd = fd;
		one->next = c->first;
		one->back = &c->first;
		if (one->next)
			one->next->back = &one->next;
		c->first = one;
		c->n++;
	}
	connection_host(from, one->from);
	ux_connection_enter(one, UX_CONNECTION_WAITING);
	return one;
}

void ux_connections_expect(struct ux_connections *c, int fd, const struct ux_address *from)
{
	pthread_mutex_lock(&c->lock);
	struct ux_connection *one = connections_of_fd(c, fd, from);
	if (one)
		one->expected = true;
	pthread_mutex_unlock(&c->lock);
}

struct ux_connection *ux_connections_add(struct ux_connections *c, int fd,
					 const struct ux_address *from)
{
	pthread_mutex_lock(&c->lock);
	struct ux_connection *one = connections_of_fd(c, fd, from);
	if (one)
		one->expected = false;
	pthread_mutex_unlock(&c->lock);
	return one;
}

void ux_connections_remove(struct ux_connections *c, struct ux_connection *one)
{
	if (!one)
		return;
	pthread_mutex_lock(&c->lock);
	connection_unlink(c, one);
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

void ux_connection_busy(struct ux_connection *one, bool busy)
{
	if (one)
		atomic_store_explicit(&one->busy_ms, busy ? ux_clock_coarse_ms() : 0,
				      memory_order_relaxed);
}

/*
 * Returns 0 while the lock is taken. If that lasts, the checks fail to happen, which is noticed
 * too.
 */
int64_t ux_connections_busy_ms(struct ux_connections *c)
{
	int64_t now = ux_clock_coarse_ms(), longest = 0;
	if (pthread_mutex_trylock(&c->lock) != 0)
		return 0;
	for (struct ux_connection *one = c->first; one; one = one->next) {
		int64_t since = atomic_load_explicit(&one->busy_ms, memory_order_relaxed);
		if (since > 0)
			longest = ux_max(longest, now - since);
	}
	pthread_mutex_unlock(&c->lock);
	return longest;
}

int64_t ux_connections_unchecked_ms(const struct ux_connections *c)
{
	return ux_clock_ms() - atomic_load_explicit(&c->checked_ms, memory_order_relaxed);
}

void ux_connection_holds(struct ux_connection *one, size_t bytes)
{
	if (one)
		atomic_store_explicit(&one->held, bytes, memory_order_relaxed);
}

uint64_t ux_connections_cut(const struct ux_connections *c)
{
	return atomic_load_explicit(&c->n_cut, memory_order_relaxed);
}
