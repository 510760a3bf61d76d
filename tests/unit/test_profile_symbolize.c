/* SPDX-License-Identifier: Apache-2.0 */
/* Names for the locations of a profile, by what this machine has. */
#include "sweep.h"

#include "file_symbols.h"
#include "make_elf.h"
#include "make_profile.h"
#include "proc_files.h"
#include "profile_symbolize.h"

#include <dlfcn.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#define KERNEL_ID UX_STR("kernel's own build I")
#define OTHER_ID  UX_STR("another one's build ")

/* A machine below a folder, and a profile. */
struct machine {
	char root[64];
	struct ux_process_cache *cache;
	struct ux_profile_sources sources;
	struct ux_profile profile;
};

/* Writes a file below the root and makes its folders. */
static void put(const struct machine *t, const char *name, struct ux_bytes content)
{
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s/%s", t->root, name);
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

static void put_note(const struct machine *t, const char *name, struct ux_bytes id)
{
	ux_cleanup(ux_out_deinit) struct ux_out note = {0};
	make_note(&note, "GNU", NT_GNU_BUILD_ID, id, 4);
	put(t, name, ux_out_bytes(&note));
}

static int open_machine(void **state)
{
	struct machine *t = calloc(1, sizeof(*t));
	(void)snprintf(t->root, sizeof(t->root), "/tmp/ux-profile-symbolize-XXXXXX");
	if (!mkdtemp(t->root))
		return -1;
	put_note(t, "sys/kernel/notes", KERNEL_ID);
	put(t, "proc/kallsyms",
	    UX_STR("ffffffff81000000 T _text\nffffffff81000010 t in_kernel\n"
		   "ffffffff81000100 T _etext\n"));
	struct ux_process_cache_opts opts = {.size = sizeof(opts), .kernel_root = t->root};
	assert_int_equal(ux_process_cache_create(&opts, &t->cache, NULL), UX_OK);
	t->sources.cache = t->cache;
	make_profile(&t->profile, "samples/count");
	*state = t;
	return 0;
}

static int close_machine(void **state)
{
	struct machine *t = *state;
	char command[128];
	snprintf(command, sizeof(command), "rm -r %s", t->root);
	ux_profile_deinit(&t->profile);
	ux_process_cache_free(t->cache);
	int code = system(command);
	free(t);
	return code;
}

static struct ux_id gnu_id(struct ux_bytes bytes)
{
	struct ux_id id = {0};
	if (bytes.size > 0)
		assert_int_equal(ux_id_make(UX_ID_GNU, bytes, &id, NULL), UX_OK);
	return id;
}

static uint32_t add_module(struct machine *t, enum ux_profile_module_kind kind, const char *path,
			   struct ux_id id)
{
	uint32_t module = 0;
	struct ux_profile_module m = {
		.kind = kind, .path = make_profile_string(&t->profile, path), .id = id};
	assert_int_equal(ux_profile_add_module(&t->profile, m, &module, NULL), UX_OK);
	return module;
}

static uint32_t add_location(struct machine *t, uint32_t module, enum ux_profile_address_kind kind,
			     uint64_t address)
{
	uint32_t location = 0;
	struct ux_profile_place place = {
		.module = module, .kind = (uint8_t)kind, .address = address};
	assert_int_equal(ux_profile_locate(&t->profile, place, &location, NULL), UX_OK);
	return location;
}

static void symbolize(struct machine *t)
{
	assert_int_equal(ux_profile_symbolize(&t->profile, &t->sources, NULL), UX_OK);
}

/* The linkage name of a location's outermost function; "": it has none. */
static const char *name_of(const struct machine *t, uint32_t location)
{
	const struct ux_profile *p = &t->profile;
	const struct ux_profile_location *l = &p->locations.data[location];
	if (l->n == 0)
		return "";
	return (const char *)ux_profile_text(p, p->frames.data[l->first + l->n - 1].linkage).data;
}

static const char *why_of(const struct machine *t, uint32_t module)
{
	const struct ux_profile *p = &t->profile;
	return (const char *)ux_profile_text(p, p->modules.data[module].why).data;
}

/* --- the vDSO --------------------------------------------------------------------------------- */

/* The position of clock_gettime in this machine's vDSO, as the dynamic linker knows it. */
static uint64_t clock_in_vdso(void)
{
	void *vdso = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);
	struct ux_bytes image = ux_proc_own_vdso();
	assert_non_null(vdso);
	const uint8_t *function = dlsym(vdso, "__vdso_clock_gettime");
	if (!function)
		function = dlsym(vdso, "__kernel_clock_gettime"); /* of other processors */
	dlclose(vdso);
	assert_true(function > image.data && function < image.data + image.size);
	return (uint64_t)(function - image.data);
}

static struct ux_id own_vdso_id(void)
{
	ux_cleanup(ux_file_symbols_guard) struct ux_file_symbols *s = NULL;
	struct ux_id id;
	assert_int_equal(ux_file_symbols_create(ux_proc_own_vdso(), &s, NULL), UX_OK);
	assert_int_equal(ux_id_parse(ux_bytes_cstr(s->build_id), &id, NULL), UX_OK);
	return id;
}

static void code_of_the_vdso_is_named_by_that_of_this_machine_if_it_has_the_id(void **state)
{
	struct machine *t = *state;
	uint64_t at = clock_in_vdso();
	uint32_t own = add_module(t, UX_PROFILE_VDSO, "[vdso]", own_vdso_id());
	uint32_t other = add_module(t, UX_PROFILE_VDSO, "[vdso]", gnu_id(OTHER_ID));
	uint32_t named = add_location(t, own, UX_PROFILE_OFFSET, at + 1);
	uint32_t relative = add_location(t, own, UX_PROFILE_RELATIVE, at + 1);
	uint32_t unnamed = add_location(t, other, UX_PROFILE_OFFSET, at + 1);
	symbolize(t);
	assert_non_null(strstr(name_of(t, named), "clock_gettime"));
	assert_string_equal(name_of(t, relative), name_of(t, named));
	assert_string_equal(name_of(t, unnamed), "");
	assert_non_null(strstr(why_of(t, other), "another vDSO is here: gnu:"));
}

static void a_vdso_without_an_id_is_that_of_the_recorded_kernel(void **state)
{
	struct machine *t = *state;
	uint64_t at = clock_in_vdso();
	uint32_t vdso = add_module(t, UX_PROFILE_VDSO, "[vdso]", gnu_id(UX_BYTES_NONE));
	uint32_t kernel = add_module(t, UX_PROFILE_KERNEL, "[kernel.kallsyms]", gnu_id(OTHER_ID));
	uint32_t location = add_location(t, vdso, UX_PROFILE_OFFSET, at + 1);
	symbolize(t);
	assert_string_equal(name_of(t, location), "");
	assert_non_null(strstr(why_of(t, vdso), "has no ID of it"));
	t->profile.modules.data[kernel].id = gnu_id(KERNEL_ID);
	symbolize(t);
	assert_non_null(strstr(name_of(t, location), "clock_gettime"));
}

static void the_vdso_of_this_machine_is_not_used_for_other_machines(void **state)
{
	struct machine *t = *state;
	uint64_t at = clock_in_vdso();
	uint32_t vdso = add_module(t, UX_PROFILE_VDSO, "[vdso]", own_vdso_id());
	uint32_t narrow = add_module(t, UX_PROFILE_VDSO, "[vdso32]", own_vdso_id());
	uint32_t location = add_location(t, vdso, UX_PROFILE_OFFSET, at + 1);
	uint32_t in_narrow = add_location(t, narrow, UX_PROFILE_OFFSET, at + 1);
	t->sources.no_local = true;
	symbolize(t);
	assert_string_equal(name_of(t, location), "");
	t->sources.no_local = false;
	symbolize(t);
	assert_non_null(strstr(name_of(t, location), "clock_gettime"));
	assert_string_equal(name_of(t, in_narrow), "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_machine, close_machine)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(code_of_the_vdso_is_named_by_that_of_this_machine_if_it_has_the_id),
		TEST(a_vdso_without_an_id_is_that_of_the_recorded_kernel),
		TEST(the_vdso_of_this_machine_is_not_used_for_other_machines),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
