/* SPDX-License-Identifier: Apache-2.0 */
/* Limits for a hostile file of 1 MB: 2 s of processor time, 256 MiB of memory. */
#include "sweep.h"

#include "extract.h"
#include "gsym_inspect.h"
#include "gsym_reader.h"
#include "make_hostile.h"
#include "make_hostile_gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

enum {
	/* Sanitizers take up to ten times the time, the thread sanitizer twenty times, and keep
	 * freed memory. */
	SECONDS_MAX = SANITIZED ? 40 : 4, /* twice the time of the costliest file while other work
					     runs */
	MEMORY_MAX_MB = SANITIZED ? 4096 : 256,
	STOP_AFTER_S = 60, /* s of processor time: the kernel ends it */
	LOOKUPS = 1000,
};

static enum ux_code collect(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	ux_out_put(ctx, bytes.data, bytes.size);
	return ux_out_status(ctx, err);
}

/* Extracts, verifies, and asks. path: where the file's package is, or NULL. */
static void use(struct ux_bytes file, const char *path)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_extract_options options = {.threads = 2, .path = path};
	struct ux_extract_stats stats;
	struct ux_error err = UX_ERROR_INIT;
	struct ux_gsym g;
	struct ux_gsym_notes notes;
	enum ux_code code = ux_extract(file, UX_BYTES_NONE, &options, collect, &out, &stats, &err);
	printf("  %s", code == UX_OK ? "extracted" : err.text);
	if (code != UX_OK)
		return;
	if (ux_gsym_open(&g, ux_out_bytes(&out), NULL) != UX_OK ||
	    ux_gsym_verify(&g, &notes, NULL) != UX_OK)
		exit(2);
	for (uint64_t i = 0; i < LOOKUPS; i++) {
		struct ux_frame frames[UX_FRAMES_MAX];
		size_t n = 0;
		if (ux_gsym_lookup(&g, MAKE_HOSTILE_TEXT + 997 * i, frames, UX_FRAMES_MAX, &n,
				   NULL) == UX_ECORRUPT)
			exit(5);
	}
	if (ux_gsym_index_build(&g, NULL) != UX_OK)
		exit(3);
	ux_gsym_index_free(&g);
}

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

/* In a child process, so that its memory is counted separately. */
static void check_cost(const char *name, struct ux_bytes file, const char *path)
{
	struct rusage used;
	int status = 0;
	assert_in_range(file.size, 1000, MAKE_HOSTILE_SIZE + MAKE_HOSTILE_SIZE / 8);
	fflush(stdout);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		struct rlimit stop = {STOP_AFTER_S, STOP_AFTER_S};
		if (setrlimit(RLIMIT_CPU, &stop) != 0)
			_exit(4);
		use(file, path);
		fflush(stdout);
		_exit(0);
	}
	assert_int_equal(wait4(child, &status, 0, &used), child);
	double took = seconds(used.ru_utime) + seconds(used.ru_stime);
	long mb = used.ru_maxrss / 1024;
	printf("  %s: %.2f s, %ld MB\n", name, took, mb);
	assert_int_equal(status, 0);
	assert_true(took <= SECONDS_MAX);
	assert_true(mb <= MEMORY_MAX_MB);
}

static void every_hostile_file_stays_in_its_bounds(void **state)
{
	(void)state;
	for (size_t i = 0; i < make_hostile_count; i++) {
		const char *only = getenv("UX_HOSTILE");
		if (only && strcmp(only, make_hostile_kinds[i].name) != 0)
			continue;
		struct make_hostile m;
		check_cost(make_hostile_kinds[i].name,
			   make_hostile_file(&m, &make_hostile_kinds[i]), NULL);
		/* With a search for split units, whose skeletons are small, a thread takes a few
		 * units at a time. */
		if (strncmp(make_hostile_kinds[i].name, "units", 5) == 0)
			check_cost(make_hostile_kinds[i].name, ux_out_bytes(&m.elf.file),
				   "/nonexistent/a");
		make_hostile_deinit(&m);
	}
}

static void every_hostile_cubin_stays_in_its_bounds(void **state)
{
	(void)state;
	for (size_t i = 0; i < make_hostile_gpu_count; i++) {
		const struct make_hostile_gpu_kind *kind = &make_hostile_gpu_kinds[i];
		const char *only = getenv("UX_HOSTILE");
		struct make_hostile_gpu m;
		if (only && strcmp(only, kind->name) != 0)
			continue;
		check_cost(kind->name, make_hostile_gpu_file(&m, kind), NULL);
		make_hostile_gpu_deinit(&m);
	}
}

static void write_file(const char *path, struct ux_bytes bytes)
{
	FILE *f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(bytes.data, 1, bytes.size, f), bytes.size);
	assert_int_equal(fclose(f), 0);
}

static void package_of_one_unit_for_thousands_of_skeletons_stays_in_its_bounds(void **state)
{
	(void)state;
	char dir[] = "/tmp/test-bounds-XXXXXX", exe[64], package[64];
	struct make_hostile m, p;
	struct ux_bytes file = make_hostile_skeletons(&m);
	assert_non_null(mkdtemp(dir));
	snprintf(exe, sizeof(exe), "%s/a", dir);
	snprintf(package, sizeof(package), "%s/a.dwp", dir);
	write_file(package, make_hostile_package(&p));
	check_cost("skeletons", file, exe);
	assert_int_equal(unlink(package), 0);
	assert_int_equal(rmdir(dir), 0);
	make_hostile_deinit(&m);
	make_hostile_deinit(&p);
}

UX_SUITE(bounds)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(every_hostile_file_stays_in_its_bounds),
		UX_TEST(every_hostile_cubin_stays_in_its_bounds),
		UX_TEST(package_of_one_unit_for_thousands_of_skeletons_stays_in_its_bounds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
