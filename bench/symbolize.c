/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbolize json|compact|otlp|named GSYM ADDRESSES BATCH [ROUNDS]: the server's handlers without a
 * socket. ADDRESSES is a file of 64-bit numbers. Prints the processor's time for an address: when
 * all are new to the server, including the filling of its frame cache; for the last fifth of these,
 * when the frame cache is filled, if there is room for it; and the best of some rounds after it has
 * seen them (ROUNDS; 0: none, for a profile of new ones). Caches have the memory that they have in
 * a server with default settings. The hash of the first answers tells whether two builds answer the
 * same. named: the same messages as for otlp, but the locations have lines already and pass
 * unchanged. For both, the floor is the cost of only reading the locations of the message, reading
 * one cache line for each from a table of all addresses, and copying the fields of the answer's
 * dictionary. It also prints the numbers of functions and strings in the answers.
 */
#include "file.h"
#include "frame_filler.h"
#include "gsym_reader.h"
#include "hash.h"
#include "lookup_cases.h"
#include "make_server.h"
#include "otlp_fields.h"
#include "protobuf.h"
#include "table_memory.h"
#include "wire.h"

#include <malloc.h>

enum {
	ROUNDS = 20,
	MEMORY = 1 << 30, /* default of the server's setting memory */
};

static char id[UX_ID_TEXT];

/* Stands for the frames of a location: one line of the processor's cache. */
struct floor_line {
	uint64_t words[8];
};

/* A form of requests. */
struct form {
	const char *word;
	const char *target;
	const char *type; /* content type; NULL: none is sent */
	void (*write)(const uint64_t *pcs, size_t n, struct ux_out *out);
};

struct asker {
	struct make_server server;
	const struct form *form;
	const uint64_t *pcs;
	size_t n, batch;
	uint64_t bytes; /* bytes of a round's answers */
	bool hashed;
	uint64_t hash;            /* of the answers so far, if `hashed` */
	double floor;             /* ns of the floor, of all addresses; 0: it is not measured */
	bool floored;             /* whether it is measured */
	struct floor_line *lines; /* of the floor; as many as addresses, a power of two */
	size_t n_lines;
	uint64_t functions, strings; /* functions and strings in a round's answers */
};

static void write_json(const uint64_t *pcs, size_t n, struct ux_out *out)
{
	ux_out_fmt(out, "{\"modules\":[{\"id\":\"%s\",\"addresses\":[", id);
	for (size_t i = 0; i < n; i++)
		ux_out_fmt(out, "%s\"0x%" PRIx64 "\"", i ? "," : "", pcs[i]);
	ux_out_cstr(out, "]}]}");
}

static void write_compact(const uint64_t *pcs, size_t n, struct ux_out *out)
{
	const struct ux_wire_options options = {.demangle = UX_DEMANGLE_FULL};
	struct ux_id gnu;
	if (ux_id_parse(ux_bytes_cstr(id), &gnu, NULL) != UX_OK)
		abort();
	ux_wire_question_begin(out, &options);
	ux_wire_question_add(out, &gnu, pcs, n);
	ux_wire_question_end(out);
}

/* A message of the OpenTelemetry profiler: locations with an attribute, and a sample for each. */
static void write_message(const uint64_t *pcs, size_t n, bool named, struct ux_out *out)
{
	static const char *const strings[] = {"", "process.executable.build_id.gnu", "",
					      "profile.frame.type", "native"};
	struct ux_out dictionary = {0}, one = {0}, value = {0};
	ux_protobuf_put_bytes(&dictionary, OTLP_MAPPING_TABLE, UX_BYTES_NONE);
	ux_protobuf_put_uint(&one, OTLP_MAPPING_START, 4096);
	ux_protobuf_put_uint(&one, OTLP_MAPPING_ATTRIBUTES, 1);
	ux_protobuf_put_message(&dictionary, OTLP_MAPPING_TABLE, &one);
	ux_protobuf_put_bytes(&dictionary, OTLP_LOCATION_TABLE, UX_BYTES_NONE);
	ux_protobuf_put_uint(&value, OTLP_LINE_FUNCTION, 1000);
	ux_protobuf_put_uint(&value, OTLP_LINE_LINE, 100);
	for (size_t i = 0; i < n; i++) {
		ux_out_reset(&one);
		ux_protobuf_put_uint(&one, OTLP_LOCATION_MAPPING, 1);
		ux_protobuf_put_uint(&one, OTLP_LOCATION_ADDRESS, pcs[i]);
		for (unsigned k = 0; named && k < 2; k++)
			ux_protobuf_put_message(&one, OTLP_LOCATION_LINES, &value);
		ux_protobuf_put_bytes(&one, OTLP_LOCATION_ATTRIBUTES, UX_STR("\x02"));
		ux_protobuf_put_message(&dictionary, OTLP_LOCATION_TABLE, &one);
	}
	for (size_t i = 0; i < ux_countof(strings); i++)
		ux_protobuf_put_bytes(&dictionary, OTLP_STRING_TABLE,
				      ux_bytes_cstr(i == 2 ? strchr(id, ':') + 1 : strings[i]));
	ux_protobuf_put_bytes(&dictionary, OTLP_ATTRIBUTE_TABLE, UX_BYTES_NONE);
	for (uint64_t key = 1; key <= 3; key += 2) {
		ux_out_reset(&one);
		ux_out_reset(&value);
		ux_protobuf_put_uint(&value, OTLP_VALUE_STRING_INDEX, key + 1);
		ux_protobuf_put_uint(&one, OTLP_ATTRIBUTE_KEY, key);
		ux_protobuf_put_message(&one, OTLP_ATTRIBUTE_VALUE, &value);
		ux_protobuf_put_message(&dictionary, OTLP_ATTRIBUTE_TABLE, &one);
	}
	ux_protobuf_put_message(out, OTLP_DICTIONARY, &dictionary);
	ux_out_deinit(&dictionary);
	ux_out_deinit(&one);
	ux_out_deinit(&value);
}

static void write_otlp(const uint64_t *pcs, size_t n, struct ux_out *out)
{
	write_message(pcs, n, /* named= */ false, out);
}

static void write_named(const uint64_t *pcs, size_t n, struct ux_out *out)
{
	write_message(pcs, n, /* named= */ true, out);
}

static const struct form forms[] = {
	{"json", "/v1/symbolize", NULL, write_json},
	{"compact", "/v1/symbolize", UX_WIRE_TYPE, write_compact},
	{"otlp", "/v1/symbolize/otlp", "application/x-protobuf", write_otlp},
	{"named", "/v1/symbolize/otlp", "application/x-protobuf", write_named},
};

static const struct form *form_of(const char *word)
{
	for (size_t i = 0; i < ux_countof(forms); i++)
		if (strcmp(forms[i].word, word) == 0)
			return &forms[i];
	return NULL;
}

/* FNV-1a, whose value does not depend on the process. */
static uint64_t hash_on(uint64_t hash, struct ux_bytes bytes)
{
	for (size_t i = 0; i < bytes.size; i++)
		hash = (hash ^ bytes.data[i]) * 0x100000001b3u;
	return hash;
}

/* The fields of a message's dictionary; both messages have it as their only field. */
static struct ux_cur dictionary_of(struct ux_bytes message)
{
	struct ux_cur c = ux_cur_make(message, "message", false);
	struct ux_protobuf_field f;
	return ux_protobuf_next(&c, &f) ? f.bytes : c;
}

static const struct floor_line *floor_line_of(const struct asker *a, uint64_t pc)
{
	return &a->lines[ux_hash_u64(pc) & (a->n_lines - 1)];
}

/* Returns the cost of reading locations, a line for each, and copying the answer field by field, in
 * ns. */
static double floor_of(const struct asker *a, struct ux_bytes question, struct ux_bytes answer)
{
	enum {
		AHEAD = 16
	};
	volatile uint64_t result = 0; /* so that no work is left out */
	struct ux_out copy = {0};
	uint64_t sum = 0, *pcs = malloc(a->batch * sizeof(*pcs));
	size_t n = 0;
	uint8_t *to = ux_out_room(&copy, answer.size);
	if (!to || !pcs)
		abort();
	memset(to, 0, answer.size); /* the memory is touched before, as a server's is */
	double start = lookup_now();
	struct ux_cur c = dictionary_of(question);
	for (struct ux_protobuf_field f, inner; ux_protobuf_next(&c, &f);)
		while (f.number == OTLP_LOCATION_TABLE && ux_protobuf_next(&f.bytes, &inner))
			if (inner.number == OTLP_LOCATION_ADDRESS && n < a->batch)
				pcs[n++] = inner.value;
	for (size_t i = 0; i < n; i++) {
		__builtin_prefetch(floor_line_of(a, pcs[ux_min(i + AHEAD, n - 1)]));
		sum += floor_line_of(a, pcs[i])->words[0];
	}
	c = dictionary_of(answer);
	for (struct ux_protobuf_field f; ux_protobuf_next(&c, &f); to += f.whole.size)
		memcpy(to, f.whole.data, f.whole.size);
	result = sum + copy.data[copy.size / 2];
	(void)result;
	double took = lookup_now() - start;
	ux_out_deinit(&copy);
	free(pcs);
	return took;
}

static void count_dictionary(struct asker *a, struct ux_bytes answer)
{
	struct ux_cur c = dictionary_of(answer);
	for (struct ux_protobuf_field f; ux_protobuf_next(&c, &f);) {
		a->functions += f.number == OTLP_FUNCTION_TABLE;
		a->strings += f.number == OTLP_STRING_TABLE;
	}
}

/* Asks, and returns the time that it took. */
static double ask(struct asker *a, struct ux_bytes body)
{
	double start = lookup_now();
	struct ux_exchange x;
	ux_exchange_init(&x, &a->server.app, UX_STR("POST"), ux_bytes_cstr(a->form->target));
	if (a->form->type)
		ux_exchange_header(&x, UX_STR("Content-Type"), ux_bytes_cstr(a->form->type));
	ux_exchange_begin(&x);
	ux_exchange_data(&x, body);
	ux_exchange_finish(&x);
	if (x.res.status != 200) {
		fprintf(stderr, "status %u: %.*s\n", x.res.status, (int)x.res.body.size,
			(const char *)x.res.body.data);
		exit(1);
	}
	double end = lookup_now();
	a->bytes += x.res.body.size;
	if (a->hashed)
		a->hash = hash_on(a->hash, x.res.body);
	if (a->floored)
		a->floor += floor_of(a, body, x.res.body), count_dictionary(a, x.res.body);
	double before = lookup_now();
	ux_exchange_deinit(&x, true);
	return end - start + lookup_now() - before;
}

/* ns of all addresses from `from` to `end`. */
static double time_of(struct asker *a, size_t from, size_t end)
{
	double took = 0;
	for (size_t at = from; at < end; at += a->batch) {
		struct ux_out body = {0};
		size_t n = ux_min(a->batch, end - at);
		a->form->write(a->pcs + at, n, &body);
		took += ask(a, ux_out_bytes(&body));
		ux_out_deinit(&body);
	}
	return took;
}

/* A separate function, so that a profiler can count it alone. */
__attribute__((noinline)) static double time_of_last_fifth(struct asker *a, size_t from)
{
	return time_of(a, from, a->n);
}

/* ns an address of one round over all of them; *ret_late of the last fifth. */
static double round_of(struct asker *a, double *ret_late)
{
	size_t late = a->n - a->n / 5;
	a->bytes = 0;
	double early_took = time_of(a, 0, late);
	ux_frame_filler_wait(ux_module_cache_filler(a->server.server.cache));
	double late_took = time_of_last_fifth(a, late);
	*ret_late = late_took / (double)(a->n - late);
	return (early_took + late_took) / (double)a->n;
}

/* Returns the floor of all addresses, in separate rounds: it uses the processor's caches. */
static double least_floor(struct asker *a, unsigned long rounds)
{
	double best = 0, unused = 0;
	for (a->n_lines = 1; a->n_lines < a->n;)
		a->n_lines *= 2;
	a->lines = ux_table_alloc(a->n_lines * sizeof(*a->lines));
	if (!a->lines)
		abort();
	memset(a->lines, 1, a->n_lines * sizeof(*a->lines)); /* memory of its own */
	a->floored = true;
	for (unsigned long i = 0; i < rounds; i++) {
		a->floor = 0;
		a->functions = a->strings = 0;
		(void)round_of(a, &unused);
		best = i == 0 || a->floor < best ? a->floor : best;
	}
	ux_table_free(a->lines, a->n_lines * sizeof(*a->lines));
	return best;
}

static void must(enum ux_code code, const struct ux_error *err)
{
	if (code == UX_OK)
		return;
	fprintf(stderr, "symbolize: %s\n", err->text);
	exit(2);
}

/* Sends a request that has to succeed; the caller releases the text. */
static char *must_ask(struct make_server *s, const char *method, const char *target,
		      struct ux_bytes body)
{
	struct make_answer answer = make_server_ask(
		s, &(struct make_ask){
			   .method = method, .target = target, .token = s->admin, .body = body});
	ux_out_u8(&answer.body, 0);
	if (answer.status >= 300) {
		fprintf(stderr, "symbolize: %s\n", (const char *)answer.body.data);
		exit(2);
	}
	return (char *)answer.body.data;
}

static void upload(struct make_server *s, const char *path)
{
	struct ux_error err = UX_ERROR_INIT;
	struct ux_mapping file = {0};
	struct ux_gsym g;
	struct ux_id gnu;
	char body[512], hash[65], target[96];
	must(ux_file_map(path, &file, &err), &err);
	must(ux_gsym_open(&g, file.bytes, &err), &err);
	must(ux_id_make(UX_ID_GNU, g.uuid, &gnu, &err), &err);
	ux_id_format(&gnu, id);
	struct ux_blob_hash h = ux_blob_hash_of(file.bytes);
	ux_blob_hash_text(&h, hash);
	snprintf(body, sizeof(body), "{\"ids\":[\"%s\"],\"size\":%zu,\"sha256\":\"%s\"}", id,
		 file.bytes.size, hash);
	char *answer = must_ask(s, "POST", "/v1/uploads", ux_bytes_cstr(body));
	const char *uid = strstr(answer, "\"uid\":\"");
	snprintf(target, sizeof(target), "/v1/uploads/%.*s", (int)strcspn(uid + 7, "\""), uid + 7);
	free(answer);
	free(must_ask(s, "PUT", target, file.bytes));
	snprintf(target + strlen(target), sizeof(target) - strlen(target), "/finish");
	free(must_ask(s, "POST", target, UX_BYTES_NONE));
	ux_file_unmap(&file);
}

int main(int argc, char **argv)
{
	static struct asker a;
	if (argc < 5 || argc > 6 || (a.batch = strtoul(argv[4], NULL, 10)) == 0 ||
	    !(a.form = form_of(argv[1]))) {
		fprintf(stderr,
			"usage: symbolize json|compact|otlp|named GSYM ADDRESSES BATCH [ROUNDS]\n");
		return 2;
	}
	/* as in server/run/serve.c */
	(void)mallopt(M_MMAP_THRESHOLD, 2 << 20);
	(void)mallopt(M_TRIM_THRESHOLD, 8 << 20);
	unsigned long rounds = argc == 6 ? strtoul(argv[5], NULL, 10) : ROUNDS;
	make_server_open(&a.server, NULL, /* open_reading= */ true);
	a.server.app = ux_server_app(&a.server.server, (struct ux_http_limits){0});
	a.server.app.log = NULL;
	ux_module_cache_limit(a.server.server.cache, MEMORY);
	upload(&a.server, argv[2]);
	a.pcs = lookup_addresses(argv[3], &a.n);
	a.hashed = true;
	a.hash = 0xcbf29ce484222325u;
	double late = 0, unused = 0, first = round_of(&a, &late), best = first, floor = 0;
	a.hashed = false;
	for (unsigned long i = 0; i < rounds; i++) {
		double took = round_of(&a, &unused);
		best = took < best ? took : best;
	}
	const uint64_t bytes = a.bytes;
	floor = strcmp(a.form->type ? a.form->type : "", "application/x-protobuf") == 0
			? least_floor(&a, rounds)
			: 0;
	printf("%s, %zu addresses in requests of %zu: new %.0f ns, the last fifth %.0f ns (%.0f a "
	       "second), seen %.1f ns (%.0f a second), %.1f bytes of answer an address, "
	       "hash %016" PRIx64 "\n",
	       argv[1], a.n, a.batch, first, late, 1e9 / late, best, 1e9 / best,
	       (double)bytes / (double)a.n, a.hash);
	struct ux_frame_filler_counts fills =
		ux_frame_filler_count(ux_module_cache_filler(a.server.server.cache));
	printf("frame caches filled: %" PRIu64 ", refused: %" PRIu64
	       ", in %.0f ms of processor time; memory of all caches %.1f MB\n",
	       fills.filled, fills.refused, (double)fills.cpu_ns / 1e6,
	       (double)ux_module_cache_bytes(a.server.server.cache) / 1e6);
	if (floor > 0)
		printf("floor: %.1f ns (%.0f a second), %.2f functions and %.2f strings an address\n",
		       floor / (double)a.n, 1e9 * (double)a.n / floor,
		       (double)a.functions / (double)a.n, (double)a.strings / (double)a.n);
	make_server_close(&a.server);
	return 0;
}
