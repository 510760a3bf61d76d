/* SPDX-License-Identifier: Apache-2.0 */
/* Seeds of requests to the server: each route of the table, and the bodies of routes that take
 * one. */
#include "make_corpus.h"

#include "auth.h"
#include "fuzz.h"
#include "module_cache.h"
#include "routes.h"
#include "wire.h"

enum {
	KEYED = 8, /* fuzz_http_target.c */
	GET = 0,
	HEAD = 3,
	POST = 4,
	PUT = 5,
	DELETE = 6,
	TARGET_MAX = 512,
};

#define ID "1b700ab56b01c2af7ddc6a5a5a5a5a5a5a5a5a5a"

/* Returns a value for a placeholder: an existing one, an empty one, or a strange one. */
static const char *value_of(const char *pattern, unsigned variant)
{
	static const char *const strange[] = {"%2e%2e%2f", "a/b/../c", ("gnu:" ID)};
	if (variant > 0)
		return strange[variant % ux_countof(strange)];
	return strncmp(pattern, "{uid}", 5) == 0 ? "@" : "go:x";
}

static void fill_in(const char *pattern, unsigned variant, struct ux_out *out)
{
	while (*pattern) {
		if (*pattern != '{') {
			ux_out_u8(out, (uint8_t)*pattern++);
			continue;
		}
		ux_out_cstr(out, value_of(pattern, variant));
		pattern = strchr(pattern, '}') + 1;
	}
}

static uint8_t method_byte(enum ux_method method)
{
	static const uint8_t bytes[UX_METHOD_COUNT] = {[UX_METHOD_GET] = GET,
						       [UX_METHOD_HEAD] = HEAD,
						       [UX_METHOD_POST] = POST,
						       [UX_METHOD_PUT] = PUT,
						       [UX_METHOD_DELETE] = DELETE};
	return bytes[method];
}

static void save_out(const char *corpus, const char *name, struct ux_out *out)
{
	fuzz_truth(!out->failed);
	save_seed(corpus, name, ux_out_bytes(out));
	ux_out_deinit(out);
}

/* "get_v1_modules_id_1" */
static void name_of(const struct ux_route *r, unsigned variant, char name[TARGET_MAX])
{
	int n = snprintf(name, TARGET_MAX, "%s%s_%u", ux_method_name(r->method), r->pattern,
			 variant);
	for (int i = 0; i < n; i++) {
		char c = name[i];
		if (c >= 'A' && c <= 'Z')
			name[i] = (char)(c - 'A' + 'a');
		else if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9'))
			name[i] = '_';
	}
}

static void make_target_seeds(void)
{
	static const char *const queries[] = {
		"", "?addr=0x401000,1&id=go%3Ax&limit=2&after=1&q=l%2A&return_addresses=true",
		"?demangle=none&&=&a=%00"};
	static const char *const fields[] = {
		"",
		"Range: bytes=0-3,-1\nIf-None-Match: *\nAccept: text/html\nHost: evil.example\n",
		"Content-Range: bytes 0-1/*\nContent-Length: 99\nExpect: 100-continue\n"};
	for (size_t i = 0; i < ux_server_route_count; i++) {
		for (unsigned variant = 0; variant < ux_countof(queries); variant++) {
			char name[TARGET_MAX];
			struct ux_out out = {0};
			const struct ux_route *r = &ux_server_routes[i];
			ux_out_u8(&out, (uint8_t)(method_byte(r->method) | KEYED));
			fill_in(r->pattern, variant, &out);
			ux_out_cstr(&out, queries[variant]);
			ux_out_u8(&out, '\n');
			ux_out_cstr(&out, fields[variant]);
			name_of(r, variant, name);
			save_out("http_target", name, &out);
		}
	}
}

/* The bodies that known clients send; each is tried on each route. */
static const struct {
	const char *name;
	const char *text;
} bodies[] = {
	{"empty", "{}"},
	{"query", "{\"ids\":[\"go:x\",\"gnu:00\",\"?\"],\"force\":true}"},
	{"query_modules",
	 "{\"modules\":[{\"ids\":[\"go:x\"],\"quality\":\"lines\",\"kind\":\"gsym\"}]}"},
	{"announce",
	 "{\"ids\":[\"go:y\"],\"size\":5,\"sha256\":\"" ID ID "\",\"kind\":\"gsym\",\"quality\":"
	 "\"lines\",\"description\":\"d\",\"file\":\"f\",\"force\":false}"},
	{"symbolize",
	 "{\"modules\":[{\"id\":\"go:x\",\"addresses\":[\"0x401000\",4198407,\"5\",-1,1e3,null]}],"
	 "\"return_addresses\":true,\"demangle\":\"short\",\"timeout_ms\":10}"},
	{"symbolicate",
	 "{\"jobs\":[{\"memoryMap\":[[\"libx.so\",\"1B700AB56B01C2AF7DDC6A5A5A5A5A5A0\"]],\"stacks\":"
	 "[[[0,4096],[-1,1],[0,-5]],[]]}]}"},
	{"symbolicate_one", "{\"memoryMap\":[[\"x\",\"00\"]],\"stacks\":[[[0,1]]],\"version\":5}"},
	{"source",
	 "{\"debugName\":\"libx.so\",\"debugId\":\"1B700AB56B01C2AF7DDC6A5A5A5A5A5A0\",\"name\":\"l\","
	 "\"codeId\":\"" ID "\",\"moduleOffset\":\"0x1000\",\"file\":\"/a/b.c\"}"},
	{"asm",
	 "{\"debugName\":\"x\",\"debugId\":\"00\",\"name\":\"x\",\"codeId\":\"00\",\"startAddress\":"
	 "\"0x1000\",\"size\":\"0x10\",\"continueUntilFunctionEnd\":true}"},
	{"pin", "{\"label\":\"release 1\",\"until\":5,\"pinned\":true}"},
	{"pprof", "0x401000+0x401001+zz+5"},
	{"form", "id=go%3Ax&text=0x1000%0A%23+pc+10+%2Fa.so&ra=1&token=x&next=%2F%2Fevil&addr=0x1"},
	{"deep", "{\"modules\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["},
	{"utf8", "{\"ids\":[\"\\ud800\",\"\\u0000\",\"\xc3\xa4\xff\"]}"},
};

/* Writes a body in the compact form, with both ways of writing addresses. */
static void put_compact(struct ux_out *out)
{
	static const struct ux_wire_options options = {.return_addresses = true, .timeout_ms = 5};
	static const uint64_t near[] = {0x401000, 0x401007, 0x401001}, far[] = {1, UINT64_MAX, 2};
	struct ux_id id;
	fuzz_truth(ux_id_parse(UX_STR("go:x"), &id, NULL) == UX_OK);
	ux_wire_question_begin(out, &options);
	ux_wire_question_add(out, &id, near, ux_countof(near));
	ux_wire_question_add(out, &id, far, ux_countof(far));
	ux_wire_question_end(out);
}

static void make_body_seed(unsigned route, const char *body, uint8_t type, const char *text)
{
	char name[TARGET_MAX];
	struct ux_out out = {0};
	ux_out_u8(&out, (uint8_t)route);
	ux_out_u8(&out, type);
	if (text)
		ux_out_cstr(&out, text);
	else
		put_compact(&out);
	snprintf(name, sizeof(name), "%02u_%s", route, body);
	save_out("http_body", name, &out);
}

static void make_body_seeds(void)
{
	unsigned routes = 0;
	for (size_t i = 0; i < ux_server_route_count; i++)
		routes += ux_server_routes[i].method == UX_METHOD_POST ||
			  ux_server_routes[i].method == UX_METHOD_PUT;
	for (unsigned r = 0; r < routes; r++) {
		for (size_t b = 0; b < ux_countof(bodies); b++) {
			bool form = strcmp(bodies[b].name, "form") == 0;
			make_body_seed(r, bodies[b].name, form ? 2 : 0, bodies[b].text);
		}
		make_body_seed(r, "compact", 4, NULL);
	}
}

static void make_forwarded_corpus(void)
{
	save_seed("forwarded", "both",
		  UX_STR("10.0.0.1\n10.0.0.0/8\n@198.51.100.1, 192.0.2.1:80, 10.2.3.4\n"
			 "Afor=192.0.2.1;proto=https, for=\"[2001:db8::1]:4711\"\nBhttp, https\n"));
	save_seed(
		"forwarded", "hidden",
		UX_STR("::ffff:10.0.0.1\n::/0\n@unknown\nAFor=_x; by=y ;proto=http,for=\"\nC1.1 x\n"));
	save_seed("forwarded", "socket", UX_STR("?\nunix\n@,,1.2.3.4,\n"));
}

void make_server_corpus(void)
{
	make_forwarded_corpus();
	make_target_seeds();
	make_body_seeds();
}
