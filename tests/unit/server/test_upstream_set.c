/* SPDX-License-Identifier: Apache-2.0 */
/* The upstreams of a server: their files are checked, stored, waited for and explained. */
#include "sweep.h"

#include "clock.h"
#include "fetcher.h"
#include "make_elf.h"
#include "make_gsym.h"
#include "make_server.h"
#include "settings.h"
#include "upstream_set.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	WAIT_MS = 20000, /* ms, the longest time for an immediate event */
};

static const char one_id[] = "gnu:1b700ab56bff4136b7c92cfe7a92fa17ef09d874";
static const char other_id[] = "gnu:00112233445566778899aabbccddeeff00112233";
static const char gsym_path[] = ".build-id/1b/700ab56bff4136b7c92cfe7a92fa17ef09d874.gsym";

struct world {
	struct make_server s;
	struct ux_server *server;
	struct ux_extractor *extractor;
	char dirs[2][64];
	char words[2][128]; /* of the setting `upstream` */
	const char *list[3];
	struct ux_settings settings;
};

static struct ux_bytes example(void)
{
	return ux_bytes(make_gsym_example, MAKE_GSYM_EXAMPLE_SIZE);
}

static int open_world(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	assert_non_null(w);
	make_server_open(&w->s, NULL, /* open_reading= */ true);
	w->server = &w->s.server;
	for (int i = 0; i < 2; i++) {
		snprintf(w->dirs[i], sizeof(w->dirs[i]), "/tmp/unhex-folder-XXXXXX");
		assert_non_null(mkdtemp(w->dirs[i]));
		snprintf(w->words[i], sizeof(w->words[i]), "dir:%s,name=%c", w->dirs[i], 'a' + i);
		w->list[i] = w->words[i];
	}
	w->settings = (struct ux_settings){.upstreams = {.items = w->list, .n = 2},
					   .upstream_absent_ms = 3600000,
					   .upstream_failed_ms = 60000};
	*state = w;
	return 0;
}

static int close_world(void **state)
{
	struct world *w = *state;
	char command[128];
	ux_fetcher_close(w->server->fetcher);
	ux_extractor_stop(w->extractor);
	for (int i = 0; i < 2; i++) {
		snprintf(command, sizeof(command), "rm -rf '%s'", w->dirs[i]);
		assert_int_equal(system(command), 0);
	}
	make_server_close(&w->s);
	free(w);
	return 0;
}

static void upstreams_open(struct world *w)
{
	assert_int_equal(ux_server_upstreams_open(w->server, &w->settings, NULL), UX_OK);
	assert_non_null(w->server->fetcher);
}

static void put_example(const char *dir)
{
	char path[256];
	snprintf(path, sizeof(path), "%s/.build-id", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/.build-id/1b", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/%s", dir, gsym_path);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(example().data, 1, example().size, f), example().size);
	assert_int_equal(fclose(f), 0);
}

static struct make_answer get(struct world *w, const char *target, const char *const *headers)
{
	return make_server_ask(&w->s, &(struct make_ask){.method = "GET",
							 .target = target,
							 .token = w->s.admin,
							 .headers = headers});
}

/* The status of an answer, with the word that its document is to have. */
static unsigned get_status(struct world *w, const char *target, const char *word)
{
	struct make_answer a = get(w, target, NULL);
	ux_out_u8(&a.body, 0);
	if (word && !strstr((const char *)a.body.data, word))
		fail_msg("%s: '%s' is not in '%s'", target, word, (const char *)a.body.data);
	ux_out_deinit(&a.body);
	return a.status;
}

static void assert_get_has(struct world *w, const char *target, const char *const *words)
{
	for (; *words; words++)
		assert_int_equal(get_status(w, target, *words), 200);
}

static bool has_module(struct world *w, const char *id, struct ux_candidate *ret)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_module m;
	struct ux_index *ix = w->s.store.index;
	if (ix->modules.find(ix, UX_NAMESPACE_DEFAULT, id, &arena, &m, NULL) != UX_OK)
		return false;
	if (m.n_candidates == 0)
		return false;
	*ret = m.candidates[0];
	ret->reason = ret->description = ret->file_name = ret->key_id = "";
	ret->origin_name = strcmp(ret->origin_name, "a") == 0 ? "a" : "another";
	return true;
}

/* --- files from an upstream ------------------------------------------------------------------- */

/* Hands bytes over as a fetcher does. */
static enum ux_code arrive(struct world *w, enum ux_artifact artifact, struct ux_bytes bytes,
			   const char *id, struct ux_error *err)
{
	struct ux_blobs *b = w->s.store.blobs;
	char uid[UX_UPLOAD_UID_SIZE];
	struct ux_blob_part *part = NULL;
	uint64_t size = 0;
	*err = (struct ux_error)UX_ERROR_INIT;
	assert_int_equal(ux_upload_uid_make(uid, NULL), UX_OK);
	assert_int_equal(b->part_open(b, uid, &part, &size, NULL), UX_OK);
	assert_int_equal(b->part_write(part, bytes, NULL), UX_OK);
	const struct ux_arrived a = {.ns = UX_NAMESPACE_DEFAULT,
				     .file = "",
				     .id = id,
				     .upstream = "a",
				     .artifact = artifact,
				     .part = part,
				     .bytes = bytes,
				     .hash = ux_blob_hash_of(bytes)};
	enum ux_code code = ux_upstream_arrival(w->server, &a, err);
	b->part_close(part);
	return code;
}

static void a_gsym_is_checked_and_becomes_a_candidate(void **state)
{
	struct world *w = *state;
	struct ux_error err;
	struct ux_candidate c;
	assert_true(arrive(w, UX_ARTIFACT_GSYM, UX_STR("GSYM, but no more"), one_id, &err) !=
		    UX_OK);
	assert_false(has_module(w, one_id, &c));
	assert_true(arrive(w, UX_ARTIFACT_GSYM, example(), other_id, &err) != UX_OK);
	assert_false(has_module(w, other_id, &c));
	assert_int_equal(arrive(w, UX_ARTIFACT_GSYM, example(), one_id, &err), UX_OK);
	assert_true(has_module(w, one_id, &c));
	assert_int_equal(c.kind, UX_KIND_GSYM);
	assert_int_equal(c.state, UX_CANDIDATE_READY);
	assert_int_equal(c.origin, UX_ORIGIN_UPSTREAM);
	assert_string_equal(c.origin_name, "a");
	assert_int_equal(c.size, example().size);
	assert_int_equal(c.quality, UX_QUALITY_INLINES);
}

struct elf_options {
	bool code;
	uint32_t symtab_bytes; /* of a symbol table; 0: an empty one */
	bool symtab;
};

/* An ELF file with the build ID of one_id, or with another one. */
static struct ux_bytes elf_make(struct make_elf *m, struct elf_options o)
{
	static const uint8_t build_id[] = {0x1b, 0x70, 0x0a, 0xb5, 0x6b, 0xff, 0x41,
					   0x36, 0xb7, 0xc9, 0x2c, 0xfe, 0x7a, 0x92,
					   0xfa, 0x17, 0xef, 0x09, 0xd8, 0x74};
	static const uint8_t zeros[48];
	make_elf_init(m, 64, false);
	make_elf_note(m, ".note.gnu.build-id", "GNU", 3, ux_bytes(build_id, sizeof(build_id)));
	make_elf_section(m, (struct make_section){.name = ".text",
						  .type = o.code ? SHT_PROGBITS : SHT_NOBITS,
						  .flags = SHF_ALLOC | SHF_EXECINSTR,
						  .addr = 0x1000,
						  .size = o.code ? 0 : 16,
						  .content = ux_bytes(zeros, o.code ? 16 : 0)});
	if (o.symtab)
		make_elf_section(m,
				 (struct make_section){.name = ".symtab",
						       .type = SHT_SYMTAB,
						       .entsize = 24,
						       .content = ux_bytes(zeros, o.symtab_bytes)});
	return make_elf_finish(m);
}

static void an_elf_file_must_be_what_was_requested(void **state)
{
	struct world *w = *state;
	struct ux_error err;
	struct ux_candidate c;
	static const struct {
		enum ux_artifact artifact;
		struct elf_options elf;
		const char *id;
		enum ux_code code;
		const char *says;
	} cases[] = {
		{UX_ARTIFACT_DEBUGINFO,
		 {.code = true, .symtab = true, .symtab_bytes = 48},
		 other_id,
		 UX_ECONFLICT,
		 "a different build ID"},
		{UX_ARTIFACT_DEBUGINFO, {.code = true}, one_id, UX_ECORRUPT, "no debug info"},
		/* An empty symbol table says nothing. */
		{UX_ARTIFACT_DEBUGINFO,
		 {.code = true, .symtab = true},
		 one_id,
		 UX_ECORRUPT,
		 "no debug info"},
		{UX_ARTIFACT_EXECUTABLE,
		 {.symtab = true, .symtab_bytes = 48},
		 one_id,
		 UX_ECORRUPT,
		 "no code"},
	};
	assert_int_equal(arrive(w, UX_ARTIFACT_DEBUGINFO, UX_STR("\177ELF"), one_id, &err),
			 UX_EUNSUPPORTED);
	const struct ux_extractor_options options = {.limits = ux_inspect_limits};
	assert_int_equal(
		ux_extractor_open(&w->extractor, &w->s.store, w->server->cache, &options, NULL),
		UX_OK);
	w->server->extractor = w->extractor;
	for (size_t i = 0; i < ux_countof(cases); i++) {
		struct make_elf m;
		struct ux_bytes file = elf_make(&m, cases[i].elf);
		struct ux_blob_hash hash = ux_blob_hash_of(file);
		int fd = -1;
		enum ux_code code = arrive(w, cases[i].artifact, file, cases[i].id, &err);
		if (code != cases[i].code || !strstr(err.text, cases[i].says))
			fail_msg("case %zu: %d '%s'", i, (int)code, err.text);
		assert_false(has_module(w, one_id, &c));
		/* A refused file is not kept. */
		assert_true(ux_blobs_open(w->s.store.blobs, &hash, file.size, &fd, NULL) != UX_OK);
		make_elf_deinit(&m);
	}
	struct make_elf m;
	struct ux_bytes file =
		elf_make(&m, (struct elf_options){.symtab = true, .symtab_bytes = 48});
	assert_int_equal(arrive(w, UX_ARTIFACT_DEBUGINFO, file, one_id, &err), UX_OK);
	assert_true(has_module(w, one_id, &c));
	assert_int_equal(c.kind, UX_KIND_DEBUGINFO);
	assert_int_equal(c.holds, UX_HOLDS_DEBUG | UX_HOLDS_SECTIONS);
	assert_int_equal(c.quality, UX_QUALITY_SYMTAB);
	assert_int_equal(c.parser, UX_EXTRACTOR_PARSER);
	make_elf_deinit(&m);
	file = elf_make(&m, (struct elf_options){.code = true});
	assert_int_equal(arrive(w, UX_ARTIFACT_EXECUTABLE, file, one_id, &err), UX_OK);
	make_elf_deinit(&m);
	/* Both wait for the extractor. */
	struct ux_job_counts jobs;
	struct ux_index *ix = w->s.store.index;
	assert_int_equal(
		ix->jobs.counts(ix, UX_JOB_EXTRACT, ux_store_now(&w->s.store), &jobs, NULL), UX_OK);
	assert_in_range(jobs.waiting, 1, 2);
}

/* A file that proved broken is removed and counts as absent; another one stays. */
static void a_file_that_cannot_be_extracted_is_removed(void **state)
{
	struct world *w = *state;
	struct ux_error err;
	struct ux_candidate c;
	assert_int_equal(arrive(w, UX_ARTIFACT_GSYM, example(), one_id, &err), UX_OK);
	assert_true(has_module(w, one_id, &c));
	struct ux_extracted_one one = {.ns = UX_NAMESPACE_DEFAULT,
				       .id = one_id,
				       .reason = "it is broken",
				       .code = UX_OK,
				       .candidate = &c,
				       .settled = {.state = UX_CANDIDATE_FAILED, .reason = ""}};
	ux_upstream_extracted(w->server, &one); /* without upstreams */
	assert_true(has_module(w, one_id, &c));
	upstreams_open(w);
	one.code = UX_EIO;
	ux_upstream_extracted(w->server, &one);
	one.code = UX_OK;
	one.settled.state = UX_CANDIDATE_READY;
	ux_upstream_extracted(w->server, &one);
	one.settled.state = UX_CANDIDATE_FAILED;
	c.origin = UX_ORIGIN_UPLOAD;
	ux_upstream_extracted(w->server, &one);
	assert_true(has_module(w, one_id, &c));
	ux_upstream_extracted(w->server, &one);
	assert_false(has_module(w, one_id, &c));
	static const char *const words[] = {"it is broken", "\"artifact\":\"executable\"", NULL};
	assert_get_has(w, "/v1/explain/gnu:1b700ab56bff4136b7c92cfe7a92fa17ef09d874", words);
}

/* --- source files ----------------------------------------------------------------------------- */

static enum ux_code check_source(struct world *w, const char *path, struct ux_bytes bytes,
				 struct ux_error *err)
{
	const struct ux_arrived a = {.ns = UX_NAMESPACE_DEFAULT,
				     .file = "",
				     .id = one_id,
				     .upstream = "a",
				     .artifact = UX_ARTIFACT_SOURCE,
				     .source = path,
				     .bytes = bytes};
	*err = (struct ux_error)UX_ERROR_INIT;
	return ux_upstream_source_check(w->server, &a, err);
}

static void a_source_that_is_a_page_or_no_text_is_refused(void **state)
{
	struct world *w = *state;
	struct ux_error err;
	static const struct {
		const char *path, *text;
		bool refused;
	} cases[] = {
		{"/a.c", "int f;\n", false},
		{"/a.c", "", false},
		{"/a.c", "<", false},
		{"/a.c", "<html>", true},
		{"/a.c", "<HTML>", true},
		{"/a.c", "<htm", false},
		{"/a.c", "<!DOCTYPE html>", true},
		{"/a.c", "<!doctype htm", false},
		{"/a.c", " \t\r\n\f\v\xef\xbb\xbf<html", true},
		{"/a.c", "x<html>", false},
		{"/a.c", "<?xml?><Error>", true},
		{"/a.c", "<?xml?> <html", true},
		{"/a.c", "<?xml?><project>", false},
		{"/a.c", "<Error>", false},
		{"/a.html", "<html>", false},
		{"/a.HTM", "<html>", false},
		{"/a.html/b", "<html>", true},
		{"/a.html/b.in", "<html>", false},
		{"/html", "<html>", true},
		{"/a.", "<html>", true},
		{"/a.svg", "<?xml?><html", false},
	};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		struct ux_bytes text = guard(ux_bytes_cstr(cases[i].text));
		enum ux_code code = check_source(w, cases[i].path, text, &err);
		if (code != (cases[i].refused ? UX_ECORRUPT : UX_OK) ||
		    (cases[i].refused && !strstr(err.text, "an error page")))
			fail_msg("%s '%s': %d %s", cases[i].path, cases[i].text, (int)code,
				 err.text);
		guard_free(text);
	}
	/* White space is skipped for the length of a head alone. */
	char blanks[600];
	for (size_t n = 511; n <= 513; n++) {
		memset(blanks, ' ', sizeof(blanks));
		memcpy(blanks + n, "<html>", 6);
		assert_int_equal(check_source(w, "/a.c", ux_bytes(blanks, n + 6), &err),
				 n <= 512 ? UX_ECORRUPT : UX_OK);
	}
	static const struct {
		const char *bytes;
		size_t n;
		enum ux_code code;
	} wide[] = {
		{"a\0b", 3, UX_ECORRUPT},        {"\xff\xfe\0a", 4, UX_OK},
		{"\xfe\xff\0a", 4, UX_OK},       {"\xff\xff\0a", 4, UX_ECORRUPT},
		{"\xfe\xfe\0a", 4, UX_ECORRUPT}, {"\xff", 1, UX_OK},
		{"\0", 1, UX_ECORRUPT},
	};
	for (size_t i = 0; i < ux_countof(wide); i++) {
		struct ux_bytes bytes = guard(ux_bytes(wide[i].bytes, wide[i].n));
		if (check_source(w, "/a.c", bytes, &err) != wide[i].code)
			fail_msg("case %zu: %s", i, err.text);
		guard_free(bytes);
	}
}

static void a_source_has_a_limit_of_bytes(void **state)
{
	struct world *w = *state;
	struct ux_error err;
	const size_t max = UX_FETCH_SOURCE_MAX;
	void *zeros =
		mmap(NULL, max + 1, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_ptr_not_equal(zeros, MAP_FAILED);
	assert_int_equal(check_source(w, "/a.c", ux_bytes(zeros, max), &err), UX_ECORRUPT);
	assert_int_equal(check_source(w, "/a.c", ux_bytes(zeros, max + 1), &err), UX_ELIMIT);
	assert_non_null(strstr(err.text, "67108864"));
	munmap(zeros, max + 1);
}

/* --- settings --------------------------------------------------------------------------------- */

static void settings_are_checked_before_anything_is_opened(void **state)
{
	struct world *w = *state;
	struct ux_error err = UX_ERROR_INIT;
	struct ux_settings none = {.upstreams = {.n = 0}};
	assert_int_equal(ux_server_upstreams_check(&w->settings, &err), UX_OK);
	assert_int_equal(ux_server_upstreams_check(&none, &err), UX_OK);
	assert_int_equal(ux_server_upstreams_open(w->server, &none, &err), UX_OK);
	assert_null(w->server->fetcher);
	assert_null(w->server->missing.fetch);
	assert_int_equal(ux_server_upstreams_change(w->server, &w->settings, &err), UX_OK);
	assert_null(w->server->fetcher); /* it started without */
	const char *same[] = {w->words[0], w->words[0]};
	struct ux_settings twice = {.upstreams = {.items = same, .n = 2}};
	assert_int_equal(ux_server_upstreams_check(&twice, &err), UX_EINVAL);
	const char *bad[] = {w->words[0], "ftp://x"};
	struct ux_settings wrong = {.upstreams = {.items = bad, .n = 2}};
	assert_int_equal(ux_server_upstreams_check(&wrong, &err), UX_EINVAL);
	assert_int_equal(ux_server_upstreams_open(w->server, &wrong, &err), UX_EINVAL);
	assert_null(w->server->fetcher);
}

static void a_change_of_settings_replaces_the_upstreams(void **state)
{
	struct world *w = *state;
	const char *bad[] = {"ftp://x"};
	struct ux_settings wrong = {.upstreams = {.items = bad, .n = 1}};
	struct ux_settings one = w->settings, none = {.upstreams = {.n = 0}};
	one.upstreams.n = 1;
	one.upstream_kept = 12345;
	upstreams_open(w);
	assert_ptr_equal(w->server->missing.ctx, w->server);
	assert_int_equal(ux_fetcher_count(w->server->fetcher), 2);
	struct ux_fetcher *first = w->server->fetcher;
	assert_int_equal(ux_server_upstreams_change(w->server, &wrong, NULL), UX_EINVAL);
	assert_ptr_equal(w->server->fetcher, first);
	assert_int_equal(ux_server_upstreams_change(w->server, &one, NULL), UX_OK);
	assert_ptr_not_equal(w->server->fetcher, first);
	assert_int_equal(ux_fetcher_count(w->server->fetcher), 1);
	assert_int_equal(w->server->upstream_kept, 12345);
	const struct ux_fetch_request r = {
		.ns = UX_NAMESPACE_DEFAULT, .id = one_id, .want = UX_FETCH_SYMBOLS};
	assert_int_equal(ux_fetcher_begin(first, &r, NULL), UX_FETCHING_AWAY); /* stopped */
	assert_int_equal(ux_server_upstreams_change(w->server, &none, NULL), UX_OK);
	assert_int_equal(ux_fetcher_count(w->server->fetcher), 0);
}

/* Files from upstreams have a size limit; a larger file is refused. */
static void a_file_over_what_may_be_kept_is_refused(void **state)
{
	struct world *w = *state;
	struct ux_missing_module m = {.ns = UX_NAMESPACE_DEFAULT, .id = one_id, .wait_ms = WAIT_MS};
	struct ux_candidate c;
	put_example(w->dirs[1]);
	w->settings.upstream_kept = example().size - 1;
	upstreams_open(w);
	(void)ux_upstream_fetch_missing(w->server, &m);
	assert_false(has_module(w, one_id, &c));
	w->settings.upstream_kept = example().size;
	assert_int_equal(ux_server_upstreams_change(w->server, &w->settings, NULL), UX_OK);
	assert_int_equal(ux_fetcher_status(w->server->fetcher, 1).found, 0);
}

/* --- requests that wait ----------------------------------------------------------------------- */

static void a_missing_module_is_waited_for(void **state)
{
	struct world *w = *state;
	struct ux_missing_module m = {.ns = UX_NAMESPACE_DEFAULT, .id = one_id, .wait_ms = WAIT_MS};
	struct ux_missing_module unknown = {
		.ns = UX_NAMESPACE_DEFAULT, .id = other_id, .wait_ms = 0};
	struct ux_candidate c;
	int64_t begin = ux_clock_ms();
	put_example(w->dirs[1]);
	upstreams_open(w);
	assert_int_equal(w->server->missing.fetch(w->server->missing.ctx, &m), UX_MISSING_ARRIVED);
	assert_int_equal(m.retry_after_s, 1);
	assert_true(has_module(w, one_id, &c));
	/* Nothing waits for longer than the fetch. */
	assert_in_range(ux_clock_ms() - begin, 0, UX_FETCH_WAIT_MS);
	assert_int_equal(atomic_load(&w->server->waiting), 0);
	/* Without time to wait, the fetch begins; later it is known that no upstream has it. */
	assert_int_equal(ux_upstream_fetch_missing(w->server, &unknown), UX_MISSING_PENDING);
	while (ux_upstream_fetch_missing(w->server, &unknown) == UX_MISSING_PENDING &&
	       ux_clock_ms() < begin + WAIT_MS)
		usleep(1000);
	unknown.wait_ms = WAIT_MS;
	assert_int_equal(ux_upstream_fetch_missing(w->server, &unknown), UX_MISSING_NOWHERE);
	assert_int_equal(atomic_load(&w->server->waiting), 0);
	/* Two threads may wait; the third gets Retry-After. */
	atomic_store(&w->server->waiting, 2);
	struct ux_missing_module third = {.ns = UX_NAMESPACE_DEFAULT,
					  .id = "gnu:aa112233445566778899aabbccddeeff00112233",
					  .wait_ms = WAIT_MS};
	assert_int_equal(ux_upstream_fetch_missing(w->server, &third), UX_MISSING_PENDING);
	assert_int_equal(atomic_load(&w->server->waiting), 2);
	atomic_store(&w->server->waiting, 1);
	third.id = "gnu:bb112233445566778899aabbccddeeff00112233";
	assert_int_equal(ux_upstream_fetch_missing(w->server, &third), UX_MISSING_ARRIVED);
	atomic_store(&w->server->waiting, 0);
}

static void a_request_begins_a_fetch_and_another_server_gets_retry_after(void **state)
{
	struct world *w = *state;
	static const char target[] = "/v1/gsym/gnu:1b700ab56bff4136b7c92cfe7a92fa17ef09d874";
	static const char unknown[] = "/v1/gsym/gnu:00112233445566778899aabbccddeeff00112233";
	static const char *const via[] = {"X-Unhex-Via: 00112233aabbccdd", NULL};
	static const char *const wrong[] = {"X-Unhex-Via: no server", NULL};
	put_example(w->dirs[1]);
	assert_int_equal(get_status(w, target, "no GSYM of"), 404);
	upstreams_open(w);
	/* One that came along a wrong way is answered from the store, without the upstreams. */
	struct make_answer a = get(w, target, wrong);
	assert_int_equal(a.status, 404);
	assert_string_equal(a.retry, "60");
	ux_out_deinit(&a.body);
	char loop[64];
	snprintf(loop, sizeof(loop), "X-Unhex-Via: %s", ux_fetcher_own_id(w->server->fetcher));
	a = get(w, target, (const char *const[]){loop, NULL});
	assert_int_equal(a.status, 404);
	assert_string_equal(a.retry, "60");
	ux_out_deinit(&a.body);
	uint64_t fetches = 1, refused = 1;
	ux_fetcher_load(w->server->fetcher, &fetches, &refused);
	assert_int_equal(fetches, 0);
	a = get(w, target, via);
	assert_int_equal(a.status, 503);
	assert_string_equal(a.retry, "1");
	ux_out_u8(&a.body, 0);
	assert_non_null(strstr((const char *)a.body.data, "\"pending\""));
	ux_out_deinit(&a.body);
	int64_t end = ux_clock_ms() + WAIT_MS;
	while (get_status(w, target, NULL) != 200 && ux_clock_ms() < end)
		usleep(1000);
	assert_int_equal(get_status(w, target, NULL), 200);
	/* Once all have said that they lack it, another server need not ask soon. */
	do {
		a = get(w, unknown, via);
		ux_out_deinit(&a.body);
	} while (a.status == 503 && ux_clock_ms() < end);
	assert_int_equal(a.status, 404);
	assert_string_equal(a.retry, "60");
	assert_int_equal(get_status(w, unknown, "no GSYM of"), 404);
}

/* --- reports about upstreams ------------------------------------------------------------------ */

static void answers_are_explained_and_counted(void **state)
{
	struct world *w = *state;
	static const char target[] = "/v1/explain/gnu:00112233445566778899aabbccddeeff00112233";
	static const char *const without[] = {"\"upstreams\":[]", "unhex serve --upstream", NULL};
	static const char *const idle[] = {
		"\"upstreams\":[{\"name\":\"a\",\"kind\":\"dir\",\"state\":\"in use\","
		"\"answers\":[]},{\"name\":\"b\",",
		NULL};
	static const char *const answered[] = {
		"\"artifact\":\"gsym\",\"outcome\":\"absent\",\"says\":\"no such file\"",
		"\"artifact\":\"executable\"", "\"not_again_before\":", NULL};
	static const char *const former[] = {"\"name\":\"a\",\"kind\":\"dir\"",
					     "{\"name\":\"b\",\"state\":\"no longer configured\","
					     "\"answers\":[{",
					     NULL};
	assert_get_has(w, target, without);
	struct make_answer a = get(w, "/metrics", NULL);
	ux_out_u8(&a.body, 0);
	assert_null(strstr((const char *)a.body.data, "unhex_upstream"));
	ux_out_deinit(&a.body);
	upstreams_open(w);
	assert_get_has(w, target, idle);
	struct ux_missing_module m = {
		.ns = UX_NAMESPACE_DEFAULT, .id = other_id, .wait_ms = WAIT_MS};
	(void)ux_upstream_fetch_missing(w->server, &m);
	put_example(w->dirs[1]);
	m.id = one_id;
	assert_int_equal(ux_upstream_fetch_missing(w->server, &m), UX_MISSING_ARRIVED);
	assert_get_has(w, target, answered);
	static const char *const metrics[] = {
		"unhex_upstream_answers_total{upstream=\"b\",outcome=\"found\"} 1\n",
		"unhex_upstream_answers_total{upstream=\"b\",outcome=\"absent\"} 3\n",
		"unhex_upstream_answers_total{upstream=\"b\",outcome=\"failed\"} 0\n",
		"unhex_upstream_bytes_total{upstream=\"a\"} 0\n",
		"unhex_upstream_bytes_total{upstream=\"b\"} 214\n",
		"unhex_upstream_skipped_total{upstream=\"a\"} 0\n",
		"# TYPE unhex_upstream_suspended gauge\n",
		"unhex_upstream_suspended{upstream=\"a\"} 0\n"
		"unhex_upstream_suspended{upstream=\"b\"} 0\n",
		"unhex_fetches 0\n",
		"unhex_fetches_refused_total 0\n",
		NULL};
	assert_get_has(w, "/metrics", metrics);
	a = get(w, "/metrics", NULL);
	ux_out_u8(&a.body, 0);
	size_t lines = 0;
	for (const char *p = strstr((const char *)a.body.data, "answers_total{"); p;
	     p = strstr(p + 1, "answers_total{"))
		lines++;
	assert_int_equal(lines, 6); /* two upstreams, three outcomes */
	ux_out_deinit(&a.body);
	/* An upstream that no longer configured is listed once, with its answers. */
	struct ux_settings one = w->settings;
	one.upstreams.n = 1;
	assert_int_equal(ux_server_upstreams_change(w->server, &one, NULL), UX_OK);
	assert_get_has(w, target, former);
	a = get(w, target, NULL);
	ux_out_u8(&a.body, 0);
	const char *first = strstr((const char *)a.body.data, "no longer configured");
	assert_non_null(first);
	assert_null(strstr(first + 1, "no longer configured"));
	ux_out_deinit(&a.body);
}

#define UPSTREAMS_TEST(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], UX_SANDBOX_WORD) == 0)
		return ux_sandbox_main();
	const struct CMUnitTest tests[] = {
		UPSTREAMS_TEST(a_gsym_is_checked_and_becomes_a_candidate),
		UPSTREAMS_TEST(an_elf_file_must_be_what_was_requested),
		UPSTREAMS_TEST(a_file_that_cannot_be_extracted_is_removed),
		UPSTREAMS_TEST(a_source_that_is_a_page_or_no_text_is_refused),
		UPSTREAMS_TEST(a_source_has_a_limit_of_bytes),
		UPSTREAMS_TEST(settings_are_checked_before_anything_is_opened),
		UPSTREAMS_TEST(a_change_of_settings_replaces_the_upstreams),
		UPSTREAMS_TEST(a_file_over_what_may_be_kept_is_refused),
		UPSTREAMS_TEST(a_missing_module_is_waited_for),
		UPSTREAMS_TEST(a_request_begins_a_fetch_and_another_server_gets_retry_after),
		UPSTREAMS_TEST(answers_are_explained_and_counted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
