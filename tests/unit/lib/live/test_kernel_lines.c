/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that the test makes below a root: their lists of symbols, and the files they are loaded
 * from. */
#include "sweep.h"

#include "make_elf.h"

#include <unhex/unhex.h>

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#define KERNEL_AT  0xffffffffa7200000u
#define LINKED_AT  0xffffffff81000000u
#define MODULE_AT  0xffffffffc0600000u
#define KERNEL_ID  UX_STR("kernel's own build I")
#define MODULE_ID  UX_STR("module's own build I")
#define MODULE_HEX "6d6f64756c652773206f776e206275696c642049"

enum {
	CODE = 0x40, /* bytes of each section */
};

static const uint8_t machine_code[CODE];

struct root {
	char path[64];
};

/* Writes a file below the root and makes its folders. */
static void put(const struct root *r, const char *name, struct ux_bytes content)
{
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s/%s", r->path, name);
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		mkdir(path, 0755);
		*slash = '/';
	}
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(content.data, 1, content.size, f), content.size);
	fclose(f);
}

static void put_note(const struct root *r, const char *name, struct ux_bytes id)
{
	ux_cleanup(ux_out_deinit) struct ux_out note = {0};
	make_note(&note, "GNU", NT_GNU_BUILD_ID, id, 4);
	put(r, name, ux_out_bytes(&note));
}

/* A kernel with one function after its first bytes. */
static void put_kernel(const struct root *r, const char *name, struct ux_bytes id, bool symbols)
{
	struct make_elf m;
	make_elf_init(&m, 64, false);
	m.type = ET_EXEC;
	uint32_t text =
		make_elf_section(&m, (struct make_section){.name = ".text",
							   .flags = SHF_ALLOC | SHF_EXECINSTR,
							   .addr = LINKED_AT + 0x1000,
							   .content = {machine_code, CODE}});
	make_elf_note(&m, ".note.gnu.build-id", "GNU", NT_GNU_BUILD_ID, id);
	make_elf_segment(&m, (struct make_segment){
				     .type = PT_LOAD, .flags = PF_X, .first = text, .last = text});
	if (symbols) {
		make_elf_symbol(&m, (struct make_symbol){.name = "_text",
							 .value = LINKED_AT,
							 .reserved = SHN_ABS,
							 .bind = STB_GLOBAL});
		make_elf_symbol(&m, (struct make_symbol){.name = "_stext",
							 .value = LINKED_AT + 0x1000,
							 .section = text,
							 .bind = STB_GLOBAL});
	}
	make_elf_symbol(&m, (struct make_symbol){.name = "name_in_the_file",
						 .value = LINKED_AT + 0x1010,
						 .size = 0x20,
						 .section = text,
						 .type = STT_FUNC,
						 .bind = STB_GLOBAL});
	put(r, name, make_elf_finish(&m));
	make_elf_deinit(&m);
}

/* A module with a function in each of three sections; .init.text stands between the others. */
static void put_module(const struct root *r, const char *name)
{
	static const char *const names[] = {".text", ".init.text", ".text.unlikely"};
	static const char *const functions[] = {"in_text", "in_init", "in_unlikely"};
	struct make_elf m;
	make_elf_init(&m, 64, false);
	m.type = ET_REL;
	for (size_t i = 0; i < ux_countof(names); i++) {
		uint32_t at = make_elf_section(
			&m, (struct make_section){.name = names[i],
						  .flags = SHF_ALLOC | SHF_EXECINSTR,
						  .align = 16,
						  .content = {machine_code, CODE}});
		make_elf_symbol(&m, (struct make_symbol){.name = functions[i],
							 .value = 8,
							 .size = 0x20,
							 .section = at,
							 .type = STT_FUNC,
							 .bind = STB_GLOBAL});
	}
	make_elf_note(&m, ".note.gnu.build-id", "GNU", NT_GNU_BUILD_ID, MODULE_ID);
	put(r, name, make_elf_finish(&m));
	make_elf_deinit(&m);
}

/* The running kernel's lists: functions at 0x10 of the kernel and of each section. */
static void put_lists(const struct root *r)
{
	char text[1024];
	snprintf(text, sizeof(text),
		 "%lx T _text\n%lx T _stext\n%lx t of_the_kernel\n%lx T _etext\n"
		 "%lx t in_text\t[some_module]\n%lx t in_unlikely\t[some_module]\n"
		 "%lx t bpf_prog_6deef7357e7b4530_f\t[bpf]\n",
		 KERNEL_AT, KERNEL_AT + 0x1000, KERNEL_AT + 0x1010, KERNEL_AT + 0x2000,
		 MODULE_AT + 8, MODULE_AT + 0x1008, MODULE_AT + 0x100000);
	put(r, "proc/kallsyms", ux_bytes_cstr(text));
	snprintf(text, sizeof(text), "some_module 16384 0 - Live 0x%lx\n", MODULE_AT);
	put(r, "proc/modules", ux_bytes_cstr(text));
	put(r, "proc/sys/kernel/osrelease", UX_STR("6.99-test\n"));
	put(r, "lib/modules/6.99-test/modules.dep", UX_STR("kernel/some-module.ko:\n"));
	put_note(r, "sys/kernel/notes", KERNEL_ID);
	put_note(r, "sys/module/some_module/notes/.note.gnu.build-id", MODULE_ID);
}

static void put_section(const struct root *r, const char *section, uint64_t start)
{
	char name[128], text[32];
	snprintf(name, sizeof(name), "sys/module/some_module/sections/%s", section);
	snprintf(text, sizeof(text), "0x%016lx\n", start);
	put(r, name, ux_bytes_cstr(text));
}

static int make_root(void **state)
{
	static struct root r;
	snprintf(r.path, sizeof(r.path), "/tmp/unhex-kernel-XXXXXX");
	if (!mkdtemp(r.path))
		return -1;
	put_lists(&r);
	*state = &r;
	return 0;
}

static int remove_root(void **state)
{
	const struct root *r = *state;
	char command[128];
	snprintf(command, sizeof(command), "rm -rf %s", r->path);
	return system(command);
}

static enum ux_code look(const struct root *r, const struct ux_process_cache_opts *more,
			 const uint64_t *addrs, size_t n, struct ux_process_answers **ret)
{
	struct ux_process_cache_opts find = more ? *more : (struct ux_process_cache_opts){0};
	struct ux_process_opts opts = {.size = sizeof(opts)};
	struct ux_process *p = NULL;
	find.size = sizeof(find);
	find.kernel_root = r->path;
	enum ux_code code = ux_process_cache_create(&find, &opts.cache, NULL);
	if (code == UX_OK)
		code = ux_process_open(getpid(), &opts, &p, NULL);
	ux_process_cache_free(opts.cache);
	if (code == UX_OK)
		code = ux_process_lookup(p, addrs, n, UX_PROCESS_NOW, 0, ret, NULL);
	ux_process_close(p);
	return code;
}

/* Checks the answer for one address: function and pc; part of the reason why it is incomplete,
 * NULL: it is complete. */
static void assert_answer(const struct root *r, const struct ux_process_cache_opts *more,
			  uint64_t addr, const char *function, uint64_t pc, const char *lost)
{
	struct ux_process_answers *all = NULL;
	assert_int_equal(look(r, more, &addr, 1, &all), UX_OK);
	const struct ux_process_answer *a = ux_process_answer_at(all, 0);
	assert_int_equal(a->kind, UX_PROCESS_KERNEL);
	assert_int_equal(a->n, 1);
	assert_string_equal(a->frames[0].function, function);
	assert_int_equal(a->pc, pc);
	assert_string_equal(a->reason, "");
	if (lost)
		assert_non_null(strstr(a->lost, lost));
	else
		assert_string_equal(a->lost, "");
	ux_process_answers_free(all);
}

static void what_is_in_no_file_keeps_its_name(void **state)
{
	const struct root *r = *state;
	uint64_t addr = KERNEL_AT + 0x1011, module = MODULE_AT + 9, bpf = MODULE_AT + 0x100010;
	assert_answer(r, NULL, addr, "of_the_kernel", addr, "no file of gnu:6b65726e656c2773");
	assert_answer(r, NULL, module, "in_text", module, "no file of gnu:" MODULE_HEX);
	assert_answer(r, NULL, bpf, "bpf_prog_6deef7357e7b4530_f", bpf, "");
}

static void the_kernel_is_moved_as_a_whole(void **state)
{
	const struct root *r = *state;
	const char *lost = "no debug file of gnu:";
	put_kernel(r, "boot/vmlinux-6.99-test", KERNEL_ID, /* symbols= */ true);
	assert_answer(r, NULL, KERNEL_AT + 0x1011, "name_in_the_file", LINKED_AT + 0x1011, lost);
	assert_answer(r, NULL, KERNEL_AT + 0x1000, "_stext", LINKED_AT + 0x1000, lost);
	/* Without these symbols the first byte is taken for _text, which is wrong here. */
	put_kernel(r, "boot/vmlinux-6.99-test", KERNEL_ID, /* symbols= */ false);
	assert_answer(r, NULL, KERNEL_AT + 0x11, "name_in_the_file", LINKED_AT + 0x1011, lost);
	put_kernel(r, "boot/vmlinux-6.99-test", MODULE_ID, /* symbols= */ true);
	assert_answer(r, NULL, KERNEL_AT + 0x1011, "of_the_kernel", KERNEL_AT + 0x1011,
		      "boot/vmlinux-6.99-test has build ID gnu:" MODULE_HEX
		      "; the loaded one has gnu:6b65");
}

static void sections_of_a_module_are_where_sys_tells(void **state)
{
	const struct root *r = *state;
	const char *lost = "no debug file of gnu:";
	put_module(r, "lib/modules/6.99-test/kernel/some-module.ko");
	put_section(r, ".text", MODULE_AT);
	put_section(r, ".text.unlikely", MODULE_AT + 0x1000);
	put_section(r, ".init.text", 0); /* hidden */
	assert_answer(r, NULL, MODULE_AT + 9, "in_text", 9, lost);
	assert_answer(r, NULL, MODULE_AT + 0x1009, "in_unlikely", CODE + 9, lost);
	put_section(r, ".text", 0);
	put_section(r, ".text.unlikely", 0);
	assert_answer(r, NULL, MODULE_AT + 9, "in_text", 9, lost); /* as /proc/modules has it */
	/* The loader's rule puts it elsewhere than the list does. */
	assert_answer(r, NULL, MODULE_AT + 0x1009, "in_unlikely", MODULE_AT + 0x1009, lost);
}

struct servant {
	const char *path; /* NULL: it has none */
	enum ux_code code;
	unsigned requested;
};

static enum ux_code serve(void *ctx, const char *build_id, char **ret_path, struct ux_error *err)
{
	struct servant *s = ctx;
	s->requested++;
	if (strcmp(build_id, "gnu:" MODULE_HEX) != 0)
		return UX_ENOTFOUND;
	if (s->code != UX_OK)
		return ux_error_set(err, s->code, "words of the server");
	*ret_path = s->path ? strdup(s->path) : NULL;
	return UX_OK;
}

static void sources_of_debug_files_are_queried_by_build_id(void **state)
{
	const struct root *r = *state;
	char path[PATH_MAX];
	struct servant s = {.code = UX_OK};
	struct ux_process_cache_opts find = {.find = serve, .find_ctx = &s};
	put(r, "lib/modules/6.99-test/modules.dep", UX_STR("kernel/another.ko:\n"));
	put_section(r, ".text", MODULE_AT);
	put_module(r, "fetched");
	snprintf(path, sizeof(path), "%s/fetched", r->path);
	s.path = path;
	assert_answer(r, &find, MODULE_AT + 9, "in_text", 9, NULL);
	assert_int_equal(s.requested, 2); /* also for lines that the fetched file lacks */
	s.path = "/tmp/unhex-there-is-none";
	assert_answer(r, &find, MODULE_AT + 9, "in_text", MODULE_AT + 9, "does not exist");
	s.path = NULL;
	assert_answer(r, &find, MODULE_AT + 9, "in_text", MODULE_AT + 9, "is not a file");
	s.code = UX_EUNAVAILABLE;
	assert_answer(r, &find, MODULE_AT + 9, "in_text", MODULE_AT + 9, "words of the server");
	s.code = UX_ENOTFOUND;
	assert_answer(r, &find, MODULE_AT + 9, "in_text", MODULE_AT + 9, "no file of gnu:");
	put(r, "lib/modules/6.99-test/modules.dep", UX_STR("kernel/some-module.ko:\n"));
}

enum {
	THREADS = 6,
	ROUNDS = 40,
};

/* State shared by the threads. */
struct crowd {
	struct ux_process_cache *cache;
	atomic_uint wrong;
};

static void *look_up_all_the_time(void *ctx)
{
	struct crowd *c = ctx;
	const uint64_t addrs[] = {KERNEL_AT + 0x1011, MODULE_AT + 9, MODULE_AT + 0x100010};
	static const char *const names[] = {"name_in_the_file", "in_text",
					    "bpf_prog_6deef7357e7b4530_f"};
	struct ux_process_opts opts = {.size = sizeof(opts), .cache = c->cache};
	for (int i = 0; i < ROUNDS; i++) {
		struct ux_process *p = NULL;
		struct ux_process_answers *a = NULL;
		bool right = ux_process_open(getpid(), &opts, &p, NULL) == UX_OK &&
			     ux_process_lookup(p, addrs, 3, UX_PROCESS_NOW, 0, &a, NULL) == UX_OK;
		ux_process_close(p);
		for (size_t k = 0; k < 3 && right; k++) {
			const struct ux_process_answer *one = ux_process_answer_at(a, k);
			right = one->n == 1 && strcmp(one->frames[0].function, names[k]) == 0;
		}
		atomic_fetch_add(&c->wrong, !right);
		ux_process_answers_free(a);
	}
	return NULL;
}

static void many_threads_share_what_is_read(void **state)
{
	const struct root *r = *state;
	struct crowd c = {0};
	pthread_t threads[THREADS];
	struct ux_process_cache_opts find = {.size = sizeof(find), .kernel_root = r->path};
	put_kernel(r, "boot/vmlinux-6.99-test", KERNEL_ID, /* symbols= */ true);
	assert_int_equal(ux_process_cache_create(&find, &c.cache, NULL), UX_OK);
	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, look_up_all_the_time, &c), 0);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(atomic_load(&c.wrong), 0);
	ux_process_cache_free(c.cache);
}

static enum ux_code look_once(void *ctx)
{
	const struct root *r = ctx;
	const uint64_t addrs[] = {KERNEL_AT + 0x1011, MODULE_AT + 9};
	struct ux_process_answers *all = NULL;
	enum ux_code code = look(r, NULL, addrs, 2, &all);
	ux_process_answers_free(all);
	return code;
}

static void without_memory_it_fails_cleanly(void **state)
{
	put_kernel(*state, "boot/vmlinux-6.99-test", KERNEL_ID, /* symbols= */ true);
	assert_true(each_failed_alloc(look_once, *state, /* may_recover= */ true) > 20);
}

UX_SUITE(kernel_lines)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(what_is_in_no_file_keeps_its_name),
		UX_TEST(the_kernel_is_moved_as_a_whole),
		UX_TEST(sections_of_a_module_are_where_sys_tells),
		UX_TEST(sources_of_debug_files_are_queried_by_build_id),
		UX_TEST(many_threads_share_what_is_read),
		UX_TEST(without_memory_it_fails_cleanly),
	};
	return cmocka_run_group_tests(tests, make_root, remove_root);
}
