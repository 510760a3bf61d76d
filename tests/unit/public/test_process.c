/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of live processes, through the installed header: this one, and children of it. */
#include "sweep.h"

#include <unhex/unhex.h>

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

__attribute__((noinline)) int function_of_this_test(int x);
int function_of_this_test(int x)
{
	return x * 3 + 1;
}

static uint64_t here(void)
{
	return (uint64_t)(uintptr_t)&function_of_this_test;
}

static struct ux_process *open_pid(pid_t pid, uint32_t refresh_ms)
{
	struct ux_process *p = NULL;
	struct ux_process_opts opts = {.size = sizeof(opts), .refresh_ms = refresh_ms};
	assert_int_equal(ux_process_open(pid, &opts, &p, NULL), UX_OK);
	return p;
}

static struct ux_process_answers *look(struct ux_process *p, const uint64_t *addrs, size_t n)
{
	struct ux_process_answers *a = NULL;
	assert_int_equal(ux_process_lookup(p, addrs, n, UX_PROCESS_NOW, 0, &a, NULL), UX_OK);
	return a;
}

/* The one answer for an address is that function's. */
static void assert_function(struct ux_process *p, uint64_t addr, enum ux_process_kind kind,
			    const char *function)
{
	struct ux_process_answers *all = look(p, &addr, 1);
	const struct ux_process_answer *a = ux_process_answer_at(all, 0);
	assert_string_equal(a->reason, function ? "" : a->reason);
	assert_int_equal(a->kind, kind);
	assert_int_equal(a->n > 0, function != NULL);
	if (function)
		assert_string_equal(a->frames[a->n - 1].function, function);
	ux_process_answers_free(all);
}

static void functions_of_the_program_and_its_libraries_are_named(void **state)
{
	(void)state;
	struct ux_process *p = open_pid(getpid(), 0);
	uint64_t addrs[] = {here() + 1, (uint64_t)(uintptr_t)&malloc, 1, here()};
	struct ux_process_answers *all = look(p, addrs, 4);
	const struct ux_process_answer *a = ux_process_answer_at(all, 0);
	assert_int_equal(a->kind, UX_PROCESS_FILE);
	assert_string_equal(a->frames[0].function, "function_of_this_test");
	assert_string_equal(a->frames[0].base, "test_process.c");
	assert_non_null(strstr(a->module, "test_public"));
	assert_int_equal(a->addr, addrs[0]);
	assert_string_equal(ux_process_answer_at(all, 2)->reason, "nothing is mapped there");
	assert_string_equal(ux_process_answer_at(all, 2)->module, "");
	assert_int_equal(ux_process_answer_at(all, 3)->frames[0].offset, 0);
	ux_process_close(p); /* answers live on */
	assert_string_equal(a->frames[0].function, "function_of_this_test");
	ux_process_answers_free(all);
}

static void return_addresses_are_set_back(void **state)
{
	(void)state;
	struct ux_process *p = open_pid(getpid(), 0);
	struct ux_process_answers *all = NULL;
	uint64_t addrs[] = {here() + 1, 0};
	assert_int_equal(ux_process_lookup(p, addrs, 2, UX_PROCESS_NOW, UX_LOOKUP_RETURN_ADDRESS,
					   &all, NULL),
			 UX_OK);
	assert_int_equal(ux_process_answer_at(all, 0)->frames[0].offset, 0);
	assert_string_equal(ux_process_answer_at(all, 1)->reason, "no call returns to 0x0");
	ux_process_answers_free(all);
	assert_int_equal(ux_process_lookup(p, addrs, 1, 0, 8, &all, NULL), UX_EINVAL);
	ux_process_close(p);
}

static void what_the_kernel_gives_is_reported(void **state)
{
	(void)state;
	struct ux_process *p = open_pid(getpid(), 0);
	assert_function(p, 0xffffffffff600000, UX_PROCESS_VDSO, "gettimeofday");
	void *vdso = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);
	void *clock = vdso ? dlsym(vdso, "__vdso_clock_gettime") : NULL;
	if (clock)
		assert_function(p, (uint64_t)(uintptr_t)clock, UX_PROCESS_VDSO, "clock_gettime");
	assert_int_equal(clock != NULL, getauxval(AT_SYSINFO_EHDR) != 0);
	ux_process_close(p);
}

/* Two pages, the second one for code, with a perf map of this process that names it. */
static void code_made_at_run_time_is_reported_and_followed(void **state)
{
	(void)state;
	char path[64];
	struct ux_process *p = open_pid(getpid(), 1);
	struct timespec pause = {.tv_nsec = 5000000};
	void *code = mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t addr = (uint64_t)(uintptr_t)code;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	unlink(path);
	assert_function(p, addr, UX_PROCESS_NOTHING, NULL);
	FILE *map = fopen(path, "w");
	assert_non_null(map);
	fprintf(map, "%" PRIx64 " 10 first\n%" PRIx64 " 10 sec", addr, addr + 16);
	fflush(map);
	nanosleep(&pause, NULL);
	assert_function(p, addr + 15, UX_PROCESS_JIT, "first");
	assert_function(p, addr + 16, UX_PROCESS_NOTHING, NULL);
	fprintf(map, "ond\n%" PRIx64 " 8 over the first\n", addr);
	fflush(map);
	nanosleep(&pause, NULL);
	assert_function(p, addr + 16, UX_PROCESS_JIT, "second");
	assert_function(p, addr + 7, UX_PROCESS_JIT, "over the first");
	assert_function(p, addr + 8, UX_PROCESS_JIT, "first");
	uint64_t old = addr;
	struct ux_process_answers *kept = look(p, &old, 1);
	rewind(map); /* written again, in place and longer */
	fprintf(map, "%" PRIx64 " 40 quite another function, with a long name\n", addr);
	fprintf(map, "%" PRIx64 " 40 one more\n", addr + 0x100);
	fclose(map);
	nanosleep(&pause, NULL);
	assert_function(p, addr + 0x100, UX_PROCESS_JIT, "one more");
	assert_function(p, addr, UX_PROCESS_JIT, "quite another function, with a long name");
	assert_string_equal(ux_process_answer_at(kept, 0)->frames[0].function, "over the first");
	assert_string_equal(ux_process_answer_at(kept, 0)->module, path);
	ux_process_answers_free(kept);
	unlink(path);
	ux_process_close(p);
	munmap(code, 8192);
}

/* Text pages of this program as anonymous memory at the same addresses, as tools for huge pages
 * make them. */
static void code_that_was_moved_to_anonymous_memory_is_the_files(void **state)
{
	(void)state;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *at = (uint8_t *)(uintptr_t)(here() & ~(uint64_t)(page - 1));
	uint8_t *copy =
		mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pid_t child = 0;
	int ready[2];
	assert_ptr_not_equal(copy, MAP_FAILED);
	memcpy(copy, at, page);
	assert_int_equal(pipe(ready), 0);
	mprotect(copy, page, PROT_READ | PROT_EXEC);
	child = fork();
	if (child == 0) { /* only the child runs with it */
		(void)!mremap(copy, page, page, MREMAP_MAYMOVE | MREMAP_FIXED, at);
		(void)!write(ready[1], "x", 1);
		for (;;)
			pause();
	}
	char x = 0;
	assert_int_equal(read(ready[0], &x, 1), 1);
	struct ux_process *p = open_pid(child, 0);
	assert_function(p, here() + 1, UX_PROCESS_FILE, "function_of_this_test");
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_function(p, here() + 1, UX_PROCESS_FILE, "function_of_this_test"); /* unchanged */
	ux_process_close(p);
	munmap(copy, page);
	close(ready[0]);
	close(ready[1]);
}

static void an_exec_is_followed(void **state)
{
	(void)state;
	int ready[2], go[2];
	char x = 0;
	assert_int_equal(pipe(ready) | pipe(go), 0);
	pid_t child = fork();
	if (child == 0) {
		(void)!write(ready[1], "x", 1);
		(void)!read(go[0], &x, 1);
		close(ready[1]);
		execlp("sleep", "sleep", "60", (char *)NULL);
		_exit(1);
	}
	assert_int_equal(read(ready[0], &x, 1), 1);
	struct ux_process *p = open_pid(child, 0);
	assert_function(p, here() + 1, UX_PROCESS_FILE, "function_of_this_test");
	assert_int_equal(write(go[1], "x", 1), 1);
	char exe[PATH_MAX] = "", link[64];
	snprintf(link, sizeof(link), "/proc/%d/exe", (int)child);
	for (int i = 0; i < 500 && !strstr(exe, "sleep"); i++) {
		struct timespec pause = {.tv_nsec = 10000000};
		nanosleep(&pause, NULL);
		ssize_t n = readlink(link, exe, sizeof(exe) - 1);
		exe[n > 0 ? n : 0] = 0;
	}
	assert_non_null(strstr(exe, "sleep"));
	uint64_t addr = here() + 1;
	struct ux_process_answers *all = look(p, &addr, 1);
	assert_null(strstr(ux_process_answer_at(all, 0)->module, "test_public"));
	ux_process_answers_free(all);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	ux_process_close(p);
}

static void a_process_that_is_not_there_is_said(void **state)
{
	(void)state;
	struct ux_process *p = NULL;
	struct ux_error err = UX_ERROR_INIT;
	pid_t child = fork();
	if (child == 0)
		_exit(0);
	waitpid(child, NULL, 0);
	assert_int_equal(ux_process_open(child, NULL, &p, &err), UX_ENOTFOUND);
	assert_non_null(strstr(err.text, "no process"));
	assert_int_equal(ux_process_open(0, NULL, &p, NULL), UX_EINVAL);
	assert_int_equal(ux_process_open(-1, NULL, &p, NULL), UX_EINVAL);
	struct ux_process_opts opts = {.size = sizeof(opts), .flags = 1};
	assert_int_equal(ux_process_open(getpid(), &opts, &p, NULL), UX_EINVAL);
	assert_null(p);
	ux_process_close(NULL);
	ux_process_answers_free(NULL);
	ux_process_cache_free(NULL);
}

static void kinds_have_names(void **state)
{
	(void)state;
	assert_string_equal(ux_process_kind_name(UX_PROCESS_NOTHING), "nothing");
	assert_string_equal(ux_process_kind_name(UX_PROCESS_KERNEL), "kernel");
	assert_string_equal(ux_process_kind_name(UX_PROCESS_KIND_COUNT), "unknown");
}

enum {
	THREADS = 6,
	ROUNDS = 60,
};

/* State shared by the threads. */
struct crowd {
	struct ux_process *process;
	struct ux_process_cache *cache;
	uint64_t code;
	atomic_uint wrong;
};

static void *look_up_all_the_time(void *ctx)
{
	struct crowd *c = ctx;
	struct ux_process *own = NULL;
	struct ux_process_opts opts = {.size = sizeof(opts), .cache = c->cache, .refresh_ms = 1};
	if (ux_process_open(getpid(), &opts, &own, NULL) != UX_OK)
		atomic_fetch_add(&c->wrong, 1);
	for (int i = 0; i < ROUNDS && own; i++) {
		struct ux_process_answers *a = NULL;
		uint64_t addrs[] = {here(), c->code + (uint64_t)i, (uint64_t)(uintptr_t)&malloc,
				    0x10, here() + 2};
		struct ux_process *p = i % 3 ? c->process : own;
		if (ux_process_lookup(p, addrs, 5, UX_PROCESS_NOW, 0, &a, NULL) != UX_OK) {
			atomic_fetch_add(&c->wrong, 1);
			continue;
		}
		const struct ux_process_answer *f = ux_process_answer_at(a, 4);
		if (f->n == 0 || strcmp(f->frames[0].function, "function_of_this_test") != 0)
			atomic_fetch_add(&c->wrong, 1);
		const struct ux_process_answer *jit = ux_process_answer_at(a, 1);
		if (jit->n > 0 && strncmp(jit->frames[0].function, "made", 4) != 0)
			atomic_fetch_add(&c->wrong, 1);
		ux_process_answers_free(a);
	}
	ux_process_close(own);
	return NULL;
}

static void many_threads_look_up_while_code_is_made(void **state)
{
	(void)state;
	struct crowd c = {0};
	char path[64];
	pthread_t threads[THREADS];
	void *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	c.code = (uint64_t)(uintptr_t)code;
	assert_int_equal(ux_process_cache_create(NULL, &c.cache, NULL), UX_OK);
	struct ux_process_opts opts = {.size = sizeof(opts), .cache = c.cache, .refresh_ms = 1};
	assert_int_equal(ux_process_open(getpid(), &opts, &c.process, NULL), UX_OK);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, look_up_all_the_time, &c), 0);
	for (int i = 0; i < 200; i++) { /* mappings and code change all the while */
		FILE *map = fopen(path, i % 50 == 0 ? "w" : "a");
		assert_non_null(map);
		fprintf(map, "%" PRIx64 " 4 made%d\n", c.code + (uint64_t)(i % 64), i);
		fclose(map);
		void *more = mmap(NULL, 4096, i % 2 ? PROT_READ : PROT_EXEC,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		struct timespec pause = {.tv_nsec = 200000};
		nanosleep(&pause, NULL);
		munmap(more, 4096);
	}
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(atomic_load(&c.wrong), 0);
	unlink(path);
	ux_process_close(c.process);
	ux_process_cache_free(c.cache);
	munmap(code, 4096);
}

/* In the vDSO, which is quick to read: a sweep reads it once for each allocation. */
static enum ux_code open_and_look(void *ctx)
{
	(void)ctx;
	struct ux_process *p = NULL;
	struct ux_process_answers *a = NULL;
	uint64_t addrs[] = {(uint64_t)getauxval(AT_SYSINFO_EHDR) + 0x100};
	enum ux_code code = ux_process_open(getpid(), NULL, &p, NULL);
	if (code == UX_OK)
		code = ux_process_lookup(p, addrs, 1, UX_PROCESS_NOW, 0, &a, NULL);
	ux_process_answers_free(a);
	ux_process_close(p);
	return code;
}

static void without_memory_it_fails_cleanly(void **state)
{
	(void)state;
	assert_true(each_failed_alloc(open_and_look, NULL, /* may_recover= */ true) > 10);
}

/* Looks up addresses, each with flags of its own. */
static struct ux_process_answers *look_each(struct ux_process *p,
					    const struct ux_process_address *addresses, size_t n)
{
	struct ux_process_answers *a = NULL;
	assert_int_equal(ux_process_lookup_many(p, addresses, n, &a, NULL), UX_OK);
	return a;
}

static void a_stack_is_one_innermost_address_and_many_return_addresses(void **state)
{
	(void)state;
	struct ux_process *p = open_pid(getpid(), 0);
	struct ux_process_answers *all = NULL;
	struct ux_process_address stack[] = {
		{.addr = here() + 1},
		{.addr = here() + 1, .flags = UX_LOOKUP_RETURN_ADDRESS},
		{.addr = 0, .flags = UX_LOOKUP_RETURN_ADDRESS},
		{.addr = 0}};
	all = look_each(p, stack, 4);
	assert_int_equal(ux_process_answer_at(all, 0)->frames[0].offset, 1);
	assert_int_equal(ux_process_answer_at(all, 1)->frames[0].offset, 0);
	assert_int_equal(ux_process_answer_at(all, 2)->reason_code, UX_PROCESS_REASON_NO_CALL);
	assert_int_equal(ux_process_answer_at(all, 3)->reason_code, UX_PROCESS_REASON_UNMAPPED);
	ux_process_answers_free(all);
	stack[1].flags = 2;
	assert_int_equal(ux_process_lookup_many(p, stack, 2, &all, NULL), UX_EINVAL);
	stack[1] = (struct ux_process_address){.addr = 1, .reserved = 1};
	assert_int_equal(ux_process_normalize(p, stack, 2, &all, NULL), UX_EINVAL);
	ux_process_close(p);
}

/* A normalized address gives the same frames in the file as the address in the process. */
static void normalized_addresses_are_those_of_the_file(void **state)
{
	(void)state;
	struct ux_process *p = open_pid(getpid(), 0);
	struct ux_process_answers *all = NULL;
	struct ux_ids ids;
	struct ux_module *module = NULL;
	struct ux_input self = ux_input_path("/proc/self/exe");
	struct ux_frame frames[UX_FRAMES_MAX];
	size_t n = 0;
	void *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ux_process_address addresses[] = {
		{.addr = here() + 1},
		{.addr = here() + 1, .flags = UX_LOOKUP_RETURN_ADDRESS},
		{.addr = (uint64_t)(uintptr_t)code},
		{.addr = 16},
		{.addr = UINT64_MAX - 4096},
		{.addr = (uint64_t)getauxval(AT_SYSINFO_EHDR) + 0x100}};
	assert_int_equal(ux_process_normalize(p, addresses, 6, &all, NULL), UX_OK);
	const struct ux_process_answer *a = ux_process_answer_at(all, 0);
	assert_int_equal(ux_ids_read(&self, &ids, NULL), UX_OK);
	assert_string_equal(a->id, ids.text[0]);
	assert_string_equal(a->build_id, ids.text[0]);
	assert_int_equal(a->kind, UX_PROCESS_FILE);
	assert_int_equal(a->n, 0);
	assert_int_equal(a->reason_code, UX_PROCESS_REASON_NONE);
	assert_int_equal(ux_module_open(&self, NULL, &module, NULL), UX_OK);
	assert_int_equal(ux_module_lookup(module, a->pc, 0, frames, UX_FRAMES_MAX, &n, NULL),
			 UX_OK);
	assert_string_equal(frames[n - 1].function, "function_of_this_test");
	assert_int_equal(frames[n - 1].offset, 1);
	assert_int_equal(ux_process_answer_at(all, 1)->pc, a->pc);
	assert_int_equal(ux_process_answer_at(all, 2)->reason_code, UX_PROCESS_REASON_RUNTIME_CODE);
	assert_int_equal(ux_process_answer_at(all, 3)->reason_code, UX_PROCESS_REASON_UNMAPPED);
	assert_int_equal(ux_process_answer_at(all, 4)->reason_code, UX_PROCESS_REASON_KERNEL);
	if (getauxval(AT_SYSINFO_EHDR)) {
		assert_int_equal(ux_process_answer_at(all, 5)->kind, UX_PROCESS_VDSO);
		assert_true(strncmp(ux_process_answer_at(all, 5)->id, "gnu:", 4) == 0);
		assert_int_equal(ux_process_answer_at(all, 5)->pc, 0x100);
	}
	ux_module_close(module);
	ux_process_answers_free(all);
	ux_process_close(p);
	munmap(code, 4096);
}

static void an_answer_has_the_size_of_its_function_and_the_identity_of_its_file(void **state)
{
	(void)state;
	struct ux_process *p = open_pid(getpid(), 0);
	uint64_t addrs[] = {here(), 0};
	struct ux_process_answers *all = look(p, addrs, 1);
	const struct ux_process_answer *a = ux_process_answer_at(all, 0);
	uint64_t size = a->function_size;
	assert_in_range(size, 4, 200);
	assert_string_equal(a->id, a->build_id);
	assert_int_equal(a->retry_ms, 0);
	ux_process_answers_free(all);
	addrs[0] = here() + size - 1;
	addrs[1] = here() + size;
	all = look(p, addrs, 2);
	assert_string_equal(ux_process_answer_at(all, 0)->frames[0].function,
			    "function_of_this_test");
	a = ux_process_answer_at(all, 1);
	assert_true(a->n == 0 || strcmp(a->frames[0].function, "function_of_this_test") != 0);
	ux_process_answers_free(all);
	ux_process_close(p);
}

/* Code that is newer than the last read of the process is found after retry_ms, or immediately by
 * ux_process_refresh(). */
static void new_code_is_found_when_the_answer_says_or_after_a_refresh(void **state)
{
	(void)state;
	char path[64];
	struct ux_process *p = open_pid(getpid(), 60000);
	void *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t addr = (uint64_t)(uintptr_t)code;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	unlink(path);
	for (int i = 0; i < 2; i++) {
		struct ux_process_answers *all = look(p, &addr, 1);
		const struct ux_process_answer *a = ux_process_answer_at(all, 0);
		assert_int_equal(a->reason_code, UX_PROCESS_REASON_RUNTIME_CODE);
		assert_in_range(a->retry_ms, 50000, 60001);
		ux_process_answers_free(all);
	}
	FILE *map = fopen(path, "w");
	assert_non_null(map);
	fprintf(map, "%" PRIx64 " 10 new\n", addr);
	fclose(map);
	assert_function(p, addr, UX_PROCESS_NOTHING, NULL); /* it is not read again yet */
	assert_int_equal(ux_process_refresh(p, NULL), UX_OK);
	assert_function(p, addr, UX_PROCESS_JIT, "new");
	struct ux_process_answers *all = look(p, &addr, 1);
	assert_int_equal(ux_process_answer_at(all, 0)->function_size, 0x10);
	ux_process_answers_free(all);
	unlink(path);
	ux_process_close(p);
	munmap(code, 4096);
}

static void a_refresh_of_a_process_that_has_ended_says_so(void **state)
{
	(void)state;
	pid_t child = fork();
	if (child == 0)
		for (;;)
			pause();
	struct ux_process *p = open_pid(child, 0);
	struct ux_error err = UX_ERROR_INIT;
	assert_function(p, here(), UX_PROCESS_FILE, "function_of_this_test");
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_int_equal(ux_process_refresh(p, &err), UX_ENOTFOUND);
	assert_int_equal(err.code, UX_ENOTFOUND);
	assert_function(p, here(), UX_PROCESS_FILE, "function_of_this_test");
	uint64_t unmapped = 16;
	struct ux_process_answers *all = look(p, &unmapped, 1);
	assert_int_equal(ux_process_answer_at(all, 0)->retry_ms, 0); /* it never will be */
	ux_process_answers_free(all);
	ux_process_close(p);
}

/* The kernel's list is made here: this machine's may be hidden. */
static void the_kernel_is_looked_up_without_a_process(void **state)
{
	(void)state;
	char root[] = "/tmp/kernel-XXXXXX", folder[64], path[96];
	struct ux_process *p = NULL;
	struct ux_process_answers *all = NULL;
	struct ux_process_cache *cache = NULL;
	assert_non_null(mkdtemp(root));
	snprintf(folder, sizeof(folder), "%s/proc", root);
	assert_int_equal(mkdir(folder, 0700), 0);
	snprintf(path, sizeof(path), "%s/kallsyms", folder);
	FILE *list = fopen(path, "w");
	assert_non_null(list);
	fprintf(list, "ffffffff81000000 T _text\nffffffff81000100 T first_function\n"
		      "ffffffff81000140 T second_function\nffffffff81000200 D data\n");
	fclose(list);
	struct ux_process_cache_opts where = {.size = sizeof(where), .kernel_root = root};
	assert_int_equal(ux_process_cache_create(&where, &cache, NULL), UX_OK);
	struct ux_process_opts opts = {.size = sizeof(opts), .cache = cache};
	assert_int_equal(ux_process_open_kernel(&opts, &p, NULL), UX_OK);
	struct ux_process_address addresses[] = {
		{.addr = 0xffffffff81000108},
		{.addr = 0xffffffff81000140, .flags = UX_LOOKUP_RETURN_ADDRESS},
		{.addr = 0x1000}};
	all = look_each(p, addresses, 3);
	const struct ux_process_answer *a = ux_process_answer_at(all, 0);
	assert_int_equal(a->kind, UX_PROCESS_KERNEL);
	assert_string_equal(a->frames[0].function, "first_function");
	assert_int_equal(a->frames[0].offset, 8);
	assert_int_equal(a->function_size, 0x40);
	assert_string_equal(ux_process_answer_at(all, 1)->frames[0].function, "first_function");
	assert_int_equal(ux_process_answer_at(all, 2)->reason_code, UX_PROCESS_REASON_UNMAPPED);
	assert_int_equal(ux_process_answer_at(all, 2)->retry_ms, 0);
	ux_process_answers_free(all);
	list = fopen(path, "w"); /* a module was loaded, and a refresh finds it */
	assert_non_null(list);
	fprintf(list, "ffffffff81000100 T other_function\nffffffff81000200 D data\n");
	fclose(list);
	assert_int_equal(ux_process_refresh(p, NULL), UX_OK);
	assert_function(p, 0xffffffff81000108, UX_PROCESS_KERNEL, "other_function");
	ux_process_close(p);
	ux_process_cache_free(cache);
	unlink(path);
	rmdir(folder);
	rmdir(root);
}

static void reasons_have_names(void **state)
{
	(void)state;
	assert_string_equal(ux_process_reason_name(UX_PROCESS_REASON_NONE), "none");
	assert_string_equal(ux_process_reason_name(UX_PROCESS_REASON_RUNTIME_CODE),
			    "run-time code");
	assert_string_equal(ux_process_reason_name(UX_PROCESS_REASON_NO_CALL), "no call");
	assert_string_equal(ux_process_reason_name(UX_PROCESS_REASON_COUNT), "unknown");
}

UX_SUITE(process)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(functions_of_the_program_and_its_libraries_are_named),
		UX_TEST(return_addresses_are_set_back),
		UX_TEST(what_the_kernel_gives_is_reported),
		UX_TEST(code_made_at_run_time_is_reported_and_followed),
		UX_TEST(code_that_was_moved_to_anonymous_memory_is_the_files),
		UX_TEST(an_exec_is_followed),
		UX_TEST(a_process_that_is_not_there_is_said),
		UX_TEST(kinds_have_names),
		UX_TEST(a_stack_is_one_innermost_address_and_many_return_addresses),
		UX_TEST(normalized_addresses_are_those_of_the_file),
		UX_TEST(an_answer_has_the_size_of_its_function_and_the_identity_of_its_file),
		UX_TEST(new_code_is_found_when_the_answer_says_or_after_a_refresh),
		UX_TEST(a_refresh_of_a_process_that_has_ended_says_so),
		UX_TEST(the_kernel_is_looked_up_without_a_process),
		UX_TEST(reasons_have_names),
		UX_TEST(many_threads_look_up_while_code_is_made),
		UX_TEST(without_memory_it_fails_cleanly),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
