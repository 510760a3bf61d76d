/* SPDX-License-Identifier: Apache-2.0 */
/* Names of run-time code in recordings of perf, by what jitdumps have at the time of a sample. */
#include "sweep.h"

#include "file.h"
#include "make_jitdump.h"
#include "make_perf.h"
#include "perf_data.h"
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

/* A recording, its profile and what names it. */
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

/* Reads it, and compares the names of the leaves: "first; second". */
static void recording_expect(struct recording *r, const char *expected)
{
	char text[256] = "";
	size_t n = 0;
	struct ux_profile *p = &r->p;
	r->jit.sources = &r->sources;
	assert_int_equal(ux_profile_init(p, NULL), UX_OK);
	p->keep_times = true;
	struct ux_perf_source source = {ux_out_bytes(&r->out), -1, .jit = &r->jit};
	assert_int_equal(ux_perf_data_read(source, p, &r->s, NULL), UX_OK);
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

static void recording_end(struct recording *r)
{
	ux_profile_jit_deinit(&r->jit);
	ux_profile_deinit(&r->p);
	ux_process_cache_free(r->cache);
	ux_out_deinit(&r->out);
}

/* What was the code of each sample. */
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
		assert_string_equal(ux_profile_text(p, p->frames.data[l->first].linkage).data,
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(samples_have_the_code_of_their_time),
		UX_TEST(callers_are_looked_up_again_when_the_code_has_changed),
		UX_TEST(times_of_another_clock_give_the_last_code_and_are_counted),
		UX_TEST(a_child_has_the_code_of_its_parent_until_it_runs_a_program),
		UX_TEST(a_jitdump_of_another_machine_is_found_below_a_folder),
		UX_TEST(a_jitdump_that_is_not_here_is_a_reason),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
