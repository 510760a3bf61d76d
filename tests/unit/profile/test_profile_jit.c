/* SPDX-License-Identifier: Apache-2.0 */
/* Names of run-time code in recordings of perf, from the jitdumps at the time of a sample. */
#include "sweep.h"

#include "file.h"
#include "make_jitdump.h"
#include "make_perf.h"
#include "perf_data.h"
#include "perf_script.h"
#include "profile_jit.h"

#include <time.h>
#include <unistd.h>

enum {
	ID = 41,
	PID = 100,
	CODE = 0x10000,
	OTHER = 0x20000,
	SIZE = 0x100
};

/* A folder that has the recorded jitdump at its path below. */
struct machine {
	char folder[32];
	char path[64];
};

static void write_file(const char *path, struct ux_bytes bytes)
{
	struct ux_file_new f = UX_FILE_NEW_INIT;
	assert_int_equal(ux_file_new_open(&f, path, NULL), UX_OK);
	assert_int_equal(ux_file_write(f.fd, bytes, NULL), UX_OK);
	assert_int_equal(ux_file_new_commit(&f, false, NULL), UX_OK);
	ux_file_new_deinit(&f);
}

/* "first" is replaced by "second" at time 200, which is moved at time 300. */
static void machine_start(struct machine *m, uint64_t flags)
{
	struct ux_out out = {0};
	(void)snprintf(m->folder, sizeof(m->folder), "/tmp/unhex-jit-XXXXXX");
	assert_non_null(mkdtemp(m->folder));
	(void)snprintf(m->path, sizeof(m->path), "%s/jit-100.dump", m->folder);
	make_jit_header(&out, 0, flags);
	make_jit_load(&out, (struct make_jit_load){100, CODE, SIZE, 1, "first", 0});
	make_jit_load(&out, (struct make_jit_load){200, CODE, SIZE, 2, "second", 0});
	make_jit_move(&out, 300, CODE, OTHER, SIZE, 2);
	write_file(m->path, ux_out_bytes(&out));
	ux_out_deinit(&out);
}

static void machine_end(struct machine *m)
{
	(void)unlink(m->path);
	assert_int_equal(rmdir(m->folder), 0);
}

/* A recording, its profile and the source of its names. */
struct recording {
	struct ux_out out;
	struct ux_profile p;
	struct ux_perf_summary s;
	struct ux_process_cache *cache;
	struct ux_profile_sources sources;
	struct ux_profile_jit jit;
};

static struct make_perf_at at_time(uint64_t time)
{
	return (struct make_perf_at){.pid = PID, .tid = PID, .time = time, .id = ID};
}

static void recording_map(struct recording *r, uint64_t time, uint64_t start, const char *path)
{
	make_perf_mmap(&r->out, at_time(time),
		       (struct make_perf_mapping){.start = start, .length = 0x1000, .path = path});
}

static void recording_sample(struct recording *r, uint64_t time, uint64_t address)
{
	const uint64_t chain[] = {UX_PERF_CONTEXT_USER, address};
	make_perf_sample(&r->out, at_time(time), chain, ux_countof(chain));
}

/* A recording with times of CLOCK_MONOTONIC or of perf's own clock. */
static void recording_start(struct recording *r, bool monotonic)
{
	const struct make_perf_event event = {
		.type = UX_PERF_TYPE_HARDWARE,
		.sample_type = MAKE_PERF_SAMPLE,
		.id = ID,
		.monotonic = monotonic,
	};
	struct ux_process_cache_opts opts = {.size = sizeof(opts), .debug_dirs = "/nonexistent"};
	*r = (struct recording){0};
	assert_int_equal(ux_process_cache_create(&opts, &r->cache, NULL), UX_OK);
	r->sources = (struct ux_profile_sources){.cache = r->cache};
	make_perf_head(&r->out, &event, 1, true);
	recording_map(r, 1, CODE, "//anon");
	recording_map(r, 2, OTHER, "//anon");
}

/* Compares the names of the leaves: "first; second". */
static void profile_expect(const struct ux_profile *p, const char *expected)
{
	char text[256] = "";
	size_t n = 0;
	for (size_t i = 0; i < p->samples.size && n < sizeof(text); i++) {
		const struct ux_profile_location *l =
			&p->locations.data[p->stacks.data[p->samples.data[i].stack].location];
		const struct ux_profile_frame *f = &p->frames.data[l->first];
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", i > 0 ? "; " : "",
				      l->n > 0 ? (const char *)ux_profile_text(p, f->linkage).data
					       : "-");
	}
	assert_string_equal(text, expected);
}

static void recording_expect(struct recording *r, const char *expected)
{
	r->jit.sources = &r->sources;
	assert_int_equal(ux_profile_init(&r->p, NULL), UX_OK);
	r->p.keep_times = true;
	struct ux_perf_source source = {ux_out_bytes(&r->out), -1, .jit = &r->jit};
	assert_int_equal(ux_perf_data_read(source, &r->p, &r->s, NULL), UX_OK);
	profile_expect(&r->p, expected);
}

static void recording_end(struct recording *r)
{
	ux_profile_jit_deinit(&r->jit);
	ux_profile_deinit(&r->p);
	ux_process_cache_free(r->cache);
	ux_out_deinit(&r->out);
}

/* Fills in the code of each sample. */
static void recording_fill(struct recording *r, const char *dump)
{
	recording_map(r, 3, 0x90000, dump);
	recording_sample(r, 50, CODE + 4); /* nothing was there yet */
	recording_sample(r, 150, CODE + 4);
	recording_sample(r, 150, CODE + 4);
	recording_sample(r, 250, CODE + 4);
	recording_sample(r, 350, OTHER + 4);
	recording_sample(r, 350, CODE + 4); /* it was moved away */
}

static void samples_have_the_code_of_their_time(void **state)
{
	(void)state;
	struct machine m;
	struct recording r;
	machine_start(&m, 0);
	recording_start(&r, true);
	recording_fill(&r, m.path);
	recording_expect(&r, "-; first; first; second; second; -");
	assert_int_equal(r.s.untimed, 0);
	assert_int_equal(r.s.unmapped, 0);
	recording_end(&r);
	machine_end(&m);
}

static void callers_are_looked_up_again_when_the_code_has_changed(void **state)
{
	(void)state;
	struct machine m;
	struct recording r;
	const uint64_t chain[] = {UX_PERF_CONTEXT_USER, 0x50, CODE + 8};
	machine_start(&m, 0);
	recording_start(&r, true);
	recording_map(&r, 3, 0x90000, m.path);
	make_perf_sample(&r.out, at_time(150), chain, ux_countof(chain));
	make_perf_sample(&r.out, at_time(250), chain, ux_countof(chain));
	recording_expect(&r, "-; -");
	const char *const expected[] = {"first", "second"};
	for (size_t i = 0; i < 2; i++) {
		const struct ux_profile *p = &r.p;
		uint32_t caller = p->stacks.data[p->samples.data[i].stack].caller;
		const struct ux_profile_location *l =
			&p->locations.data[p->stacks.data[caller].location];
		assert_true(l->returns);
		assert_int_equal(l->n, 1);
		assert_string_equal(
			(const char *)ux_profile_text(p, p->frames.data[l->first].linkage).data,
			expected[i]);
	}
	recording_end(&r);
	machine_end(&m);
}

static void times_of_another_clock_give_the_last_code_and_are_counted(void **state)
{
	(void)state;
	struct machine m;
	struct recording r;
	for (unsigned other = 0; other < 2; other++) {
		/* First the recording has another clock, then the jitdump. */
		machine_start(&m, other);
		recording_start(&r, other != 0);
		recording_fill(&r, m.path);
		recording_expect(&r, "-; -; -; -; second; -");
		assert_int_equal(r.s.untimed, 1);
		recording_end(&r);
		machine_end(&m);
	}
}

static void a_child_has_the_code_of_its_parent_until_it_runs_a_program(void **state)
{
	(void)state;
	struct machine m;
	struct recording r;
	const uint64_t chain[] = {UX_PERF_CONTEXT_USER, CODE + 4};
	struct make_perf_at child = {.pid = 200, .tid = 200, .time = 160, .id = ID};
	machine_start(&m, 0);
	recording_start(&r, true);
	recording_map(&r, 3, 0x90000, m.path);
	make_perf_fork(&r.out, child, PID);
	child.time = 170;
	make_perf_sample(&r.out, child, chain, ux_countof(chain));
	child.time = 180;
	make_perf_comm(&r.out, child, "program", true);
	child.time = 190;
	make_perf_sample(&r.out, child, chain, ux_countof(chain));
	recording_expect(&r, "first; -");
	recording_end(&r);
	machine_end(&m);
}

static void a_jitdump_of_another_machine_is_found_below_a_folder(void **state)
{
	(void)state;
	struct machine m;
	struct recording r;
	machine_start(&m, 0);
	recording_start(&r, true);
	r.sources.file_dirs = m.folder;
	r.sources.no_local = true;
	recording_fill(&r, "/jit-100.dump");
	recording_expect(&r, "-; first; first; second; second; -");
	recording_end(&r);
	machine_end(&m);
}

static void a_jitdump_that_is_not_here_is_a_reason(void **state)
{
	(void)state;
	struct recording r;
	recording_start(&r, true);
	recording_fill(&r, "/nonexistent/jit-100.dump");
	recording_expect(&r, "-; -; -; -; -; -");
	const struct ux_profile_modules *modules = &r.p.modules;
	size_t reasons = 0;
	for (size_t i = 1; i < modules->size; i++)
		reasons += modules->data[i].why != 0 && modules->data[i].source == 0;
	assert_int_equal(reasons, 1);
	recording_end(&r);
}

/* The same samples as perf prints them, with times in nanoseconds, after other lines. */
static void text_fill(struct ux_out *out, const char *before)
{
	static const struct {
		unsigned time, address;
	} samples[] = {{50, CODE + 4},  {150, CODE + 4},  {151, CODE + 4},
		       {250, CODE + 4}, {350, OTHER + 4}, {350, CODE + 4}};
	ux_out_cstr(out, before);
	for (size_t i = 0; i < ux_countof(samples); i++)
		ux_out_fmt(out,
			   "node 123 0.%09u:    1 cpu-clock:u: \n\t %x [unknown] "
			   "(/tmp/perf-100.map)\n\t %x run+0x4 (/usr/bin/node)\n\n",
			   samples[i].time, samples[i].address, i == 2 ? 0x501 : 0x500);
}

static void text_expect(struct recording *r, const char *text, const char *expected)
{
	r->jit.sources = &r->sources;
	assert_int_equal(ux_profile_init(&r->p, NULL), UX_OK);
	r->p.keep_times = true;
	assert_int_equal(ux_perf_script_read(ux_bytes_cstr(text), &r->jit, &r->p, NULL), UX_OK);
	profile_expect(&r->p, expected);
}

#define TEXT_EVENT     "# event : name = cpu-clock:u, , sample_id_all = 1, use_clockid = 1, "
#define TEXT_MONOTONIC TEXT_EVENT "bpf_event = 1, clockid = 1\n"

static void a_text_has_the_code_of_its_times_by_a_jitdump_with_the_name_of_the_process(void **state)
{
	(void)state;
	struct machine m;
	struct recording r;
	ux_cleanup(ux_out_deinit) struct ux_out text = {0}, again = {0};
	machine_start(&m, 0);
	recording_start(&r, true);
	r.sources.file_dirs = m.folder;
	r.sources.no_local = true;
	text_fill(&text, TEXT_MONOTONIC);
	ux_out_u8(&text, 0);
	const char *bytes = (const char *)ux_out_bytes(&text).data;
	text_expect(&r, bytes, "-; first; first; second; second; -");
	assert_int_equal(r.jit.untimed + r.jit.unsure, 0);
	/* The text gets the same names in the same places. */
	assert_int_equal(ux_perf_script_rewrite(ux_bytes_cstr(bytes), &r.jit, &r.p,
						UX_DEMANGLE_FULL, &again, NULL),
			 UX_OK);
	ux_out_u8(&again, 0);
	const char *at = (const char *)ux_out_bytes(&again).data;
	static const char *const lines[] = {
		"10004 [unknown] (/tmp/perf-100.map)", "10004 first (/tmp/perf-100.map)",
		"10004 first (/tmp/perf-100.map)",     "10004 second (/tmp/perf-100.map)",
		"20004 second (/tmp/perf-100.map)",    "10004 [unknown] (/tmp/perf-100.map)",
	};
	for (size_t i = 0; i < ux_countof(lines); i++) {
		at = strstr(at, "0004 ");
		assert_non_null(at);
		assert_memory_equal(at - 1, lines[i], strlen(lines[i]));
		at++;
	}
	assert_null(strstr(at, "0004 "));
	recording_end(&r);
	machine_end(&m);
}

static void a_mapping_in_the_text_says_where_the_jitdump_is(void **state)
{
	(void)state;
	struct machine m;
	struct recording r;
	ux_cleanup(ux_out_deinit) struct ux_out text = {0}, before = {0};
	machine_start(&m, 0);
	recording_start(&r, true);
	ux_out_fmt(&before,
		   "%snode 100 0.000000003: PERF_RECORD_MMAP2 100/100: [0x90000(0x1000) @ 0 fe:00 "
		   "1 2]: r-xp %s\n",
		   TEXT_MONOTONIC, m.path);
	ux_out_u8(&before, 0);
	text_fill(&text, (const char *)ux_out_bytes(&before).data);
	ux_out_u8(&text, 0);
	text_expect(&r, (const char *)ux_out_bytes(&text).data,
		    "-; first; first; second; second; -");
	recording_end(&r);
	machine_end(&m);
}

static void a_text_with_another_clock_gets_the_last_code(void **state)
{
	(void)state;
	static const char *const others[] = {
		TEXT_EVENT "clockid = 11\n", TEXT_EVENT "clockid = 4\n",
		"# event : name = cycles, , sample_id_all = 1, bpf_event = 1\n"};
	for (size_t i = 0; i < ux_countof(others); i++) {
		struct machine m;
		struct recording r;
		ux_cleanup(ux_out_deinit) struct ux_out text = {0};
		machine_start(&m, 0);
		recording_start(&r, true);
		r.sources.file_dirs = m.folder;
		text_fill(&text, others[i]);
		ux_out_u8(&text, 0);
		text_expect(&r, (const char *)ux_out_bytes(&text).data, "-; -; -; -; second; -");
		assert_int_equal(r.jit.untimed, 1);
		assert_int_equal(r.jit.unsure, 0);
		recording_end(&r);
		machine_end(&m);
	}
}

/* Without a header the times are assumed to be the jitdump's; a microsecond ends where the next one
 * begins. */
static void a_text_without_a_header_is_counted(void **state)
{
	(void)state;
	struct machine m;
	struct recording r;
	machine_start(&m, 0);
	recording_start(&r, true);
	r.sources.file_dirs = m.folder;
	text_expect(&r,
		    "node 100 0.000000: 1 cycles: \n\t 20004 [unknown] (//anon)\n\n"
		    "node 100 0.000000150: 1 cycles: \n\t 10004 [unknown] (//anon)\n\n",
		    "second; first");
	assert_int_equal(r.jit.unsure, 2);
	assert_int_equal(r.jit.untimed, 0);
	recording_end(&r);
	machine_end(&m);
}

static void samples_without_callchains_are_lines_of_their_own(void **state)
{
	(void)state;
	struct machine m;
	struct recording r;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	const char *text =
		"            dead 100 0.000000150:   10309278 cpu-clock:u:   10004 "
		"[unknown] (//anon)\n"
		"            dead 100 0.000000150:      10004 [unknown] (//anon)\n"
		"            dead 100 0.000000250:   7 a:b:   10004 [unknown] (//anon)\n";
	machine_start(&m, 0);
	recording_start(&r, true);
	r.sources.file_dirs = m.folder;
	assert_true(ux_perf_script_is(ux_bytes_cstr(text)));
	text_expect(&r, text, "first; first; second");
	assert_int_equal(ux_profile_sample_values(&r.p, &r.p.samples.data[0])[1], 10309278);
	assert_int_equal(ux_profile_sample_values(&r.p, &r.p.samples.data[1])[1], 1);
	assert_int_equal(ux_profile_sample_values(&r.p, &r.p.samples.data[2])[1], 7);
	assert_int_equal(ux_perf_script_rewrite(ux_bytes_cstr(text), &r.jit, &r.p, UX_DEMANGLE_FULL,
						&out, NULL),
			 UX_OK);
	ux_out_u8(&out, 0);
	assert_string_equal(
		(const char *)ux_out_bytes(&out).data,
		"            dead 100 0.000000150:   10309278 cpu-clock:u:   10004 first (//anon)\n"
		"            dead 100 0.000000150:      10004 first (//anon)\n"
		"            dead 100 0.000000250:   7 a:b:   10004 second (//anon)\n");
	recording_end(&r);
	machine_end(&m);
}

UX_SUITE(profile_jit)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(a_text_has_the_code_of_its_times_by_a_jitdump_with_the_name_of_the_process),
		UX_TEST(a_mapping_in_the_text_says_where_the_jitdump_is),
		UX_TEST(a_text_with_another_clock_gets_the_last_code),
		UX_TEST(a_text_without_a_header_is_counted),
		UX_TEST(samples_without_callchains_are_lines_of_their_own),
		UX_TEST(samples_have_the_code_of_their_time),
		UX_TEST(callers_are_looked_up_again_when_the_code_has_changed),
		UX_TEST(times_of_another_clock_give_the_last_code_and_are_counted),
		UX_TEST(a_child_has_the_code_of_its_parent_until_it_runs_a_program),
		UX_TEST(a_jitdump_of_another_machine_is_found_below_a_folder),
		UX_TEST(a_jitdump_that_is_not_here_is_a_reason),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
