/* SPDX-License-Identifier: Apache-2.0 */
/* Whole pushes of files, to a server that sends the test's answers. */
#include "sweep.h"

#include "extract.h"
#include "file.h"
#include "make_elf.h"
#include "push_run.h"
#include "scripted_server.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define WANTED   "{\"status\":\"wanted\"}"
#define THERE    "{\"status\":\"already-there\",\"quality\":\"symtab\"}"
#define UPLOADED "{\"status\":\"uploaded\",\"quality\":\"symtab\"}"

enum {
	RESULTS_MAX = 8
};

/* The server; large. Its answers are added before it starts. */
static struct script server;
static struct script_step steps[SCRIPT_STEPS_MAX];
static char texts[SCRIPT_STEPS_MAX][512];
static size_t n_steps;

struct world {
	char dir[64];
	size_t n;
	struct {
		char path[128], debug[128], reason[256];
		bool has_id;
		struct ux_push_result r; /* without its pointers */
	} results[RESULTS_MAX];
	struct ux_push_summary sum;
	struct ux_push_progress progress;
	unsigned n_progress;
	char read[512]; /* names of the files that were read, in order */
	struct ux_error err;
};

static int open_world(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	assert_non_null(w);
	n_steps = 0;
	snprintf(w->dir, sizeof(w->dir), "/tmp/unhex-push-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	*state = w;
	return 0;
}

static int close_world(void **state)
{
	struct world *w = *state;
	char command[128];
	snprintf(command, sizeof(command), "rm -rf '%s'", w->dir);
	assert_int_equal(system(command), 0);
	free(w);
	return 0;
}

static void on_result(void *ctx, const struct ux_push_result *r)
{
	struct world *w = ctx;
	assert_true(w->n < RESULTS_MAX);
	snprintf(w->results[w->n].path, 128, "%s", r->path);
	snprintf(w->results[w->n].debug, 128, "%s", r->debug ? r->debug : "");
	snprintf(w->results[w->n].reason, 256, "%s", r->reason);
	w->results[w->n].has_id = r->id != NULL;
	w->results[w->n].r = *r;
	w->n++;
}

static void on_progress(void *ctx, const struct ux_push_progress *progress)
{
	struct world *w = ctx;
	assert_true(progress->files >= w->progress.files && progress->bytes >= w->progress.bytes);
	w->progress = *progress;
	w->n_progress++;
}

static void on_reading(void *ctx, const char *path)
{
	struct world *w = ctx;
	size_t n = strlen(w->read);
	snprintf(w->read + n, sizeof(w->read) - n, "%s ", strrchr(path, '/') + 1);
}

static const char *path_of(const struct world *w, const char *name)
{
	static char paths[64][128];
	static unsigned next;
	char *path = paths[next++ % 64];
	snprintf(path, 128, "%s/%s", w->dir, name);
	return path;
}

static void write_file(const struct world *w, const char *name, struct ux_bytes bytes)
{
	FILE *f = fopen(path_of(w, name), "w");
	assert_non_null(f);
	assert_int_equal(fwrite(bytes.data, 1, bytes.size, f), bytes.size);
	assert_int_equal(fclose(f), 0);
}

/*
 * A library with one function, which has a name unless symbol is NULL, and with one more section
 * unless more is NULL.
 */
static void write_elf_with(const struct world *w, const char *name, uint8_t id, const char *symbol,
			   const struct make_section *more)
{
	struct make_elf m;
	uint8_t build_id[20];
	static const uint8_t code[64];
	memset(build_id, id, sizeof(build_id));
	make_elf_init(&m, 64, false);
	make_elf_note(&m, ".note.gnu.build-id", "GNU", 3, ux_bytes(build_id, sizeof(build_id)));
	uint32_t text = make_elf_section(
		&m, (struct make_section){.name = ".text",
					  .flags = SHF_ALLOC | SHF_EXECINSTR,
					  .addr = 0x1000,
					  .content = ux_bytes(code, sizeof(code))});
	make_elf_segment(
		&m, (struct make_segment){
			    .type = PT_LOAD, .flags = PF_R | PF_X, .first = text, .last = text});
	if (symbol)
		make_elf_symbol(&m, (struct make_symbol){.name = symbol,
							 .value = 0x1000,
							 .size = 64,
							 .section = text,
							 .type = STT_FUNC,
							 .bind = STB_GLOBAL});
	if (more)
		make_elf_section(&m, *more);
	write_file(w, name, make_elf_finish(&m));
	make_elf_deinit(&m);
}

static void write_elf(const struct world *w, const char *name, uint8_t id, const char *symbol)
{
	write_elf_with(w, name, id, symbol, NULL);
}

/* --- answers ---------------------------------------------------------------------------------- */

static void answer(unsigned status, const char *body)
{
	assert_true(n_steps < SCRIPT_STEPS_MAX);
	int n = snprintf(texts[n_steps], sizeof(texts[0]),
			 "HTTP/1.1 %u x\r\nConnection: close\r\n\r\n%s", status, body);
	assert_in_range(n, 1, sizeof(texts[0]) - 1);
	steps[n_steps] = (struct script_step){.answer = texts[n_steps], .close = true};
	n_steps++;
}

static void answer_query(const char *words)
{
	char body[256];
	snprintf(body, sizeof(body), "{\"answers\":[%s]}", words);
	answer(200, body);
}

/* Answers an upload of `size` bytes, sent in one request. */
static void answer_upload(size_t size, const char *words)
{
	char body[128];
	for (unsigned i = 0; i < 2; i++) {
		snprintf(body, sizeof(body),
			 "{\"uid\":\"00112233445566778899aabbccddeeff\",\"offset\":%zu,"
			 "\"chunk_size\":65536}",
			 i == 0 ? 0 : size);
		answer(i == 0 ? 201 : 200, body);
	}
	answer(200, words);
}

static void serve(void)
{
	script_open(&server, steps, n_steps);
}

/* All answers were given. */
static void end_server(void)
{
	assert_int_equal(script_close(&server), n_steps);
}

static size_t file_size(const struct world *w, const char *name)
{
	struct stat st;
	assert_int_equal(stat(path_of(w, name), &st), 0);
	return (size_t)st.st_size;
}

static enum ux_code count_bytes(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	(void)err;
	*(size_t *)ctx += bytes.size;
	return UX_OK;
}

/* Returns the size of the GSYM of a file, with the symbols of another unless that is NULL. */
static size_t gsym_size(const struct world *w, const char *name, const char *debug)
{
	struct ux_mapping exe = {0}, symbols = {0};
	struct ux_extract_stats stats;
	size_t size = 0;
	assert_int_equal(ux_file_map(path_of(w, name), &exe, NULL), UX_OK);
	if (debug)
		assert_int_equal(ux_file_map(path_of(w, debug), &symbols, NULL), UX_OK);
	const struct ux_extract_options how = {.path = path_of(w, name)};
	assert_int_equal(
		ux_extract(exe.bytes, symbols.bytes, &how, count_bytes, &size, &stats, NULL),
		UX_OK);
	ux_file_unmap(&exe);
	ux_file_unmap(&symbols);
	return size;
}

static enum ux_code push(struct world *w, struct ux_push_options o, const char *path)
{
	char *paths[] = {(char *)(uintptr_t)path};
	o.url = server.url;
	o.token = "key";
	o.debug_dirs = w->dir;
	o.timeout_ms = 60000;
	o.result = on_result;
	o.progress = on_progress;
	o.reading = on_reading;
	o.ctx = w;
	w->n = w->n_progress = 0;
	w->progress = (struct ux_push_progress){0};
	w->read[0] = '\0';
	w->err = (struct ux_error)UX_ERROR_INIT;
	return ux_push_run(&o, paths, path ? 1 : 0, &w->sum, &w->err);
}

static void assert_result(const struct world *w, size_t i, const char *name,
			  enum ux_push_status status, const char *reason)
{
	assert_true(i < w->n);
	if (strcmp(w->results[i].path, path_of(w, name)) != 0 || w->results[i].r.status != status ||
	    !strstr(w->results[i].reason, reason) ||
	    (reason[0] == '\0' && w->results[i].reason[0] != '\0'))
		fail_msg("%zu: %s: %s '%s'", i, w->results[i].path,
			 ux_push_status_name(w->results[i].r.status), w->results[i].reason);
}

static void assert_has(const char *request, const char *text)
{
	if (!strstr(request, text))
		fail_msg("'%s' is not in '%.2000s'", text, request);
}

#define ID_A "gnu:abababababababababababababababababababab"

static void a_library_is_queried_extracted_and_sent(void **state)
{
	struct world *w = *state;
	write_elf(w, "a.so", 0xab, "one");
	answer_query(WANTED);
	answer_upload(gsym_size(w, "a.so", NULL), UPLOADED);
	serve();
	assert_int_equal(push(w,
			      (struct ux_push_options){.description = "a build", .describes = true},
			      path_of(w, "a.so")),
			 UX_OK);
	assert_int_equal(w->n, 1);
	assert_result(w, 0, "a.so", UX_PUSH_DONE_UPLOADED, "");
	assert_true(w->results[0].has_id);
	assert_int_equal(w->results[0].r.quality, UX_QUALITY_SYMTAB);
	assert_int_equal(w->results[0].r.counts.functions, 1);
	assert_true(w->results[0].r.size > 0);
	assert_false(w->results[0].r.quiet || w->results[0].r.planned ||
		     w->results[0].r.is_sources);
	assert_int_equal(w->sum.counts[UX_PUSH_DONE_UPLOADED], 1);
	assert_int_equal(w->progress.files, 1);
	assert_int_equal(w->progress.files_total, 1);
	assert_has(server.requests[0], "POST /v1/query ");
	assert_has(server.requests[0], "\"" ID_A "\"");
	assert_has(server.requests[0], "\"quality\":\"symtab\"");
	assert_has(server.requests[1], "POST /v1/uploads ");
	assert_has(server.requests[1], "\"kind\":\"gsym\"");
	assert_has(server.requests[1], "\"description\":\"a build\"");
	assert_has(server.requests[1], "a.so\"");
	end_server();
}

static void what_the_server_has_is_not_sent(void **state)
{
	struct world *w = *state;
	write_elf(w, "a.so", 0xab, "one");
	answer_query(THERE);
	answer_query(
		"{\"status\":\"better-there\",\"quality\":\"lines\",\"reason\":\"it has more\"}");
	answer_query("{\"status\":\"invalid\",\"reason\":\"no such ID\"}");
	answer_query(THERE);
	answer_upload(gsym_size(w, "a.so", NULL), UPLOADED);
	serve();
	static const enum ux_push_status statuses[] = {
		UX_PUSH_DONE_ALREADY_THERE, UX_PUSH_DONE_BETTER_THERE, UX_PUSH_DONE_FAILED};
	static const char *const reasons[] = {"", "it has more", "no such ID"};
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(push(w, (struct ux_push_options){0}, path_of(w, "a.so")), UX_OK);
		assert_int_equal(w->n, 1);
		assert_result(w, 0, "a.so", statuses[i], reasons[i]);
		assert_int_equal(w->sum.counts[statuses[i]], 1);
		assert_int_equal(w->results[0].r.size, 0);
	}
	/* A description still goes there. */
	assert_int_equal(push(w,
			      (struct ux_push_options){.description = "a build", .describes = true},
			      path_of(w, "a.so")),
			 UX_OK);
	assert_result(w, 0, "a.so", UX_PUSH_DONE_UPLOADED, "");
	end_server();
}

static void a_dry_run_sends_nothing(void **state)
{
	struct world *w = *state;
	write_elf(w, "a.so", 0xab, "one");
	answer_query(WANTED);
	answer_query(THERE);
	answer_query(THERE);
	serve();
	struct ux_push_options o = {.dry_run = true};
	assert_int_equal(push(w, o, path_of(w, "a.so")), UX_OK);
	assert_result(w, 0, "a.so", UX_PUSH_DONE_SKIPPED, "dry run: would be uploaded");
	assert_true(w->results[0].r.planned);
	assert_int_equal(w->sum.planned, 1);
	assert_int_equal(push(w, o, path_of(w, "a.so")), UX_OK);
	assert_result(w, 0, "a.so", UX_PUSH_DONE_ALREADY_THERE, "");
	o.description = "a build";
	o.describes = true;
	assert_int_equal(push(w, o, path_of(w, "a.so")), UX_OK);
	assert_result(w, 0, "a.so", UX_PUSH_DONE_SKIPPED, "dry run: would be described");
	assert_false(w->results[0].r.planned);
	assert_int_equal(w->sum.planned, 0);
	end_server();
}

/* A named file must have symbols; a folder may contain anything. */
static void files_without_symbols_fail_when_they_are_named(void **state)
{
	struct world *w = *state;
	write_elf(w, "a.so", 0xab, "one");
	answer_query(WANTED);
	answer_upload(gsym_size(w, "a.so", NULL), UPLOADED);
	serve();
	write_elf(w, "empty.so", 0xcd, NULL);
	write_file(w, "text", UX_STR("no program"));
	assert_int_equal(push(w, (struct ux_push_options){0}, path_of(w, "empty.so")), UX_OK);
	assert_int_equal(w->n, 1);
	assert_result(w, 0, "empty.so", UX_PUSH_DONE_FAILED, "has no symbols");
	assert_int_equal(push(w, (struct ux_push_options){0}, path_of(w, "text")), UX_OK);
	assert_result(w, 0, "text", UX_PUSH_DONE_FAILED, "not an ELF file");
	assert_false(w->results[0].r.quiet);
	assert_int_equal(push(w, (struct ux_push_options){0}, path_of(w, "nowhere")), UX_OK);
	assert_result(w, 0, "nowhere", UX_PUSH_DONE_FAILED, "No such file");
	write_elf(w, "b.so", 0xab, "one"); /* of the same ID */
	assert_int_equal(push(w, (struct ux_push_options){0}, w->dir), UX_OK);
	assert_int_equal(w->n, 4);
	assert_result(w, 0, "b.so", UX_PUSH_DONE_SKIPPED, "same ID as");
	assert_false(w->results[0].r.quiet);
	assert_result(w, 1, "text", UX_PUSH_DONE_SKIPPED, "not an ELF file");
	assert_true(w->results[1].r.quiet);
	assert_result(w, 2, "empty.so", UX_PUSH_DONE_SKIPPED, "has no symbols");
	assert_result(w, 3, "a.so", UX_PUSH_DONE_UPLOADED, "");
	assert_int_equal(w->sum.quiet, 1);
	assert_int_equal(w->sum.counts[UX_PUSH_DONE_SKIPPED], 3);
	assert_int_equal(w->progress.files_total, 1);
	end_server();
}

static void files_are_sent_themselves_on_order(void **state)
{
	struct world *w = *state;
	write_elf(w, "a.so", 0xab, "one");
	answer_query(THERE);
	answer_upload(file_size(w, "a.so"), UPLOADED);
	answer_query(THERE);
	answer_upload(file_size(w, "a.so"), "{\"status\":\"uploaded\",\"quality\":\"none\"}");
	answer_upload(gsym_size(w, "a.so", NULL), UPLOADED);
	serve();
	struct ux_push_options o = {.with_debuginfo = true};
	assert_int_equal(push(w, o, path_of(w, "a.so")), UX_OK);
	assert_int_equal(w->n, 1);
	assert_result(w, 0, "a.so", UX_PUSH_DONE_UPLOADED, "");
	assert_has(server.requests[1], "\"kind\":\"executable\"");
	/* The server's result is poorer than this machine's: the GSYM is sent too. */
	assert_int_equal(push(w, o, path_of(w, "a.so")), UX_OK);
	assert_int_equal(w->n, 2);
	assert_int_equal(w->results[0].r.quality, UX_QUALITY_NONE);
	assert_int_equal(w->results[1].r.quality, UX_QUALITY_SYMTAB);
	assert_has(server.requests[8], "\"kind\":\"gsym\"");
	end_server();
}

/* A program whose symbols are in a separate file. */
static void a_pair_is_pushed_as_one(void **state)
{
	struct world *w = *state;
	write_elf(w, "a", 0xab, NULL);
	write_elf(w, "a.debug", 0xab, "one");
	write_elf(w, "b.debug", 0xba, "one");
	answer_query(WANTED);
	answer_upload(gsym_size(w, "a", "a.debug"), UPLOADED);
	serve();
	struct ux_push_options o = {.exe = path_of(w, "a"), .debug = path_of(w, "a.debug")};
	assert_int_equal(push(w, o, NULL), UX_OK);
	assert_int_equal(w->n, 1);
	assert_result(w, 0, "a", UX_PUSH_DONE_UPLOADED, "");
	assert_string_equal(w->results[0].debug, path_of(w, "a.debug"));
	assert_int_equal(w->results[0].r.quality, UX_QUALITY_SYMTAB);
	o.debug = path_of(w, "b.debug");
	assert_int_equal(push(w, o, NULL), UX_OK);
	assert_int_equal(w->n, 1);
	assert_result(w, 0, "a", UX_PUSH_DONE_FAILED, "build ID");
	end_server();
}

static void make_folder(const struct world *w, const char *name)
{
	assert_int_equal(mkdir(path_of(w, name), 0700), 0);
}

#define FOUND ".build-id/ab/ababababababababababababababababababab.debug"

/* A debug file that was found is left out if it is damaged. */
static void symbols_are_found_by_the_build_id(void **state)
{
	struct world *w = *state;
	make_folder(w, ".build-id");
	make_folder(w, ".build-id/ab");
	write_elf(w, "a", 0xab, NULL);
	write_elf(w, FOUND, 0xab, "one");
	answer_query(WANTED);
	answer_upload(gsym_size(w, "a", FOUND), UPLOADED);
	answer_query(THERE);
	serve();
	assert_int_equal(push(w, (struct ux_push_options){0}, path_of(w, "a")), UX_OK);
	assert_int_equal(w->n, 1);
	assert_result(w, 0, "a", UX_PUSH_DONE_UPLOADED, "");
	assert_string_equal(w->results[0].debug, path_of(w, FOUND));
	assert_int_equal(w->results[0].r.quality, UX_QUALITY_SYMTAB);
	/* That is also the file with the symbols if nothing is sent. */
	assert_int_equal(push(w, (struct ux_push_options){0}, path_of(w, "a")), UX_OK);
	assert_result(w, 0, "a", UX_PUSH_DONE_ALREADY_THERE, "");
	end_server();
}

/* A damaged file fails alone, also in a folder. */
static void a_damaged_file_fails_and_the_others_go_on(void **state)
{
	struct world *w = *state;
	static const uint8_t garbage[64] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	const struct make_section info = {.name = ".debug_info",
					  .content = ux_bytes(garbage, sizeof(garbage))};
	write_elf_with(w, "a.so", 0xab, NULL, &info);
	write_elf(w, "b.so", 0xba, "one");
	write_file(w, "cut.so", UX_STR("\177ELF\2\1\1"));
	answer_query(WANTED "," WANTED);
	answer_upload(gsym_size(w, "b.so", NULL), UPLOADED);
	serve();
	assert_int_equal(push(w, (struct ux_push_options){0}, w->dir), UX_OK);
	assert_int_equal(w->n, 3);
	assert_result(w, 0, "cut.so", UX_PUSH_DONE_FAILED, "ends too early");
	assert_false(w->results[0].r.quiet);
	assert_result(w, 1, "a.so", UX_PUSH_DONE_SKIPPED, "no symbols");
	assert_result(w, 2, "b.so", UX_PUSH_DONE_UPLOADED, "");
	assert_int_equal(w->progress.files, 2);
	end_server();
}

static void an_error_of_the_connection_ends_the_push(void **state)
{
	struct world *w = *state;
	write_elf(w, "a.so", 0xab, "one");
	answer(401, "{\"error\":{\"code\":\"denied\",\"message\":\"no key\"}}");
	answer_query(WANTED);
	answer(403, "{\"error\":{\"code\":\"denied\",\"message\":\"no scope\"}}");
	serve();
	assert_int_equal(push(w, (struct ux_push_options){0}, path_of(w, "a.so")), UX_EDENIED);
	assert_has(w->err.text, "no key");
	assert_int_equal(push(w, (struct ux_push_options){0}, path_of(w, "a.so")), UX_EDENIED);
	assert_has(w->err.text, "no scope");
	end_server();
}

#define PUSH_TEST(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)

UX_SUITE(push_run)
{
	const struct CMUnitTest tests[] = {
		PUSH_TEST(a_library_is_queried_extracted_and_sent),
		PUSH_TEST(what_the_server_has_is_not_sent),
		PUSH_TEST(a_dry_run_sends_nothing),
		PUSH_TEST(files_without_symbols_fail_when_they_are_named),
		PUSH_TEST(files_are_sent_themselves_on_order),
		PUSH_TEST(a_pair_is_pushed_as_one),
		PUSH_TEST(symbols_are_found_by_the_build_id),
		PUSH_TEST(a_damaged_file_fails_and_the_others_go_on),
		PUSH_TEST(an_error_of_the_connection_ends_the_push),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
