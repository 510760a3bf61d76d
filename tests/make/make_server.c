/* SPDX-License-Identifier: Apache-2.0 */
/* A server without sockets. */
#include "make_server.h"

#include "misses.h"

#include "file.h"
#include "profile_keeper.h"

#include <unistd.h>

static void must(enum ux_code code, const struct ux_error *err)
{
	if (code == UX_OK)
		return;
	fprintf(stderr, "make_server: %s\n", err->text);
	abort();
}

void make_server_open(struct make_server *s, const char *parent, bool open_reading)
{
	struct ux_error err = UX_ERROR_INIT;
	*s = (struct make_server){.server = {.open_reading = open_reading}};
	snprintf(s->dir, sizeof(s->dir), "%s/unhex-server-XXXXXX", parent ? parent : "/tmp");
	if (!mkdtemp(s->dir))
		abort();
	must(ux_store_open(&s->store, s->dir, &err), &err);
	s->server.store = &s->store;
	must(ux_module_cache_create(&s->server.cache, &s->store, 4, &err), &err);
	struct ux_http_limits small = {.body_bytes = 8 << 20, .upload_bytes = 1 << 20};
	s->app = ux_server_app(&s->server, small);
	s->app.log = NULL;
	must(ux_gate_create(&s->server.gate, NULL, &err), &err);
	s->server.misses = ux_misses_create();
	must(ux_profile_keeper_create(&s->server.profiles, &s->server, &err), &err);
	ux_profile_keeper_configure(s->server.profiles, UINT64_C(7) * 24 * 3600 * 1000, 0, 0);
	make_server_key(s, UX_SCOPE_SERVER, NULL, s->admin);
}

void make_server_close(struct make_server *s)
{
	char cmd[96];
	ux_gate_destroy(s->server.gate);
	ux_misses_destroy(s->server.misses);
	ux_profile_keeper_destroy(s->server.profiles);
	ux_module_cache_destroy(s->server.cache);
	ux_store_close(&s->store);
	snprintf(cmd, sizeof(cmd), "rm -rf %s", s->dir);
	if (system(cmd) != 0)
		abort();
}

void make_server_key(struct make_server *s, unsigned scopes, const char *ns,
		     char token[UX_TOKEN_SIZE])
{
	struct ux_error err = UX_ERROR_INIT;
	struct ux_key key = {.scopes = scopes, .ns = ns};
	const struct ux_who who = {.key_id = "", .from = "test"};
	must(ux_key_create(s->store.index, &key, &who, ux_store_key_now(&s->store), token, &err),
	     &err);
}

static void keep_field(const struct ux_response *res, const char *name, char *text, size_t size)
{
	for (size_t i = 0; i < res->n_fields; i++)
		if (ux_bytes_eq(res->fields[i].name, ux_bytes_cstr(name)))
			snprintf(text, size, "%s", (const char *)res->fields[i].value.data);
}

static void keep_fields(const struct ux_response *res, char *text, size_t size)
{
	size_t at = 0;
	for (size_t i = 0; i < res->n_fields && at < size; i++)
		at += (size_t)snprintf(text + at, size - at, "%s: %s\n",
				       (const char *)res->fields[i].name.data,
				       (const char *)res->fields[i].value.data);
}

static void keep_body(const struct ux_response *res, struct ux_out *ret)
{
	ux_out_put(ret, res->body.data, res->body.size);
	uint8_t *room = res->fd >= 0 ? ux_out_room(ret, res->fd_size) : NULL;
	if (room && pread(res->fd, room, res->fd_size, (off_t)res->fd_off) != (ssize_t)res->fd_size)
		abort();
}

struct make_answer make_server_ask(struct make_server *s, const struct make_ask *ask)
{
	struct make_answer a = {0};
	struct ux_exchange x;
	char line[UX_TOKEN_SIZE + 64];
	ux_exchange_init(&x, &s->app, ux_bytes_cstr(ask->method), ux_bytes_cstr(ask->target));
	ux_exchange_peer(&x, ask->peer);
	if (ask->token) {
		snprintf(line, sizeof(line), "Bearer %s", ask->token);
		ux_exchange_header(&x, UX_STR("Authorization"), ux_bytes_cstr(line));
	}
	if (ask->host)
		ux_exchange_header(&x, UX_STR("Host"), ux_bytes_cstr(ask->host));
	for (const char *const *h = ask->headers; h && *h; h++) {
		const char *colon = strchr(*h, ':');
		ux_exchange_header(&x, ux_bytes(*h, (size_t)(colon - *h)),
				   ux_bytes_cstr(colon + 2));
	}
	if (ask->range)
		ux_exchange_header(&x, UX_STR("Content-Range"), ux_bytes_cstr(ask->range));
	if (ask->accept)
		ux_exchange_header(&x, UX_STR("Accept"), ux_bytes_cstr(ask->accept));
	if (ask->type)
		ux_exchange_header(&x, UX_STR("Content-Type"), ux_bytes_cstr(ask->type));
	for (size_t i = 0; i < ask->n_fields; i++)
		ux_exchange_header(&x, ask->fields[i].name, ask->fields[i].value);
	ux_exchange_begin(&x);
	size_t half = ask->body.size / 2;
	if (half > 0)
		ux_exchange_data(&x, ux_bytes(ask->body.data, half));
	if (ask->body.size > 0)
		ux_exchange_data(&x, ux_bytes(ask->body.data + half, ask->body.size - half));
	ux_exchange_finish(&x);
	a.status = x.res.status;
	a.wait_ms = x.res.wait_ms;
	a.reset = x.res.reset;
	a.group = x.req.group;
	a.client = x.req.client;
	keep_fields(&x.res, a.fields, sizeof(a.fields));
	keep_field(&x.res, "Retry-After", a.retry, sizeof(a.retry));
	keep_field(&x.res, "Access-Control-Allow-Origin", a.origin, sizeof(a.origin));
	keep_body(&x.res, &a.body);
	snprintf(a.type, sizeof(a.type), "%s", x.res.type ? x.res.type : "");
	keep_field(&x.res, "Location", a.location, sizeof(a.location));
	keep_field(&x.res, "Upload-Offset", a.offset, sizeof(a.offset));
	keep_field(&x.res, "Allow", a.allow, sizeof(a.allow));
	if (a.status < 200 || a.status > 599 || (a.body.size > 0 && !x.res.type))
		abort();
	ux_exchange_deinit(&x, true);
	return a;
}
