/* SPDX-License-Identifier: Apache-2.0 */
/*
 * floor GSYM ADDRESSES BATCH: the least cost of answers to new addresses, stage by stage, over the
 * last fifth of them (bench/symbolize measures the server's handlers over the same). Each stage is
 * only the library's own code for it: finding rows and calls in the records (earlier addresses have
 * built the index), demangling the new names, and copying the answer's pieces over the previous
 * answer. Prints nanoseconds an address, and bytes of answer.
 */
#include "demangle.h"
#include "file.h"
#include "frame_cache.h"
#include "frame_cache_wire.h"
#include "gsym_reader.h"
#include "lookup_cases.h"
#include "map.h"
#include "order.h"
#include "vec.h"

static uint64_t address_hash(const char *s)
{
	return ux_hash_u64((uintptr_t)s);
}

static bool address_eq(const char *a, const char *b)
{
	return a == b;
}

UX_MAP(known_names, const char *, bool, address_hash, address_eq);
UX_MAP(known_texts, const char *, bool, address_hash, address_eq);
UX_VEC(pieces, struct ux_bytes);
UX_VEC(names, const char *);

enum {
	INDEX_MAX = 256 << 20,
	CACHE_MAX = 1 << 30,
	LOCKED = 256, /* addresses that are added to the cache under one lock, as in the server */
	NUMBER = 12,  /* room for a line number */
};

/* Stages, in the order of the columns. */
enum stage {
	STAGE_PLACES,
	STAGE_NAMES,
	STAGE_JSON,
	STAGE_COMPACT,
	STAGES,
};

struct floor {
	struct ux_gsym gsym;
	struct ux_frame_cache *cache;
	struct known_names known;
	size_t batch;
	uint64_t *pcs; /* of the batch, sorted */
	struct ux_gsym_place *places;
	uint32_t *frames;
	struct names names; /* names of the batch that no earlier batch had */
	struct ux_out name;
	struct pieces pieces; /* of the batch's answer */
	char *numbers;        /* line numbers among them */
	size_t n_numbers, numbers_cap;
	struct ux_frame_reply reply;
	uint8_t *answer;
	size_t answer_size;
	double ns[STAGES];
	uint64_t bytes[STAGES];
};

static void floor_must(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "floor: %s\n", what);
	exit(2);
}

/* --- stages; functions of their own, so that a profiler can be told to count one alone -------- */

static void floor_find_places(struct floor *f, const uint64_t *pcs, size_t n)
{
	ux_cleanup(ux_order_deinit) struct ux_order order = {0};
	floor_must(ux_order_init(&order, n), "memory is short");
	for (size_t i = 0; i < n; i++)
		ux_order_add(&order, pcs[i], i);
	floor_must(ux_order_sort(&order), "memory is short");
	for (size_t i = 0; i < n; i++)
		f->pcs[i] = ux_order_address(&order, i);
	for (size_t i = 0; i < n; i += LOCKED)
		(void)!ux_gsym_places_find(&f->gsym, f->pcs + i, ux_min(n - i, (size_t)LOCKED),
					   NULL, f->places + i);
}

__attribute__((noinline)) static void floor_places(struct floor *f, const uint64_t *pcs, size_t n)
{
	floor_find_places(f, pcs, n);
}

__attribute__((noinline)) static void floor_names(struct floor *f)
{
	for (size_t i = 0; i < f->names.size; i++) {
		ux_out_reset(&f->name);
		ux_demangle(ux_bytes_cstr(f->names.data[i]), UX_DEMANGLE_FULL, &f->name);
	}
}

ux_inline void floor_copy(struct floor *f)
{
	uint8_t *to = f->answer;
	for (size_t i = 0; i < f->pieces.size; i++) {
		memcpy(to, f->pieces.data[i].data, f->pieces.data[i].size);
		to += f->pieces.data[i].size;
	}
}

__attribute__((noinline)) static void floor_json(struct floor *f)
{
	floor_copy(f);
	f->bytes[STAGE_JSON] += f->answer_size;
}

__attribute__((noinline)) static void floor_compact(struct floor *f)
{
	floor_copy(f);
	f->bytes[STAGE_COMPACT] += f->answer_size;
}

/* --- the stages between ----------------------------------------------------------------------- */

/* Finds the names that the batch needs and no earlier batch had. */
static void floor_find_names(struct floor *f, size_t n)
{
	f->names.size = 0;
	for (size_t i = 0; i < n; i++) {
		const struct ux_gsym_place *place = &f->places[i];
		struct ux_gsym_call call = {.inlined = place->cut != NULL, .caller = place->node};
		while (call.inlined) {
			bool fresh = false;
			if (!ux_gsym_place_call(&f->gsym, place, call.caller, &call))
				break;
			floor_must(known_names_insert(&f->known, call.function, &fresh),
				   "memory is short");
			if (fresh)
				floor_must(names_append(&f->names, call.function),
					   "memory is short");
		}
	}
}

static void floor_add(struct floor *f, size_t n)
{
	ux_frame_cache_lock(f->cache);
	for (size_t i = 0; i < n; i += LOCKED)
		(void)ux_frame_cache_add_places(f->cache, &f->gsym, f->pcs + i, f->places + i,
						ux_min(n - i, (size_t)LOCKED), f->frames + i);
	ux_frame_cache_unlock(f->cache);
	for (size_t i = 0; i < n; i++)
		f->frames[i] = f->frames[i] == UX_FRAME_UNKNOWN ? 0 : f->frames[i];
}

static void floor_piece(struct floor *f, struct ux_bytes bytes)
{
	floor_must(pieces_append(&f->pieces, bytes), "memory is short");
	f->answer_size += bytes.size;
}

static void floor_number(struct floor *f, uint32_t v)
{
	char *at = f->numbers + f->n_numbers;
	floor_must(f->numbers_cap - f->n_numbers >= NUMBER, "too many line numbers");
	size_t size = (size_t)snprintf(at, NUMBER, "%" PRIu32, v);
	f->n_numbers += size;
	floor_piece(f, ux_bytes(at, size));
}

/* The pieces of the answer in JSON; texts need no escapes but in a few names. */
static void floor_json_pieces(struct floor *f, size_t n)
{
	const struct ux_frame_cache *m = f->cache;
	f->pieces.size = f->n_numbers = f->answer_size = 0;
	for (size_t i = 0; i < n; i++) {
		floor_piece(f, UX_STR("["));
		for (uint32_t at = f->frames[i]; at != 0; at = ux_cached_frame(m, at)->up) {
			const struct ux_cached_frame *frame = ux_cached_frame(m, at);
			floor_piece(f, UX_STR("{\"function\":\""));
			if (frame->function != 0)
				floor_piece(f, ux_cached_text_bytes(m, frame->function));
			if (frame->file != 0) {
				uint32_t path = ux_cached_file(m, frame->file)->path;
				floor_piece(f, UX_STR("\",\"file\":\""));
				floor_piece(f, ux_cached_text_bytes(m, path));
				floor_piece(f, UX_STR("\",\"line\":"));
				floor_number(f, frame->line);
			}
			floor_piece(f,
				    frame->up != 0 ? UX_STR(",\"inlined\":true},") : UX_STR("}"));
		}
		floor_piece(f, UX_STR("],"));
	}
}

/* Copies the pieces of the compact form: each text once, and the tables, which are one piece. */
static void floor_compact_pieces(struct floor *f, size_t n)
{
	f->pieces.size = f->answer_size = 0;
	ux_frame_reply_reset(&f->reply);
	ux_wire_reply_clear(&f->reply.reply);
	floor_must(ux_frame_reply_add(&f->reply, f->cache, f->frames, n), "memory is short");
	const struct ux_frame_cache *m = f->cache;
	ux_cleanup(known_texts_deinit) struct known_texts once = {0};
	for (size_t i = 0; i < n; i++)
		for (uint32_t at = f->frames[i]; at != 0; at = ux_cached_frame(m, at)->up) {
			const struct ux_cached_frame *frame = ux_cached_frame(m, at);
			uint32_t texts[3] = {frame->function};
			if (frame->file != 0) {
				texts[1] = ux_cached_file(m, frame->file)->dir;
				texts[2] = ux_cached_file(m, frame->file)->base;
			}
			for (size_t k = 0; k < ux_countof(texts); k++) {
				bool fresh = false;
				if (texts[k] == 0)
					continue;
				struct ux_bytes text = ux_cached_text_bytes(m, texts[k]);
				floor_must(
					known_texts_insert(&once, (const char *)text.data, &fresh),
					"memory is short");
				if (fresh)
					floor_piece(f, ux_bytes(text.data, text.size + 1));
			}
		}
	struct ux_wire_reply *r = &f->reply.reply;
	floor_piece(f, ux_out_bytes(&r->files));
	floor_piece(f, ux_out_bytes(&r->frames));
	floor_piece(f, ux_out_bytes(&r->addresses));
}

static void floor_make_room(struct floor *f, size_t *cap)
{
	if (f->answer_size <= *cap)
		return;
	free(f->answer);
	*cap = f->answer_size + f->answer_size / 2;
	f->answer = malloc(*cap);
	floor_must(f->answer != NULL, "memory is short");
	memset(f->answer, 1, *cap); /* so that none of its pages is new */
}

static void floor_time(struct floor *f, enum stage stage, bool late, double start)
{
	f->ns[stage] += late ? lookup_now() - start : 0;
}

static void floor_batch(struct floor *f, const uint64_t *pcs, size_t n, bool late)
{
	static size_t cap;
	double start = lookup_now();
	if (late)
		floor_places(f, pcs, n);
	else
		floor_find_places(f, pcs, n);
	floor_time(f, STAGE_PLACES, late, start);
	floor_find_names(f, n);
	start = lookup_now();
	if (late)
		floor_names(f);
	floor_time(f, STAGE_NAMES, late, start);
	floor_add(f, n);
	if (!late)
		return;
	floor_json_pieces(f, n);
	floor_make_room(f, &cap);
	start = lookup_now();
	floor_json(f);
	floor_time(f, STAGE_JSON, late, start);
	floor_compact_pieces(f, n);
	floor_make_room(f, &cap);
	start = lookup_now();
	floor_compact(f);
	floor_time(f, STAGE_COMPACT, late, start);
}

int main(int argc, char **argv)
{
	static struct floor f;
	struct ux_mapping file = {0};
	static atomic_size_t all;
	size_t n = 0;
	if (argc != 4 || (f.batch = strtoul(argv[3], NULL, 10)) == 0) {
		fprintf(stderr, "usage: floor GSYM ADDRESSES BATCH\n");
		return 2;
	}
	floor_must(ux_file_map(argv[1], &file, NULL) == UX_OK, argv[1]);
	floor_must(ux_gsym_open(&f.gsym, file.bytes, NULL) == UX_OK, argv[1]);
	floor_must(ux_gsym_index_open(&f.gsym, INDEX_MAX, NULL) == UX_OK, "memory is short");
	uint64_t *pcs = lookup_addresses(argv[2], &n);
	f.cache = ux_frame_cache_create(UX_DEMANGLE_FULL, &all);
	f.pcs = calloc(f.batch, sizeof(*f.pcs));
	f.places = calloc(f.batch, sizeof(*f.places));
	f.frames = calloc(f.batch, sizeof(*f.frames));
	f.numbers_cap = f.batch * UX_FRAMES_MAX * NUMBER;
	f.numbers = malloc(f.numbers_cap);
	floor_must(f.cache && f.pcs && f.places && f.frames && f.numbers, "memory is short");
	ux_frame_cache_limit(f.cache, CACHE_MAX);
	size_t late = n - n / 5;
	for (size_t at = 0; at < n; at += f.batch)
		floor_batch(&f, pcs + at, ux_min(f.batch, n - at), at >= late);
	double each = (double)(n - late);
	printf("places %.0f ns, names %.0f ns, JSON %.0f ns (%.0f bytes), compact %.0f ns (%.0f "
	       "bytes)\n",
	       f.ns[STAGE_PLACES] / each, f.ns[STAGE_NAMES] / each, f.ns[STAGE_JSON] / each,
	       (double)f.bytes[STAGE_JSON] / each, f.ns[STAGE_COMPACT] / each,
	       (double)f.bytes[STAGE_COMPACT] / each);
	return 0;
}
