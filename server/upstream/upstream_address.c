/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Warns at the start about upstreams with a private address but without the option "private": each
 * request to them would be refused.
 */
#include "upstream_set.h"

#include "address.h"
#include "event_log.h"

#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>

/* Returns the host of a URL without its port; an IPv6 address without its brackets. */
static struct ux_bytes upstream_host(const char *url)
{
	const char *host = strstr(url, "://");
	host = host ? host + 3 : url;
	if (*host == '[')
		return ux_bytes(host + 1, strcspn(host + 1, "]/"));
	return ux_bytes(host, strcspn(host, ":/"));
}

/* Tests whether the upstream may have only public addresses. A folder has no address. */
static bool upstream_is_public(const struct ux_upstream *up)
{
	return !up->own_network && up->url[0] != '/';
}

bool ux_upstream_lacks_private(const struct ux_upstream *up)
{
	struct ux_address a;
	struct sockaddr_in6 in = {.sin6_family = AF_INET6};
	if (!upstream_is_public(up) || !ux_address_parse(upstream_host(up->url), &a))
		return false;
	memcpy(in.sin6_addr.s6_addr, a.bytes, sizeof(a.bytes));
	return ux_address_kind((const struct sockaddr *)&in, sizeof(in)) == UX_ADDRESS_PRIVATE;
}

/* Tests whether all addresses of a name are refused, and one of them is private. */
static bool upstream_resolves_to_private(const struct ux_upstream *up)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	struct addrinfo *list = NULL;
	char name[sizeof(up->url)];
	bool private = false, public = false;
	struct ux_bytes host = upstream_host(up->url);
	(void)snprintf(name, sizeof(name), "%.*s", (int)host.size, (const char *)host.data);
	if (getaddrinfo(name, NULL, &hints, &list) != 0)
		return false; /* the first request reports it */
	for (const struct addrinfo *a = list; a; a = a->ai_next) {
		enum ux_address_kind kind = ux_address_kind(a->ai_addr, a->ai_addrlen);
		private |= kind == UX_ADDRESS_PRIVATE;
		public |= kind == UX_ADDRESS_PUBLIC;
	}
	freeaddrinfo(list);
	return private && !public;
}

static void upstream_warn(const struct ux_upstream *up)
{
	char url[sizeof(up->url) + 16];
	ux_log_line("warning", "upstream",
		    "upstream=%s url=%s refused=yes reason=\"its address is not public\" "
		    "advice=\"" UX_UPSTREAM_PRIVATE_ADVICE "\"",
		    up->name, ux_log_quote(ux_bytes_cstr(up->url), url, sizeof(url)));
}

/* Upstreams with names that a thread resolves. The thread owns them. */
struct upstream_names {
	size_t n;
	struct ux_upstream ups[];
};

static void *upstream_resolve_names(void *ctx)
{
	ux_cleanup(ux_free_ptr) struct upstream_names *names = ctx;
	for (size_t i = 0; i < names->n; i++)
		if (upstream_resolves_to_private(&names->ups[i]))
			upstream_warn(&names->ups[i]);
	return NULL;
}

/*
 * Resolves the names in a thread, because a name server may take long: the start does not wait for
 * it.
 */
static void upstream_start_names(struct upstream_names *names)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, upstream_resolve_names, names) == 0)
		(void)pthread_detach(thread);
	else
		free(names);
}

void ux_upstream_set_warn(const struct ux_upstream *ups, size_t n)
{
	struct ux_address a;
	struct upstream_names *names = calloc(1, sizeof(*names) + n * sizeof(*ups));
	for (size_t i = 0; i < n; i++) {
		if (ux_upstream_lacks_private(&ups[i]))
			upstream_warn(&ups[i]);
		else if (names && upstream_is_public(&ups[i]) &&
			 !ux_address_parse(upstream_host(ups[i].url), &a)) {
			names->ups[names->n] = ups[i];
			names->ups[names->n++].token[0] = '\0';
		}
	}
	if (names && names->n > 0)
		upstream_start_names(names);
	else
		free(names);
}
