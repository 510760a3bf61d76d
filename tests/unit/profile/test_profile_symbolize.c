/* SPDX-License-Identifier: Apache-2.0 */
/* Names for the locations of a profile, from this machine's files. */
#include "sweep.h"

#include "file_symbols.h"
#include "make_elf.h"
#include "make_profile.h"
#include "proc_files.h"
#include "profile_symbolize.h"
#include "profile_unwind.h"
#include "text.h"

#include <dlfcn.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#define KERNEL_ID UX_STR("kernel's own build I")
#define MODULE_ID UX_STR("module's own build I")
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
	if (setenv("HOME", t->root, 1) != 0) /* where perf's cache is */
		return -1;
	put_note(t, "sys/kernel/notes", KERNEL_ID);
	put_note(t, "sys/module/some_module/notes/.note.gnu.build-id", MODULE_ID);
	put(t, "proc/kallsyms",
	    UX_STR("ffffffff81000000 T _text\nffffffff81000010 t in_kernel\n"
		   "ffffffff81000100 T _etext\nffffffffc0600008 t in_module\t[some_module]\n"
		   "ffffffffc0700000 t in_other\t[other]\n"));
	put(t, "proc/modules",
	    UX_STR("some_module 16384 0 - Live 0xffffffffc0600000\n"
		   "other 16384 0 - Live 0xffffffffc0700000\n"));
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

/* Returns the linkage name of a location's outermost function; "": none. */
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

static const char *source_of(const struct machine *t, uint32_t module)
{
	const struct ux_profile *p = &t->profile;
	return (const char *)ux_profile_text(p, p->modules.data[module].source).data;
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
	assert_non_null(strstr(why_of(t, other), "this machine has another vDSO: gnu:"));
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
	assert_non_null(strstr(why_of(t, vdso), "has neither its ID"));
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

/* A copy of this machine's vDSO that has another ID, in memory that the caller frees. */
static struct ux_bytes other_vdso(struct ux_id *ret)
{
	struct ux_bytes own = ux_proc_own_vdso();
	struct ux_id id = own_vdso_id();
	uint8_t *copy = malloc(own.size);
	assert_non_null(copy);
	memcpy(copy, own.data, own.size);
	uint8_t *at = memmem(copy, own.size, id.bytes, id.size);
	assert_non_null(at);
	at[0] ^= 0xff;
	id.bytes[0] ^= 0xff;
	*ret = id;
	return ux_bytes(copy, own.size);
}

static void a_vdso_is_named_by_the_cache_of_perf(void **state)
{
	struct machine *t = *state;
	struct ux_id id;
	char hex[2 * UX_ID_GNU_MAX + 1], name[192];
	struct ux_bytes image = other_vdso(&id);
	ux_hex_encode(ux_bytes(id.bytes, id.size), hex);
	snprintf(name, sizeof(name), ".debug/.build-id/%.2s/%s/vdso", hex, hex + 2);
	put(t, name, image);
	free((void *)(uintptr_t)image.data);
	uint32_t vdso = add_module(t, UX_PROFILE_VDSO, "[vdso]", id);
	uint32_t location = add_location(t, vdso, UX_PROFILE_OFFSET, clock_in_vdso() + 1);
	symbolize(t);
	assert_non_null(strstr(name_of(t, location), "clock_gettime"));
}

static void tables_of_the_vdso_are_those_of_the_recorded_one(void **state)
{
	struct machine *t = *state;
	struct ux_profile_unwind *u = calloc(1, sizeof(*u));
	assert_non_null(u);
	u->sources = &t->sources;
	uint32_t own = add_module(t, UX_PROFILE_VDSO, "[vdso]", own_vdso_id());
	uint32_t other = add_module(t, UX_PROFILE_VDSO, "[vdso]", gnu_id(OTHER_ID));
	uint32_t unsure = add_module(t, UX_PROFILE_VDSO, "[vdso]", gnu_id(UX_BYTES_NONE));
	uint32_t narrow = add_module(t, UX_PROFILE_VDSO, "[vdso32]", gnu_id(UX_BYTES_NONE));
	assert_non_null(ux_profile_unwind_module(u, &t->profile, own));
	assert_null(ux_profile_unwind_module(u, &t->profile, other));
	assert_null(ux_profile_unwind_module(u, &t->profile, narrow));
	/* perf may write the IDs after the samples: the file is used, and compared at the end. */
	assert_non_null(ux_profile_unwind_module(u, &t->profile, unsure));
	assert_int_equal(ux_profile_unwind_mistaken(u, &t->profile), 0);
	uint32_t kernel = add_module(t, UX_PROFILE_KERNEL, "[kernel.kallsyms]", gnu_id(KERNEL_ID));
	assert_int_equal(ux_profile_unwind_mistaken(u, &t->profile), 0);
	t->profile.modules.data[kernel].id = gnu_id(OTHER_ID);
	assert_int_equal(ux_profile_unwind_mistaken(u, &t->profile), 1);
	t->profile.modules.data[unsure].id = gnu_id(OTHER_ID);
	assert_int_equal(ux_profile_unwind_mistaken(u, &t->profile), 1);
	t->profile.modules.data[unsure].id = own_vdso_id();
	assert_int_equal(ux_profile_unwind_mistaken(u, &t->profile), 0);
	ux_profile_unwind_deinit(u);
	free(u);
}

/* --- a server --------------------------------------------------------------------------------- */

/* Answers from one buffer, with another text for each address: a batch may lie where the previous
 * one was. */
static enum ux_code answer_from_one_buffer(void *ctx, const struct ux_id *id, const uint64_t *pcs,
					   size_t n, ux_frames_fn *fn, void *fn_ctx,
					   struct ux_error *err)
{
	static char text[32];
	(void)ctx, (void)id, (void)err;
	for (size_t i = 0; i < n; i++) {
		struct ux_frame frame = {.function = text, .dir = "", .base = ""};
		snprintf(text, sizeof(text), "at_%" PRIx64, pcs[i]);
		assert_true(fn(fn_ctx, i, &frame, 1));
	}
	return UX_OK;
}

static void texts_of_a_server_are_those_of_the_moment(void **state)
{
	struct machine *t = *state;
	uint32_t module = add_module(t, UX_PROFILE_FILE, "/no/such/file", gnu_id(OTHER_ID));
	uint32_t one = add_location(t, module, UX_PROFILE_PC, 0x10);
	uint32_t other = add_location(t, module, UX_PROFILE_PC, 0x20);
	t->sources.server = answer_from_one_buffer;
	symbolize(t);
	assert_string_equal(name_of(t, one), "at_10");
	assert_string_equal(name_of(t, other), "at_20");
}

/* --- the kernel and its modules --------------------------------------------------------------- */

#define KERNEL_AT UINT64_C(0xffffffff81000000)
#define MODULE_AT UINT64_C(0xffffffffc0600000)
#define OTHER_AT  UINT64_C(0xffffffffc0700000)

static uint32_t add_kernel_module(struct machine *t, const char *path, struct ux_bytes id,
				  uint64_t start)
{
	uint32_t module = add_module(t, UX_PROFILE_KERNEL, path, gnu_id(id));
	t->profile.modules.data[module].start = start;
	return module;
}

static void addresses_of_the_kernel_are_moved_to_where_it_is_after_another_boot(void **state)
{
	struct machine *t = *state;
	uint64_t then = KERNEL_AT + 0x12000000;
	uint32_t kernel = add_kernel_module(t, "[kernel.kallsyms]", KERNEL_ID, then);
	uint32_t named = add_location(t, kernel, UX_PROFILE_ADDRESS, then + 0x11);
	uint32_t unnamed = add_location(t, kernel, UX_PROFILE_ADDRESS, KERNEL_AT + 0x11);
	symbolize(t);
	assert_string_equal(name_of(t, named), "in_kernel");
	assert_string_equal(name_of(t, unnamed), "");
}

static void another_kernel_than_the_recorded_one_names_nothing(void **state)
{
	struct machine *t = *state;
	uint32_t kernel = add_kernel_module(t, "[kernel.kallsyms]", OTHER_ID, KERNEL_AT);
	uint32_t module = add_kernel_module(t, "[some_module]", UX_BYTES_NONE, MODULE_AT);
	uint32_t in_kernel = add_location(t, kernel, UX_PROFILE_ADDRESS, KERNEL_AT + 0x11);
	uint32_t in_module = add_location(t, module, UX_PROFILE_ADDRESS, MODULE_AT + 9);
	symbolize(t);
	assert_string_equal(name_of(t, in_kernel), "");
	assert_string_equal(name_of(t, in_module), "");
	assert_non_null(strstr(why_of(t, kernel), "another kernel is running: gnu:"));
	assert_non_null(strstr(why_of(t, module), "another kernel is running: gnu:"));
}

/* Perf's copy of a kernel's symbols. */
static void put_copy(const struct machine *t, struct ux_bytes id, const char *symbols)
{
	char hex[2 * UX_ID_GNU_MAX + 1], name[PATH_MAX];
	ux_hex_encode(id, hex);
	snprintf(name, sizeof(name), ".debug/.build-id/%.2s/%s/kallsyms", hex, hex + 2);
	put(t, name, ux_bytes_cstr(symbols));
}

static void another_kernel_is_named_by_the_copy_of_its_symbols_that_perf_has_kept(void **state)
{
	struct machine *t = *state;
	put_copy(t, OTHER_ID,
		 "ffffffff91000000 T _text\nffffffff91000010 t in_copy\n"
		 "ffffffff91000100 D behind\nffffffffc0600000 t in_module\t[some_module]\n");
	uint32_t kernel = add_kernel_module(t, "[kernel.kallsyms]", OTHER_ID, KERNEL_AT);
	uint32_t module = add_kernel_module(t, "[some_module]", UX_BYTES_NONE, MODULE_AT);
	uint32_t in_kernel = add_location(t, kernel, UX_PROFILE_ADDRESS, KERNEL_AT + 0x11);
	uint32_t in_data = add_location(t, kernel, UX_PROFILE_ADDRESS, KERNEL_AT + 0x101);
	uint32_t in_module = add_location(t, module, UX_PROFILE_ADDRESS, MODULE_AT + 9);
	/* As far from the kernel as the module was from the copy's kernel. */
	uint32_t far = add_location(t, kernel, UX_PROFILE_ADDRESS, MODULE_AT - 0x10000000 + 9);
	symbolize(t);
	assert_string_equal(name_of(t, in_kernel), "in_copy");
	assert_string_equal(name_of(t, in_data), "");
	assert_string_equal(name_of(t, in_module), "");
	assert_string_equal(name_of(t, far), "");
	assert_non_null(strstr(source_of(t, kernel), "/kallsyms"));
}

static void a_copy_that_hides_addresses_or_is_none_names_nothing(void **state)
{
	struct machine *t = *state;
	static const char *const copies[] = {
		"0000000000000000 T _text\n0000000000000000 t in_copy\n",
		"no symbols at all\n",
		"ffffffff91000010 t without_start\n",
	};
	for (size_t i = 0; i < ux_countof(copies); i++) {
		put_copy(t, OTHER_ID, copies[i]);
		uint32_t kernel = add_kernel_module(t, "[kernel.kallsyms]", OTHER_ID, KERNEL_AT);
		uint32_t named = add_location(t, kernel, UX_PROFILE_ADDRESS, KERNEL_AT + 0x10 + i);
		symbolize(t);
		assert_string_equal(name_of(t, named), "");
		assert_non_null(strstr(why_of(t, kernel), "another kernel is running: gnu:"));
	}
}

static void functions_alone_of_the_running_kernel_are_those_of_a_copy_that_has_all(void **state)
{
	struct machine *t = *state;
	put_copy(t, KERNEL_ID,
		 "ffffffff91000000 T _text\nffffffff91000010 t in_copy\n"
		 "ffffffff91000030 t behind\n");
	uint32_t kernel = add_kernel_module(t, "[kernel.kallsyms]", KERNEL_ID, KERNEL_AT);
	uint32_t first = add_location(t, kernel, UX_PROFILE_ADDRESS, KERNEL_AT + 0x11);
	symbolize(t);
	assert_string_equal(name_of(t, first), "in_kernel"); /* which may have lines, too */
	t->sources.no_dwarf = true;
	uint32_t second = add_location(t, kernel, UX_PROFILE_ADDRESS, KERNEL_AT + 0x12);
	symbolize(t);
	assert_string_equal(name_of(t, second), "in_copy");
	uint32_t third = add_location(t, kernel, UX_PROFILE_ADDRESS, KERNEL_AT + 0x13);
	uint32_t lost = add_location(t, kernel, UX_PROFILE_ADDRESS, KERNEL_AT + 0x20000000);
	symbolize(t);
	assert_string_equal(name_of(t, third), "in_kernel");
	assert_string_equal(name_of(t, lost), "");
}

static void modules_are_named_by_the_running_kernel_wherever_they_were_loaded(void **state)
{
	struct machine *t = *state;
	uint64_t then = MODULE_AT - 0x40000;
	(void)add_kernel_module(t, "[kernel.kallsyms]", KERNEL_ID, KERNEL_AT);
	uint32_t here = add_kernel_module(t, "[some_module]", MODULE_ID, MODULE_AT);
	uint32_t file = add_kernel_module(t, "/lib/modules/6.1/kernel/some-module.ko.xz",
					  UX_BYTES_NONE, then);
	uint32_t built_anew = add_kernel_module(t, "[some_module]", OTHER_ID, MODULE_AT);
	uint32_t absent = add_kernel_module(t, "[absent]", UX_BYTES_NONE, MODULE_AT);
	uint32_t a = add_location(t, here, UX_PROFILE_ADDRESS, MODULE_AT + 9);
	uint32_t b = add_location(t, file, UX_PROFILE_ADDRESS, then + 9);
	uint32_t c = add_location(t, built_anew, UX_PROFILE_ADDRESS, MODULE_AT + 9);
	uint32_t d = add_location(t, absent, UX_PROFILE_ADDRESS, MODULE_AT + 9);
	uint32_t e = add_location(t, here, UX_PROFILE_ADDRESS, OTHER_AT + 1);
	symbolize(t);
	assert_string_equal(name_of(t, a), "in_module");
	assert_string_equal(name_of(t, b), "in_module");
	assert_string_equal(name_of(t, c), "");
	assert_string_equal(name_of(t, d), "");
	assert_string_equal(name_of(t, e), "");
	assert_non_null(strstr(why_of(t, built_anew), "another build of it is loaded: gnu:"));
	assert_string_equal(why_of(t, absent), "the running kernel has no such module loaded");
	assert_string_equal(why_of(t, here), "the module no longer has code there");
}

/* A file of a module with a function in each of two sections, 8 bytes after its start. */
static void put_module(const struct machine *t, const char *name, struct ux_bytes id)
{
	static const uint8_t machine_code[0x40];
	static const char *const names[] = {".init.text", ".text", ".text.unlikely"};
	static const char *const functions[] = {"in_init", "in_text", "in_unlikely"};
	struct make_elf m;
	make_elf_init(&m, 64, false);
	m.type = ET_REL;
	for (size_t i = 0; i < ux_countof(names); i++) {
		uint32_t at = make_elf_section(
			&m, (struct make_section){.name = names[i],
						  .flags = SHF_ALLOC | SHF_EXECINSTR,
						  .align = 16,
						  .content = {machine_code, sizeof(machine_code)}});
		make_elf_symbol(&m, (struct make_symbol){.name = functions[i],
							 .value = 8,
							 .size = 0x20,
							 .section = at,
							 .type = STT_FUNC,
							 .bind = STB_GLOBAL});
	}
	make_elf_note(&m, ".note.gnu.build-id", "GNU", NT_GNU_BUILD_ID, id);
	put(t, name, make_elf_finish(&m));
	make_elf_deinit(&m);
}

static void modules_of_another_kernel_are_named_by_their_files(void **state)
{
	struct machine *t = *state;
	char path[128];
	uint64_t start = MODULE_AT + 0x5000;
	put_module(t, "lib/modules/6.1/a.ko", MODULE_ID);
	snprintf(path, sizeof(path), "%s/lib/modules/6.1/a.ko", t->root);
	(void)add_kernel_module(t, "[kernel.kallsyms]", OTHER_ID, KERNEL_AT);
	uint32_t module = add_kernel_module(t, path, MODULE_ID, start);
	uint32_t other = add_kernel_module(t, path, OTHER_ID, start);
	uint32_t in_text = add_location(t, module, UX_PROFILE_ADDRESS, start + 9);
	uint32_t behind = add_location(t, module, UX_PROFILE_ADDRESS, start + 0x49);
	uint32_t before = add_location(t, module, UX_PROFILE_ADDRESS, start - 1);
	uint32_t unnamed = add_location(t, other, UX_PROFILE_ADDRESS, start + 9);
	symbolize(t);
	assert_string_equal(name_of(t, in_text), "in_text");
	assert_string_equal(name_of(t, behind), ""); /* the place of .text.unlikely is unknown */
	assert_string_equal(name_of(t, before), "");
	assert_string_equal(name_of(t, unnamed), "");
}

static void compress(const struct machine *t, const char *name)
{
	char command[256];
	snprintf(command, sizeof(command), "gzip %s/%s", t->root, name);
	assert_int_equal(system(command), 0);
}

static void modules_are_found_where_a_distribution_compresses_them(void **state)
{
	struct machine *t = *state;
	char path[128], packed_path[136];
	uint64_t start = MODULE_AT + 0x5000;
	put_module(t, "lib/modules/6.1/a.ko", MODULE_ID);
	compress(t, "lib/modules/6.1/a.ko");
	snprintf(path, sizeof(path), "%s/lib/modules/6.1/a.ko", t->root);
	(void)add_kernel_module(t, "[kernel.kallsyms]", OTHER_ID, KERNEL_AT);
	uint32_t plain = add_kernel_module(t, path, MODULE_ID, start);
	uint32_t other = add_kernel_module(t, path, OTHER_ID, start);
	snprintf(packed_path, sizeof(packed_path), "%s.gz", path);
	uint32_t packed = add_kernel_module(t, packed_path, MODULE_ID, start);
	uint32_t in_plain = add_location(t, plain, UX_PROFILE_ADDRESS, start + 9);
	uint32_t in_packed = add_location(t, packed, UX_PROFILE_ADDRESS, start + 9);
	uint32_t unnamed = add_location(t, other, UX_PROFILE_ADDRESS, start + 9);
	symbolize(t);
	assert_string_equal(name_of(t, in_plain), "in_text");
	assert_string_equal(name_of(t, in_packed), "in_text");
	assert_string_equal(name_of(t, unnamed), "");
}

static void modules_without_a_path_are_found_by_the_release_of_the_kernel(void **state)
{
	struct machine *t = *state;
	uint64_t start = MODULE_AT + 0x5000;
	put_module(t, "usr/lib/modules/6.1/kernel/fs/some-fs.ko", MODULE_ID);
	compress(t, "usr/lib/modules/6.1/kernel/fs/some-fs.ko");
	put_module(t, "usr/lib/modules/6.2/kernel/fs/some-fs.ko", OTHER_ID);
	t->sources.file_dirs = t->root;
	t->sources.no_local = true;
	t->profile.release = make_profile_string(&t->profile, "6.1");
	(void)add_kernel_module(t, "[kernel.kallsyms]", OTHER_ID, KERNEL_AT);
	uint32_t module = add_kernel_module(t, "[some_fs]", UX_BYTES_NONE, start);
	uint32_t absent = add_kernel_module(t, "[other_fs]", UX_BYTES_NONE, start);
	uint32_t named = add_location(t, module, UX_PROFILE_ADDRESS, start + 9);
	uint32_t unnamed = add_location(t, absent, UX_PROFILE_ADDRESS, start + 9);
	symbolize(t);
	assert_string_equal(name_of(t, named), "in_text");
	assert_string_equal(name_of(t, unnamed), "");
}

/* --- a server --------------------------------------------------------------------------------- */

/* A server that has a function at one address of a file whose image begins at a base. */
struct servant {
	enum ux_code code; /* of the base */
	uint64_t base;
	uint64_t function;
	size_t n_queried; /* addresses */
};

static enum ux_code serve_base(void *ctx, const struct ux_id *id, uint64_t *ret,
			       struct ux_error *err)
{
	const struct servant *s = ctx;
	assert_true(id->size > 0);
	if (s->code != UX_OK)
		return ux_error_set(err, s->code, "words of the server");
	*ret = s->base;
	return UX_OK;
}

static enum ux_code serve_names(void *ctx, const struct ux_id *id, const uint64_t *pcs, size_t n,
				ux_frames_fn *fn, void *fn_ctx, struct ux_error *err)
{
	struct servant *s = ctx;
	(void)id, (void)err;
	s->n_queried += n;
	const struct ux_frame frame = {.function = "of_the_server", .dir = "", .base = ""};
	for (size_t i = 0; i < n; i++)
		if (pcs[i] == s->function)
			assert_true(fn(fn_ctx, i, &frame, 1));
	return UX_OK;
}

static void relative_addresses_count_from_where_the_server_has_the_start_of_the_file(void **state)
{
	struct machine *t = *state;
	struct servant servant = {.base = 0x400000, .function = 0x401234};
	t->sources.server = serve_names;
	t->sources.server_base = serve_base;
	t->sources.server_ctx = &servant;
	uint32_t module = add_module(t, UX_PROFILE_FILE, "/nowhere/app", gnu_id(OTHER_ID));
	uint32_t named = add_location(t, module, UX_PROFILE_RELATIVE, 0x1234);
	uint32_t unnamed = add_location(t, module, UX_PROFILE_RELATIVE, 0x401234);
	symbolize(t);
	assert_string_equal(name_of(t, named), "of_the_server");
	assert_string_equal(name_of(t, unnamed), "");
	assert_int_equal(servant.n_queried, 2);
}

/* The first bytes of an executable whose code has an address other than its position. */
static enum ux_code serve_head(void *ctx, const struct ux_id *id, struct ux_out *ret,
			       struct ux_error *err)
{
	const struct servant *s = ctx;
	assert_true(id->size > 0);
	if (s->code != UX_OK)
		return ux_error_set(err, s->code, "words of the server");
	struct make_elf m;
	make_elf_init(&m, 64, false);
	make_elf_segment(&m, (struct make_segment){.type = PT_LOAD,
						   .off = 0x1000,
						   .vaddr = 0x3000,
						   .filesz = 0x1000,
						   .flags = PF_R | PF_X});
	struct ux_bytes file = make_elf_finish(&m);
	ux_out_put(ret, file.data, file.size);
	make_elf_deinit(&m);
	return ux_out_status(ret, err);
}

static void positions_in_a_file_are_found_by_the_segments_that_the_server_has(void **state)
{
	struct machine *t = *state;
	struct servant servant = {.function = 0x3234};
	t->sources.server = serve_names;
	t->sources.server_head = serve_head;
	t->sources.server_ctx = &servant;
	uint32_t module = add_module(t, UX_PROFILE_FILE, "/nowhere/b", gnu_id(OTHER_ID));
	uint32_t named = add_location(t, module, UX_PROFILE_OFFSET, 0x1234);
	uint32_t outside = add_location(t, module, UX_PROFILE_OFFSET, 0x5000);
	symbolize(t);
	assert_string_equal(name_of(t, named), "of_the_server");
	assert_string_equal(name_of(t, outside), "");
	assert_int_equal(servant.n_queried, 1);
	servant.code = UX_ENOTFOUND;
	uint32_t other = add_module(t, UX_PROFILE_FILE, "/nowhere/c", gnu_id(OTHER_ID));
	uint32_t unnamed = add_location(t, other, UX_PROFILE_OFFSET, 0x1234);
	symbolize(t);
	assert_string_equal(name_of(t, unnamed), "");
	assert_non_null(strstr(why_of(t, other), "executable: words of the server"));
}

static enum ux_code serve_segments(void *ctx, const struct ux_id *id, struct ux_gsym_segments *ret,
				   struct ux_error *err)
{
	const struct servant *s = ctx;
	assert_true(id->size > 0);
	if (s->code != UX_OK)
		return ux_error_set(err, s->code, "its symbols have none");
	*ret = (struct ux_gsym_segments){.list = {{0x1000, 0x1000, 0x3000}}, .n = 1};
	return UX_OK;
}

static void positions_in_a_file_are_found_by_the_segments_of_its_symbols(void **state)
{
	struct machine *t = *state;
	struct servant servant = {.function = 0x3234};
	t->sources.server = serve_names;
	t->sources.server_segments = serve_segments;
	t->sources.server_ctx = &servant;
	uint32_t module = add_module(t, UX_PROFILE_FILE, "/nowhere/b", gnu_id(OTHER_ID));
	uint32_t named = add_location(t, module, UX_PROFILE_OFFSET, 0x1234);
	uint32_t outside = add_location(t, module, UX_PROFILE_OFFSET, 0x5000);
	symbolize(t);
	assert_string_equal(name_of(t, named), "of_the_server");
	assert_string_equal(name_of(t, outside), "");
	assert_int_equal(servant.n_queried, 1);
	servant.code = UX_ENOTFOUND;
	uint32_t other = add_module(t, UX_PROFILE_FILE, "/nowhere/c", gnu_id(OTHER_ID));
	uint32_t unnamed = add_location(t, other, UX_PROFILE_OFFSET, 0x1234);
	symbolize(t);
	assert_string_equal(name_of(t, unnamed), "");
	assert_non_null(strstr(why_of(t, other), "segments on the server: its symbols have none; "
						 "executable: none"));
}

static void what_is_not_sent_to_the_server_has_the_reason(void **state)
{
	struct machine *t = *state;
	struct servant servant = {.code = UX_ENOTFOUND, .function = 0x1234};
	t->sources.server = serve_names;
	t->sources.server_base = serve_base;
	t->sources.server_ctx = &servant;
	uint32_t relative = add_module(t, UX_PROFILE_FILE, "/nowhere/a", gnu_id(OTHER_ID));
	uint32_t position = add_module(t, UX_PROFILE_FILE, "/nowhere/b", gnu_id(OTHER_ID));
	uint32_t unknown = add_module(t, UX_PROFILE_FILE, "/nowhere/c", gnu_id(UX_BYTES_NONE));
	uint32_t a = add_location(t, relative, UX_PROFILE_RELATIVE, 0x1234);
	uint32_t b = add_location(t, position, UX_PROFILE_OFFSET, 0x1234);
	uint32_t c = add_location(t, unknown, UX_PROFILE_PC, 0x1234);
	symbolize(t);
	assert_int_equal(servant.n_queried, 0);
	assert_string_equal(name_of(t, a), "");
	assert_string_equal(name_of(t, b), "");
	assert_string_equal(name_of(t, c), "");
	assert_string_equal(why_of(t, relative),
			    "no such file was found; file-relative addresses need the "
			    "executable, or its base address from the server: words of the server");
	assert_string_equal(why_of(t, position),
			    "no such file was found; file offsets need the executable, so the "
			    "server is not queried");
	assert_string_equal(why_of(t, unknown),
			    "no such file was found; the recording has no build ID to query "
			    "the server with");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_machine, close_machine)

UX_SUITE(profile_symbolize)
{
	const struct CMUnitTest tests[] = {
		TEST(code_of_the_vdso_is_named_by_that_of_this_machine_if_it_has_the_id),
		TEST(a_vdso_without_an_id_is_that_of_the_recorded_kernel),
		TEST(the_vdso_of_this_machine_is_not_used_for_other_machines),
		TEST(a_vdso_is_named_by_the_cache_of_perf),
		TEST(tables_of_the_vdso_are_those_of_the_recorded_one),
		TEST(texts_of_a_server_are_those_of_the_moment),
		TEST(addresses_of_the_kernel_are_moved_to_where_it_is_after_another_boot),
		TEST(another_kernel_than_the_recorded_one_names_nothing),
		TEST(another_kernel_is_named_by_the_copy_of_its_symbols_that_perf_has_kept),
		TEST(a_copy_that_hides_addresses_or_is_none_names_nothing),
		TEST(functions_alone_of_the_running_kernel_are_those_of_a_copy_that_has_all),
		TEST(modules_are_named_by_the_running_kernel_wherever_they_were_loaded),
		TEST(modules_of_another_kernel_are_named_by_their_files),
		TEST(modules_are_found_where_a_distribution_compresses_them),
		TEST(modules_without_a_path_are_found_by_the_release_of_the_kernel),
		TEST(relative_addresses_count_from_where_the_server_has_the_start_of_the_file),
		TEST(positions_in_a_file_are_found_by_the_segments_that_the_server_has),
		TEST(positions_in_a_file_are_found_by_the_segments_of_its_symbols),
		TEST(what_is_not_sent_to_the_server_has_the_reason),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
