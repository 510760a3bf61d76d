/* SPDX-License-Identifier: Apache-2.0 */
/* The confined child: its input, its restrictions, its end. */
#include "sweep.h"

#include "bundle.h"
#include "clock.h"
#include "cursor.h"
#include "dwarf_line.h"
#include "elf_file.h"
#include "elf_ids.h"
#include "extract.h"
#include "file.h"
#include "make_elf.h"
#include "out.h"
#include "sandbox_child.h"
#include "source_pack.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
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

static const struct ux_sandbox_limits plenty = {
	.memory = (uint64_t)1 << 30, .output = 64 << 20, .seconds = 60};

static int temp_file(void)
{
	int fd = memfd_create("gsym", MFD_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static enum ux_code collect(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	(void)err;
	ux_out_put(ctx, bytes.data, bytes.size);
	return UX_OK;
}

static void a_child_extracts_what_this_process_would(void **state)
{
	(void)state;
	int exe = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), out = temp_file();
	const int files[UX_SANDBOX_FILE_COUNT] = {exe, -1, -1, -1, out, -1};
	struct ux_sandbox_found found;
	struct ux_error err = UX_ERROR_INIT;
	enum ux_code code = ux_sandbox_extract(files, &plenty, NULL, &found, &err);
	assert_string_equal(err.text, "");
	assert_int_equal(code, UX_OK);

	struct ux_mapping file = {0}, gsym = {0};
	struct ux_out want = {0};
	struct ux_extract_stats stats;
	const struct ux_extract_options how = {.threads = 2};
	assert_int_equal(ux_file_map_fd(exe, &file, NULL), UX_OK);
	assert_int_equal(ux_extract(file.bytes, UX_BYTES_NONE, &how, collect, &want, &stats, NULL),
			 UX_OK);
	assert_int_equal(ux_file_map_fd(out, &gsym, NULL), UX_OK);
	assert_true(ux_bytes_eq(gsym.bytes, ux_out_bytes(&want)));
	assert_int_equal(found.quality, stats.quality);
	assert_int_equal(found.gsym_bytes, gsym.bytes.size);
	assert_int_equal(found.text_bytes, stats.text_bytes);
	assert_int_equal(found.split_missing, 0);
	assert_memory_equal(&found.counts, &stats.counts, sizeof(stats.counts));
	assert_int_equal(found.has,
			 UX_SANDBOX_HAS_CODE | UX_SANDBOX_HAS_DEBUG | UX_SANDBOX_HAS_SECTIONS);
	assert_non_null(ux_id_set_find(&found.ids, UX_ID_FILE));
	ux_out_deinit(&want);
	ux_file_unmap(&gsym);
	ux_file_unmap(&file);
	close(exe);
	close(out);
}

/* The kernel here has the layers or not; what it says holds for a child in any way it is started.
 */
static void layers_of_this_machine_are_known(void **state)
{
	(void)state;
	struct ux_error err = UX_ERROR_INIT;
	unsigned lacks = ~0U;
	struct ux_sandbox_found found;
	assert_int_equal(ux_sandbox_layers(NULL, &lacks, &err), UX_OK);
	assert_int_equal(lacks & UX_SANDBOX_LACKS_CAPABILITIES, 0);
	int exe = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	assert_int_equal(ux_sandbox_inspect(exe, &plenty, NULL, &found, &err), UX_OK);
	assert_int_equal(found.lacks, lacks);
	close(exe);
	assert_int_equal(ux_sandbox_layers("/nonexistent", &lacks, &err), UX_EUNAVAILABLE);
}

/* Extracts this program in a child with these limits. The result is NULL-mapped after a failure. */
static enum ux_code extract_own(const struct ux_sandbox_limits *limits, struct ux_mapping *ret,
				struct ux_error *err)
{
	int exe = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), out = temp_file();
	const int files[UX_SANDBOX_FILE_COUNT] = {exe, -1, -1, -1, out, -1};
	struct ux_sandbox_found found;
	enum ux_code code = ux_sandbox_extract(files, limits, NULL, &found, err);
	if (code == UX_OK)
		assert_int_equal(ux_file_map_fd(out, ret, NULL), UX_OK);
	close(exe);
	close(out);
	return code;
}

/* The kernel would refuse anonymous memory over the limit, which includes the program's own. */
static void a_child_puts_on_disk_what_is_over_its_limit_of_memory(void **state)
{
	(void)state;
	struct ux_sandbox_limits little = plenty;
	struct ux_mapping want = {0}, got = {0};
	struct ux_error err = UX_ERROR_INIT;
	little.memory = 20 << 20;
	little.disk = UINT64_C(1) << 30;
	assert_int_equal(extract_own(&plenty, &want, NULL), UX_OK);
	enum ux_code code = extract_own(&little, &got, &err);
	assert_string_equal(err.text, "");
	assert_int_equal(code, UX_OK);
	assert_true(ux_bytes_eq(got.bytes, want.bytes));
	ux_file_unmap(&want);
	ux_file_unmap(&got);
}

static void a_child_without_room_says_which_limit_it_met(void **state)
{
	(void)state;
	struct ux_sandbox_limits none = plenty, no_disk = plenty;
	struct ux_mapping got = {0};
	struct ux_error err = UX_ERROR_INIT;
	no_disk.memory = 1 << 20;
	no_disk.disk = 4096;
	none.memory = 4096;
	none.disk = UINT64_C(1) << 30;
	if (!SANITIZED) {
		assert_int_equal(extract_own(&none, &got, &err), UX_ELIMIT);
		assert_string_equal(err.text, "reading the input needs more than 4096 bytes");
	}
	err = (struct ux_error)UX_ERROR_INIT;
	assert_int_equal(extract_own(&no_disk, &got, &err), UX_ELIMIT);
	assert_true(err.text[0] != '\0');
}

static int memory_file(struct ux_bytes bytes)
{
	int fd = temp_file();
	assert_int_equal(ux_file_write(fd, bytes, NULL), UX_OK);
	return fd;
}

static void nonsense_is_refused_in_the_readers_words(void **state)
{
	(void)state;
	int exe = memory_file(UX_STR("this is no binary at all")), out = temp_file();
	const int files[UX_SANDBOX_FILE_COUNT] = {exe, -1, -1, -1, out, -1};
	struct ux_sandbox_found found;
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(ux_sandbox_extract(files, &plenty, NULL, &found, &err), UX_EUNSUPPORTED);
	assert_true(err.text[0] != '\0');
	close(exe);
	close(out);
}

/* A limit is for a file's needs: the program's own memory is added. */
static void a_child_has_its_own_memory_beside_the_limit(void **state)
{
	(void)state;
	struct ux_sandbox_limits limits = plenty;
	struct ux_sandbox_found found;
	struct ux_error err = UX_ERROR_INIT;
	int exe = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	limits.memory = (256 << 20) + 4096;
	enum ux_code code = ux_sandbox_inspect(exe, &limits, NULL, &found, &err);
	assert_string_equal(err.text, "");
	assert_int_equal(code, UX_OK);
	int out = temp_file();
	const int files[UX_SANDBOX_FILE_COUNT] = {exe, -1, -1, -1, out, -1};
	code = ux_sandbox_extract(files, &limits, NULL, &found, &err);
	assert_string_equal(err.text, "");
	assert_int_equal(code, UX_OK);
	close(out);
	close(exe);
}

static void output_over_the_limit_is_said(void **state)
{
	(void)state;
	int exe = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), out = temp_file();
	const int files[UX_SANDBOX_FILE_COUNT] = {exe, -1, -1, -1, out, -1};
	struct ux_sandbox_limits small = plenty;
	struct ux_sandbox_found found;
	struct ux_error err = UX_ERROR_INIT;
	small.output = 100;
	assert_int_equal(ux_sandbox_extract(files, &small, NULL, &found, &err), UX_ELIMIT);
	assert_non_null(strstr(err.text, "100 bytes"));
	close(exe);
	close(out);
}

/* Runs a program that plays a child that was taken over, or that died. */
static enum ux_code play(const char *script, unsigned seconds, struct ux_error *err)
{
	char path[] = "/tmp/unhex-sandbox-XXXXXX";
	int fd = mkstemp(path), exe = memory_file(UX_STR("x")), out = temp_file();
	const int files[UX_SANDBOX_FILE_COUNT] = {exe, -1, -1, -1, out, -1};
	struct ux_sandbox_limits l = plenty;
	struct ux_sandbox_found found;
	l.seconds = seconds;
	assert_true(fd >= 0);
	assert_int_equal(ux_file_write(fd, UX_STR("#!/bin/sh\n"), NULL), UX_OK);
	assert_int_equal(ux_file_write(fd, ux_bytes_cstr(script), NULL), UX_OK);
	assert_int_equal(fchmod(fd, 0700), 0);
	close(fd);
	enum ux_code code = ux_sandbox_extract(files, &l, path, &found, err);
	unlink(path);
	close(exe);
	close(out);
	return code;
}

static void a_child_that_dies_costs_only_itself(void **state)
{
	(void)state;
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(play("kill -SEGV $$\n", 5, &err), UX_ECORRUPT);
	assert_non_null(strstr(err.text, "signal 11"));
	err = (struct ux_error)UX_ERROR_INIT;
	assert_int_equal(play("exit 7\n", 5, &err), UX_ECORRUPT);
	assert_non_null(strstr(err.text, "status 7"));
	err = (struct ux_error)UX_ERROR_INIT;
	assert_int_equal(play("kill -XCPU $$\n", 5, &err), UX_ELIMIT);
}

static void a_child_that_says_nonsense_is_not_believed(void **state)
{
	(void)state;
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(play("head -c 1 <&3 >/dev/null\necho hello >&3\n", 5, &err), UX_ECORRUPT);
	assert_non_null(strstr(err.text, "an invalid answer"));
	err = (struct ux_error)UX_ERROR_INIT;
	assert_int_equal(play("head -c 1 <&3 >/dev/null\nhead -c 60000 /dev/zero >&3\n", 5, &err),
			 UX_ECORRUPT);
}

/* Returns the code for a child that sends this reply to a request for the file "x". */
static enum ux_code play_reply(const struct ux_sandbox_reply *reply, struct ux_error *err)
{
	char path[] = "/tmp/unhex-reply-XXXXXX", script[128];
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(ux_file_write(fd, ux_bytes(reply, sizeof(*reply)), NULL), UX_OK);
	close(fd);
	snprintf(script, sizeof(script), "head -c 1 <&3 >/dev/null\ncat %s >&3\n", path);
	enum ux_code code = play(script, 5, err);
	unlink(path);
	return code;
}

static void a_fork_server_gives_what_a_program_gives(void **state)
{
	(void)state;
	struct ux_fork_server *forks = NULL;
	struct ux_sandbox_limits limits = plenty;
	struct ux_sandbox_found found, want;
	struct ux_mapping a = {0}, b = {0};
	int exe = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), out = temp_file(),
	    out2 = temp_file();
	int nothing = memory_file(UX_STR("no binary"));
	assert_int_equal(ux_fork_server_start(&forks, NULL, NULL), UX_OK);
	limits.forks = forks;
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(ux_sandbox_inspect(nothing, &limits, NULL, &found, NULL),
				 UX_EUNSUPPORTED);
	const int files[UX_SANDBOX_FILE_COUNT] = {exe, -1, -1, -1, out, -1};
	const int files2[UX_SANDBOX_FILE_COUNT] = {exe, -1, -1, -1, out2, -1};
	assert_int_equal(ux_sandbox_extract(files, &limits, NULL, &found, NULL), UX_OK);
	assert_int_equal(ux_sandbox_extract(files2, &plenty, NULL, &want, NULL), UX_OK);
	assert_int_equal(found.gsym_bytes, want.gsym_bytes);
	assert_memory_equal(&found.ids, &want.ids, sizeof(found.ids));
	assert_int_equal(ux_file_map_fd(out, &a, NULL), UX_OK);
	assert_int_equal(ux_file_map_fd(out2, &b, NULL), UX_OK);
	assert_true(ux_bytes_eq(a.bytes, b.bytes));
	ux_file_unmap(&a);
	ux_file_unmap(&b);
	ux_fork_server_stop(forks);
	close(nothing);
	close(exe);
	close(out);
	close(out2);
}

/* Returns the program of this process's only remaining child; 0: there is no child. */
static pid_t only_child(void)
{
	char path[64], text[64] = "";
	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_true(read(fd, text, sizeof(text) - 1) >= 0);
	close(fd);
	return (pid_t)strtol(text, NULL, 10);
}

static void a_fork_server_that_died_is_started_again(void **state)
{
	(void)state;
	struct ux_fork_server *forks = NULL;
	struct ux_sandbox_limits limits = plenty;
	struct ux_sandbox_found found;
	int nothing = memory_file(UX_STR("no binary"));
	assert_int_equal(ux_fork_server_start(&forks, NULL, NULL), UX_OK);
	limits.forks = forks;
	pid_t first = only_child();
	assert_true(first > 0);
	assert_int_equal(kill(first, SIGKILL), 0);
	assert_int_equal(ux_sandbox_inspect(nothing, &limits, NULL, &found, NULL), UX_EUNSUPPORTED);
	assert_true(only_child() > 0 && only_child() != first);
	ux_fork_server_stop(forks);
	assert_int_equal(only_child(), 0);
	close(nothing);
}

/* A child that a fork server forked is confined and bounded as one that was executed. */
static void a_forked_child_is_ended_at_its_time(void **state)
{
	(void)state;
	struct ux_fork_server *forks = NULL;
	struct ux_sandbox_limits limits = plenty;
	struct ux_sandbox_found found;
	int stop[2], exe = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), out = temp_file();
	const int files[UX_SANDBOX_FILE_COUNT] = {exe, -1, -1, -1, out, -1};
	assert_int_equal(pipe(stop), 0);
	assert_int_equal(ux_fork_server_start(&forks, NULL, NULL), UX_OK);
	limits.forks = forks;
	limits.stop = &stop[0];
	assert_int_equal(write(stop[1], "x", 1), 1);
	assert_int_equal(ux_sandbox_extract(files, &limits, NULL, &found, NULL), UX_EUNAVAILABLE);
	limits.stop = NULL;
	limits.output = 100;
	assert_int_equal(ux_sandbox_extract(files, &limits, NULL, &found, NULL), UX_ELIMIT);
	assert_false(found.out_of_time);
	ux_fork_server_stop(forks);
	assert_int_equal(only_child(), 0);
	close(stop[0]);
	close(stop[1]);
	close(exe);
	close(out);
}

static void what_a_child_reports_is_validated(void **state)
{
	(void)state;
	static struct ux_sandbox_reply good = {.size = sizeof(good)};
	struct ux_error err = UX_ERROR_INIT;
	good.found.ids.size = 2;
	assert_int_equal(ux_id_parse(UX_STR("gnu:0123456789"), &good.found.ids.ids[0], NULL),
			 UX_OK);
	good.found.ids.ids[1] = ux_file_id(UX_STR("x"));
	assert_int_equal(play_reply(&good, &err), UX_OK);

	struct ux_sandbox_reply bad[] = {good, good, good, good, good, good};
	bad[0].found.ids.ids[0].type = UX_ID_CUBIN_CRC + 1;
	bad[1].found.ids.ids[1].bytes[0] ^= 1; /* the File ID of another file */
	bad[2].found.ids.ids[0] = ux_file_id(UX_STR("y"));
	bad[3].found.ids.size = ux_countof(good.found.ids.ids) + 1;
	bad[4].found.has = 1u << 31;
	bad[5].found.quality = UX_QUALITY_COUNT;
	for (size_t i = 0; i < ux_countof(bad); i++) {
		err = (struct ux_error)UX_ERROR_INIT;
		assert_int_equal(play_reply(&bad[i], &err), UX_ECORRUPT);
		assert_non_null(strstr(err.text, "an invalid answer"));
	}
}

static void a_child_that_never_answers_is_ended(void **state)
{
	(void)state;
	struct ux_error err = UX_ERROR_INIT;
	int64_t begin = ux_clock_ms();
	assert_int_equal(play("exec sleep 100\n", 0, &err), UX_ELIMIT);
	assert_in_range(ux_clock_ms() - begin, 2000, 30000);
}

static void the_child_sees_its_files_and_nothing_else(void **state)
{
	(void)state;
	struct ux_error err = UX_ERROR_INIT;
	int stray = open("/etc/passwd", O_RDONLY); /* not even close-on-exec */
	assert_true(stray >= 0);
	assert_int_equal(play("test -z \"$HOME$USER$UNHEX_TOKEN\" || exit 3\n"
			      "ls -l /proc/$$/fd | grep -q passwd && exit 4\n"
			      "exit 5\n",
			      5, &err),
			 UX_ECORRUPT);
	assert_non_null(strstr(err.text, "status 5"));
	close(stray);
}

/* The child does not ignore the caller's ignored or blocked signals. */
static void a_child_starts_with_default_signals(void **state)
{
	(void)state;
	struct ux_error err = UX_ERROR_INIT;
	sigset_t blocked, before;
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR1);
	sigprocmask(SIG_BLOCK, &blocked, &before);
	void (*old)(int) = signal(SIGXCPU, SIG_IGN);
	assert_int_equal(
		play("while read -r name value; do\n"
		     "case $name in SigBlk: | SigIgn:)\n"
		     "case $value in *[08]0000000) ;; *) exit 3;; esac;;\n" /* 32 is libc's */
		     "esac; done </proc/self/status\n"
		     "exit 5\n",
		     5, &err),
		UX_ECORRUPT);
	signal(SIGXCPU, old);
	sigprocmask(SIG_SETMASK, &before, NULL);
	assert_string_equal(err.text, "reading the input failed: the sandbox exited with status 5");
}

/* A bundle of one file. */
static int bundle_of(const char *path, struct ux_bytes content)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_bundle_writer w;
	assert_int_equal(ux_bundle_writer_open(&w, &out, 64 << 20, NULL), UX_OK);
	assert_int_equal(ux_bundle_writer_add(&w, path, content, NULL), UX_OK);
	assert_int_equal(ux_bundle_writer_end(&w, NULL), UX_OK);
	ux_bundle_writer_close(&w);
	return memory_file(ux_out_bytes(&out));
}

static void a_child_unpacks_sources_within_its_bounds(void **state)
{
	(void)state;
	UX_ARENA(arena, 1 << 20);
	static uint8_t zeros[8 << 20];
	struct ux_sandbox_limits limits = plenty;
	struct ux_packed_source *list = NULL;
	struct ux_mapping pack = {0};
	size_t n = 0;
	limits.output = (uint64_t)96 << 20;
	int good = bundle_of("/src/a.c", UX_STR("int a;\n")), out = temp_file();
	assert_int_equal(ux_sandbox_unpack(good, out, &limits, NULL, NULL), UX_OK);
	assert_int_equal(ux_file_map_fd(out, &pack, NULL), UX_OK);
	assert_int_equal(ux_source_pack_read(pack.bytes, &arena, &list, &n, NULL), UX_OK);
	assert_int_equal(n, 1);
	assert_string_equal(list[0].path, "/src/a.c");
	ux_file_unmap(&pack);
	close(out);
	close(good);
	/* A few hundred bytes that become many. */
	int bomb = bundle_of("/zeros", ux_bytes(zeros, sizeof(zeros)));
	limits.output = (uint64_t)68 << 20; /* the table may take most of it */
	out = temp_file();
	assert_int_equal(ux_sandbox_unpack(bomb, out, &limits, NULL, NULL), UX_ELIMIT);
	close(out);
	out = temp_file();
	int other = memory_file(UX_STR("no archive"));
	assert_int_equal(ux_sandbox_unpack(other, out, &limits, NULL, NULL), UX_EUNSUPPORTED);
	close(other);
	close(out);
	close(bomb);
}

/* Sections of a file to inspect: .text with contents or without, a symbol, DWARF. */
struct inspected {
	bool nobits, empty, symbol, dwarf, stripped;
	unsigned has;
};

static unsigned inspect(const struct inspected *what)
{
	ux_cleanup(make_elf_deinit) struct make_elf m = {0};
	struct ux_sandbox_found found;
	make_elf_init(&m, 64, false);
	uint32_t text = make_elf_section(
		&m, (struct make_section){.name = ".text",
					  .type = what->nobits ? SHT_NOBITS : SHT_PROGBITS,
					  .flags = SHF_ALLOC | SHF_EXECINSTR,
					  .addr = 0x1000,
					  .size = what->nobits ? 16 : 0,
					  .content = what->nobits || what->empty ? UX_BYTES_NONE
										 : UX_STR("\xc3")});
	make_elf_segment(&m, (struct make_segment){
				     .type = PT_LOAD, .flags = PF_X, .first = text, .last = text});
	if (what->dwarf)
		make_elf_section(&m, (struct make_section){.name = ".debug_info",
							   .content = UX_STR("1234")});
	if (what->symbol)
		make_elf_symbol(&m, (struct make_symbol){.name = "f",
							 .value = 0x1000,
							 .size = 1,
							 .section = text,
							 .type = STT_FUNC,
							 .bind = STB_GLOBAL});
	m.no_sections = what->stripped;
	int file = memory_file(make_elf_finish(&m));
	assert_int_equal(ux_sandbox_inspect(file, &plenty, NULL, &found, NULL), UX_OK);
	assert_int_equal(ux_id_set_find(&found.ids, UX_ID_FILE) != NULL,
			 (what->has & UX_SANDBOX_HAS_CODE) != 0);
	close(file);
	return found.has;
}

static void a_child_says_what_a_file_has(void **state)
{
	(void)state;
	enum {
		CODE = UX_SANDBOX_HAS_CODE,
		DEBUG = UX_SANDBOX_HAS_DEBUG,
		SECTIONS = UX_SANDBOX_HAS_SECTIONS
	};
	static const struct inspected files[] = {
		{.has = CODE | SECTIONS},
		{.symbol = true, .has = CODE | DEBUG | SECTIONS},
		{.dwarf = true, .has = CODE | DEBUG | SECTIONS},
		{.nobits = true, .has = SECTIONS},
		{.nobits = true, .symbol = true, .has = DEBUG | SECTIONS},
		{.empty = true, .has = SECTIONS},
		{.stripped = true, .has = CODE},
	};
	for (size_t i = 0; i < ux_countof(files); i++)
		if (inspect(&files[i]) != files[i].has)
			fail_msg("file %zu: 0x%x, expected 0x%x", i, inspect(&files[i]),
				 files[i].has);
}

/* An executable, and a debug file; the DWARF of one of them refers to a supplementary file. */
static int file_with(bool code, bool dwarf, bool link)
{
	ux_cleanup(make_elf_deinit) struct make_elf m = {0};
	make_elf_init(&m, 64, false);
	uint32_t text = make_elf_section(
		&m, (struct make_section){.name = ".text",
					  .type = code ? SHT_PROGBITS : SHT_NOBITS,
					  .flags = SHF_ALLOC | SHF_EXECINSTR,
					  .addr = 0x1000,
					  .size = 16,
					  .content = code ? UX_STR("0123456789abcdef")
							  : UX_BYTES_NONE});
	make_elf_segment(&m, (struct make_segment){
				     .type = PT_LOAD, .flags = PF_X, .first = text, .last = text});
	if (dwarf)
		make_elf_section(&m, (struct make_section){.name = ".debug_info",
							   .content = UX_STR("\0\0\0\0")});
	if (link)
		make_elf_section(&m, (struct make_section){.name = ".gnu_debugaltlink",
							   .content = UX_STR("/x\0"
									     "0123456789")});
	return memory_file(make_elf_finish(&m));
}

static void a_child_tells_which_other_file_it_needs(void **state)
{
	(void)state;
	static const struct {
		bool exe_dwarf, exe_link, debug, debug_dwarf, debug_link, given, needs;
	} cases[] = {
		{.exe_dwarf = true, .exe_link = true, .needs = true},
		{.exe_dwarf = true, .exe_link = true, .given = true},
		{.exe_link = true},
		{.exe_dwarf = true},
		{.debug = true, .debug_dwarf = true, .debug_link = true, .needs = true},
		{.debug = true, .debug_dwarf = true, .debug_link = true, .given = true},
		{.exe_dwarf = true, .exe_link = true, .debug = true, .debug_dwarf = true},
		{.exe_dwarf = true, .exe_link = true, .debug = true, .needs = true},
	};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		struct ux_sandbox_found found = {0};
		int exe = file_with(true, cases[i].exe_dwarf, cases[i].exe_link);
		int debug = cases[i].debug
				    ? file_with(false, cases[i].debug_dwarf, cases[i].debug_link)
				    : -1;
		int given = cases[i].given ? file_with(false, true, false) : -1, out = temp_file();
		const int files[UX_SANDBOX_FILE_COUNT] = {exe, debug, given, -1, out, -1};
		enum ux_code code = ux_sandbox_extract(files, &plenty, NULL, &found, NULL);
		if (found.needs_supplementary != cases[i].needs)
			fail_msg("case %zu", i);
		if (cases[i].needs) {
			assert_int_equal(code, UX_OK);
			assert_int_equal(found.supplementary.size, 10);
		}
		assert_int_equal(found.has & UX_SANDBOX_HAS_CODE, UX_SANDBOX_HAS_CODE);
		assert_int_equal(found.debug_has,
				 cases[i].debug ? UX_SANDBOX_HAS_SECTIONS |
							  (cases[i].debug_dwarf
								   ? (unsigned)UX_SANDBOX_HAS_DEBUG
								   : 0)
						: 0);
		close(exe);
		close(out);
		if (debug >= 0)
			close(debug);
		if (given >= 0)
			close(given);
	}
}

static void a_file_that_cannot_be_mapped_is_an_error(void **state)
{
	(void)state;
	struct ux_sandbox_found found;
	struct ux_error err = UX_ERROR_INIT;
	int folder = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	enum ux_code code = ux_sandbox_inspect(folder, &plenty, NULL, &found, &err);
	assert_true(code != UX_OK && code != UX_EUNSUPPORTED && code != UX_ECORRUPT);
	close(folder);
}

/* The child's answer to a request of n bytes. */
static struct ux_sandbox_reply answer_to(const struct ux_sandbox_request *request, size_t n)
{
	struct ux_sandbox_reply reply = {0};
	int pair[2], status = 0;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	fflush(NULL);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(dup2(pair[1], UX_SANDBOX_SOCKET) < 0 ? 100 : ux_sandbox_main());
	close(pair[1]);
	assert_int_equal(send(pair[0], request, n, 0), n);
	assert_int_equal(recv(pair[0], &reply, sizeof(reply), 0), sizeof(reply));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(pair[0]);
	return reply;
}

static void a_request_of_another_shape_is_refused(void **state)
{
	(void)state;
	struct ux_sandbox_request r = {.size = sizeof(r), .seconds = 10, .task = 77};
	struct ux_sandbox_reply reply = answer_to(&r, sizeof(r));
	assert_string_equal(reply.err.text, "no task has number 77");
	assert_int_equal(reply.err.code, UX_EINVAL);
	assert_true(reply.err.off == UX_ERROR_NO_OFF);
	assert_true(reply.found.lost.off == UX_ERROR_NO_OFF);
	reply = answer_to(&r, sizeof(r) - 8);
	assert_string_equal(reply.err.text, "no request on descriptor 3");
	r.size++;
	reply = answer_to(&r, sizeof(r));
	assert_string_equal(reply.err.text, "no request on descriptor 3");
}

static unsigned open_files(void)
{
	unsigned n = 0;
	for (int fd = 0; fd < 1000; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void a_child_leaves_no_descriptor_and_no_zombie(void **state)
{
	(void)state;
	struct ux_error err = UX_ERROR_INIT;
	unsigned before = open_files();
	assert_int_equal(play("exit 7\n", 5, &err), UX_ECORRUPT);
	err = (struct ux_error)UX_ERROR_INIT;
	assert_int_equal(play("exec sleep 100\n", 0, &err), UX_ELIMIT);
	assert_int_equal(open_files(), before);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static void a_program_that_does_not_start_is_an_error(void **state)
{
	(void)state;
	struct ux_sandbox_found found;
	struct ux_error err = UX_ERROR_INIT;
	int exe = memory_file(UX_STR("x"));
	assert_int_equal(ux_sandbox_inspect(exe, &plenty, "/nonexistent/program", &found, &err),
			 UX_EUNAVAILABLE);
	assert_non_null(strstr(err.text, "cannot start /nonexistent/program"));
	close(exe);
}

/* However few descriptors there are, the cause is reported and nothing stays open. */
static void a_child_without_descriptors_is_an_error(void **state)
{
	(void)state;
	struct ux_fork_server *forks = NULL;
	struct rlimit saved, few;
	int exe = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	assert_int_equal(ux_fork_server_start(&forks, NULL, NULL), UX_OK);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &saved), 0);
	for (unsigned i = 0; i < 2; i++) {
		struct ux_sandbox_limits limits = plenty;
		struct ux_sandbox_found found;
		limits.forks = i == 0 ? NULL : forks;
		/* The first time starts the server. */
		assert_int_equal(ux_sandbox_inspect(exe, &limits, NULL, &found, NULL), UX_OK);
		unsigned before = open_files(), failures = 0;
		for (few = saved, few.rlim_cur = 3;; few.rlim_cur++) {
			struct ux_error err = UX_ERROR_INIT;
			assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
			enum ux_code code = ux_sandbox_inspect(exe, &limits, NULL, &found, &err);
			assert_int_equal(setrlimit(RLIMIT_NOFILE, &saved), 0);
			assert_int_equal(open_files(), before);
			if (code == UX_OK)
				break;
			if (err.os_errno == 0 && code != UX_EUNAVAILABLE)
				fail_msg("%d descriptors: %s", (int)few.rlim_cur, err.text);
			failures++;
			assert_true(failures < 200);
		}
		assert_true(failures > 2);
	}
	ux_fork_server_stop(forks);
	close(exe);
}

/* A malformed request ends the fork server, and not by a signal. */
static void a_fork_server_takes_requests_alone(void **state)
{
	(void)state;
	static const struct ux_sandbox_request request = {.size = sizeof(request)};
	/* without a descriptor, too short, and empty */
	static const size_t sizes[] = {sizeof(request), 8, 0};
	for (size_t i = 0; i < ux_countof(sizes); i++) {
		int pair[2], status = 0;
		assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
		fflush(NULL);
		pid_t pid = fork();
		assert_true(pid >= 0);
		if (pid == 0) {
			struct ux_sandbox_request got;
			close(pair[0]);
			if (dup2(pair[1], UX_SANDBOX_SOCKET) < 0)
				_exit(100);
			_exit(ux_fork_server_loop(&got) ? 101 : 42);
		}
		close(pair[1]);
		assert_int_equal(send(pair[0], &request, sizes[i], 0), sizes[i]);
		shutdown(pair[0], SHUT_WR);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 42);
		close(pair[0]);
	}
}

/* A line table of version 5; each byte of its files' MD5 is `fill`. */
static void put_line_table(struct ux_out *out, uint8_t fill)
{
	static const uint8_t fields[] = {1, 1, 1, 0xfb, 14, 4, 0, 1, 0};
	static const uint8_t formats[] = {
		3,           DW_LNCT_path,  DW_FORM_string, DW_LNCT_directory_index, DW_FORM_udata,
		DW_LNCT_MD5, DW_FORM_data16};
	static const char *const dirs[] = {"/build", "src", "/abs"};
	static const struct {
		const char *name;
		uint8_t dir;
	} names[] = {{"one.c", 1}, {"/two.c", 1}, {"three.c", 2}, {"../../../up.c", 1}};
	ux_cleanup(ux_out_deinit) struct ux_out head = {0}, table = {0};
	uint8_t md5[UX_MD5_BYTES];
	memset(md5, fill, sizeof(md5));
	ux_out_put(&head, fields, sizeof(fields));
	ux_out_put(&head, (const uint8_t[]){1, DW_LNCT_path, DW_FORM_string, 3}, 4);
	for (size_t i = 0; i < ux_countof(dirs); i++)
		ux_out_put(&head, dirs[i], strlen(dirs[i]) + 1);
	ux_out_put(&head, formats, sizeof(formats));
	ux_out_u8(&head, ux_countof(names));
	for (size_t i = 0; i < ux_countof(names); i++) {
		ux_out_put(&head, names[i].name, strlen(names[i].name) + 1);
		ux_out_u8(&head, names[i].dir);
		ux_out_put(&head, md5, sizeof(md5));
	}
	ux_out_u16(&table, 5);
	ux_out_u8(&table, 8);
	ux_out_u8(&table, 0);
	ux_out_u32(&table, (uint32_t)head.size);
	ux_out_put(&table, head.data, head.size);
	ux_out_put(&table, "\1\1\1", 3); /* the program */
	ux_out_u32(out, (uint32_t)table.size);
	ux_out_put(out, table.data, table.size);
}

static void a_child_compares_sources_by_their_whole_paths(void **state)
{
	(void)state;
	struct make_elf m;
	ux_cleanup(ux_out_deinit) struct ux_out line = {0};
	char long_path[UX_PATH_BYTES];
	memset(long_path, 'x', sizeof(long_path) - 7);
	memcpy(long_path, "/", 1);
	memcpy(long_path + sizeof(long_path) - 7, "/one.c", 7);
	const struct {
		const char *path;
		enum ux_code same, other; /* codes with the MD5 of the table, and with another */
	} cases[] = {
		{"/build/src/one.c", UX_OK, UX_ECONFLICT},
		{"/two.c", UX_OK, UX_ECONFLICT},
		{"/abs/three.c", UX_OK, UX_ECONFLICT},
		{"/src/one.c", UX_ENOTFOUND, UX_ENOTFOUND},
		{"/build/one.c", UX_ENOTFOUND, UX_ENOTFOUND},
		{"/up.c", UX_ENOTFOUND, UX_ENOTFOUND},
		{"/build/abs/three.c", UX_ENOTFOUND, UX_ENOTFOUND},
		{long_path, UX_ENOTFOUND, UX_ENOTFOUND},
	};
	put_line_table(&line, 7);
	make_elf_init(&m, 64, false);
	make_elf_section(
		&m, (struct make_section){.name = ".debug_line", .content = ux_out_bytes(&line)});
	int elf = memory_file(make_elf_finish(&m));
	for (size_t i = 0; i < ux_countof(cases); i++)
		for (unsigned other = 0; other < 2; other++) {
			uint8_t md5[UX_MD5_BYTES];
			struct ux_error err = UX_ERROR_INIT;
			memset(md5, other ? 8 : 7, sizeof(md5));
			enum ux_code code = ux_sandbox_check_source(elf, cases[i].path, md5,
								    &plenty, NULL, &err);
			if (code != (other ? cases[i].other : cases[i].same))
				fail_msg("%.60s: %d %s", cases[i].path, (int)code, err.text);
		}
	make_elf_deinit(&m);
	close(elf);
}

static void a_child_reads_machine_code(void **state)
{
	(void)state;
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	struct ux_mapping self = {0}, text = {0};
	const char *name = NULL, *syntax = NULL;
	int exe = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), out = temp_file();
	assert_int_equal(ux_file_map_fd(exe, &self, NULL), UX_OK);
	assert_int_equal(ux_elf_open(&elf, self.bytes, NULL), UX_OK);
	assert_true(ux_code_machine(elf.machine, &name, &syntax));
	const struct ux_code_range range = {.pc = elf.entry, .size = 16};
	assert_int_equal(ux_sandbox_disassemble(exe, &range, out, &plenty, NULL, NULL), UX_OK);
	assert_int_equal(ux_file_map_fd(out, &text, NULL), UX_OK);
	struct ux_cur c = ux_cur_make(text.bytes, "text", /* swap= */ false);
	uint32_t last = 0;
	for (unsigned i = 0; ux_cur_more(&c); i++) {
		uint32_t off = ux_cur_u32(&c);
		ux_cur_skip(&c, sizeof(uint64_t)); /* target */
		assert_true(i == 0 ? off == 0 : off > last && off < range.size);
		assert_true(ux_cur_take(&c, ux_cur_u16(&c)).size > 0);
		assert_int_equal(ux_cur_status(&c, NULL), UX_OK);
		last = off;
	}
	assert_true(last > 0);
	const struct ux_code_range nowhere = {.pc = UINT64_MAX - 100, .size = 16};
	assert_int_equal(ux_sandbox_disassemble(exe, &nowhere, out, &plenty, NULL, NULL),
			 UX_ENOTFOUND);
	ux_file_unmap(&text);
	ux_file_unmap(&self);
	close(out);
	close(exe);
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], UX_SANDBOX_WORD) == 0)
		return ux_sandbox_main();
	const struct CMUnitTest tests[] = {
		UX_TEST(a_child_extracts_what_this_process_would),
		UX_TEST(layers_of_this_machine_are_known),
		UX_TEST(a_child_unpacks_sources_within_its_bounds),
		UX_TEST(a_program_that_does_not_start_is_an_error),
		UX_TEST(a_child_without_descriptors_is_an_error),
		UX_TEST(a_fork_server_takes_requests_alone),
		UX_TEST(a_child_compares_sources_by_their_whole_paths),
		UX_TEST(a_child_reads_machine_code),
		UX_TEST(a_child_says_what_a_file_has),
		UX_TEST(a_child_tells_which_other_file_it_needs),
		UX_TEST(a_file_that_cannot_be_mapped_is_an_error),
		UX_TEST(a_request_of_another_shape_is_refused),
		UX_TEST(a_child_leaves_no_descriptor_and_no_zombie),
		UX_TEST(nonsense_is_refused_in_the_readers_words),
		UX_TEST(a_child_puts_on_disk_what_is_over_its_limit_of_memory),
		UX_TEST(a_child_without_room_says_which_limit_it_met),
		UX_TEST(a_child_has_its_own_memory_beside_the_limit),
		UX_TEST(output_over_the_limit_is_said),
		UX_TEST(a_child_that_dies_costs_only_itself),
		UX_TEST(a_child_that_says_nonsense_is_not_believed),
		UX_TEST(a_fork_server_gives_what_a_program_gives),
		UX_TEST(a_fork_server_that_died_is_started_again),
		UX_TEST(a_forked_child_is_ended_at_its_time),
		UX_TEST(what_a_child_reports_is_validated),
		UX_TEST(a_child_that_never_answers_is_ended),
		UX_TEST(the_child_sees_its_files_and_nothing_else),
		UX_TEST(a_child_starts_with_default_signals),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
