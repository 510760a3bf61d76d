/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the interpreter in a live process. */
#include "process.h"

#include "elf_file.h"
#include "elf_symbols.h"
#include "file.h"
#include "path_base.h"
#include "php_stack.h"
#include "proc_files.h"
#include "python_stack.h"
#include "ruby_stack.h"

#include <unistd.h>

/* An ELF file that a live process has mapped. Zeroed = none. */
struct mapped_elf {
	struct ux_mapping file;
	struct ux_elf elf;
	const char *path; /* path of the mapping */
	uint64_t bias;    /* distance from pc to address */
};

static void mapped_elf_close(struct mapped_elf *e)
{
	ux_elf_close(&e->elf);
	ux_file_unmap(&e->file);
	*e = (struct mapped_elf){0};
}

static enum ux_code mapped_elf_map(struct mapped_elf *e, const struct ux_proc *proc,
				   const struct ux_proc_map *map, struct ux_error *err)
{
	UX_FD(fd);
	UX_TRY(ux_proc_open_mapped(proc, map, &fd, err));
	return ux_file_map_fd(fd, &e->file, err);
}

/* Computes the bias from the segment that has the first byte of the mapping. */
static enum ux_code mapped_elf_find_bias(struct mapped_elf *e, const struct ux_proc_map *map,
					 struct ux_error *err)
{
	for (size_t i = 0; i < e->elf.n_segments; i++) {
		const struct ux_elf_segment *s = &e->elf.segments[i];
		uint64_t slack = s->off & 4095; /* the page may begin before the segment */
		if (s->type != PT_LOAD || map->off + slack < s->off ||
		    map->off >= s->off + s->filesz)
			continue;
		e->bias = map->start - (s->vaddr + (map->off - s->off));
		return UX_OK;
	}
	return ux_error_set(err, UX_EUNSUPPORTED,
			    "the mapping of %.100s does not match its segments", map->path);
}

/*
 * Opens the file of a mapping. UX_EUNSUPPORTED: not a 64-bit ELF file in the byte order of this
 * machine, or none of its segments has the offset of this mapping. All other codes of
 * ux_proc_open_mapped().
 */
static enum ux_code mapped_elf_open(struct mapped_elf *e, const struct ux_proc *proc,
				    const struct ux_proc_map *map, struct ux_error *err)
{
	e->path = map->path;
	UX_TRY(mapped_elf_map(e, proc, map, err));
	UX_TRY(ux_elf_open(&e->elf, e->file.bytes, err));
	if (!e->elf.is64 || e->elf.swap)
		return ux_error_set(err, UX_EUNSUPPORTED, "%.100s is for another architecture",
				    map->path);
	return mapped_elf_find_bias(e, map, err);
}

static bool mapped_elf_search(struct ux_elf_symbols *it, const char *name, uint64_t *ret_pc)
{
	const struct ux_elf_symbol *s;
	while ((s = ux_elf_symbols_next(it)))
		if (s->section != SHN_UNDEF && strcmp(s->name, name) == 0) {
			*ret_pc = s->value;
			return true;
		}
	return false;
}

/* Finds the pc of a symbol that is defined in the file. Returns false when no symbol has that
 * name. */
static bool mapped_elf_find_symbol(const struct mapped_elf *e, const char *name, uint64_t *ret_pc)
{
	static const char *const tables[] = {".dynsym", ".symtab"};
	struct ux_elf_symbols it;
	for (size_t i = 0; i < ux_countof(tables); i++) {
		const struct ux_elf_section *table = ux_elf_section_find(&e->elf, tables[i]);
		if (table && ux_elf_symbols_open(&e->elf, table, &it, NULL) == UX_OK &&
		    mapped_elf_search(&it, name, ret_pc))
			return true;
	}
	return !e->elf.sections && ux_elf_dynamic_symbols(&e->elf, &it, NULL) == UX_OK &&
	       mapped_elf_search(&it, name, ret_pc);
}

/* Parses a number up to 255 and the byte after it. Returns false unless that byte is `after`. */
static bool php_version_number(const uint8_t **at, const uint8_t *end, char after, uint32_t *ret)
{
	uint32_t v = 0;
	const uint8_t *p = *at;
	while (p < end && *p >= '0' && *p <= '9' && v <= 0xff)
		v = v * 10 + (uint32_t)(*p++ - '0');
	if (p == *at || p == end || v > 0xff || (after && *p != (uint8_t)after))
		return false;
	*at = p + 1;
	*ret = v;
	return true;
}

static uint32_t php_version_find(const struct mapped_elf *e)
{
	static const char text[] = "X-Powered-By: PHP/";
	const uint8_t *end = e->file.bytes.data + e->file.bytes.size;
	const uint8_t *at = memmem(e->file.bytes.data, e->file.bytes.size, text, sizeof(text) - 1);
	uint32_t major = 0, minor = 0, patch = 0;
	if (!at)
		return 0;
	at += sizeof(text) - 1;
	if (!php_version_number(&at, end, '.', &major) ||
	    !php_version_number(&at, end, '.', &minor) ||
	    !php_version_number(&at, end, '\0', &patch))
		return 0;
	return major << 16 | minor << 8 | patch;
}

/*
 * Completes root->version from a text like "X-Powered-By: PHP/8.2.35", which every PHP contains.
 * UX_ENOTFOUND: root->addr is 0 because the file has no executor_globals. UX_EUNSUPPORTED: PHP with
 * threads (ZTS), whose globals are per thread, or an unknown version.
 */
static enum ux_code php_root_find(const struct mapped_elf *e, const struct ux_memory_reader *memory,
				  struct ux_interp_root *root, struct ux_error *err)
{
	struct ux_php php;
	uint64_t pc = 0;
	if (root->addr == 0 && mapped_elf_find_symbol(e, "executor_globals_offset", &pc))
		return ux_error_set(err, UX_EUNSUPPORTED,
				    "PHP with threads (ZTS) is not supported");
	if (root->addr == 0)
		return ux_error_set(err, UX_ENOTFOUND, "no executor_globals in %.100s", e->path);
	root->version = php_version_find(e);
	return ux_php_init(&php, memory, root, err);
}

enum {
	PYTHON_OLDEST = 7, /* range of minor versions 3.x that are recognised by their text */
	PYTHON_NEWEST = 12,
	PYTHON_SEARCH_MAX = 64 << 20, /* bytes of writable data */
	PYTHON_SEARCH_CHUNK = 1 << 16,
	PYTHON_SEARCH_TRIES =
		1 << 18, /* most addresses examined in one file; each costs a few reads */
};

/* Parses up to three digits. Returns false when there are none. */
static bool python_version_number(const char **at, const char *end, unsigned *ret)
{
	const char *p = *at;
	unsigned v = 0;
	while (p < end && p - *at < 3 && *p >= '0' && *p <= '9')
		v = v * 10 + (unsigned)(*p++ - '0');
	if (p == *at)
		return false;
	*at = p;
	*ret = v;
	return true;
}

/* Parses a version like "3.8.18" to 0x030812. Returns 0 if the text, which ends before `end`, is
 * not a version from 3.7 to 3.12. */
static uint32_t python_version_parse(const char *text, const char *end)
{
	unsigned minor = 0, patch = 0;
	if (end - text < 2 || text[0] != '3' || text[1] != '.')
		return 0;
	text += 2;
	if (!python_version_number(&text, end, &minor) || minor < PYTHON_OLDEST ||
	    minor > PYTHON_NEWEST || text == end || *text++ != '.' ||
	    !python_version_number(&text, end, &patch) || patch > 0xff)
		return 0;
	/* PY_VERSION may have a suffix: 3.9.0rc1, 3.10.4+ */
	return text < end && (*text == '\0' || *text == '+' || *text == 'a' || *text == 'b' ||
			      *text == 'r')
		       ? 0x030000 | minor << 8 | patch
		       : 0;
}

/* Finds PY_VERSION in the read-only data, where it may be at the end of a path. Returns 0 when none
 * is found, or several different ones are. */
static uint32_t python_version_by_text(const struct mapped_elf *e)
{
	struct ux_bytes bytes = UX_BYTES_NONE;
	const struct ux_elf_section *section = ux_elf_section_find(&e->elf, ".rodata");
	if (!section || ux_elf_section_raw(&e->elf, section, &bytes, NULL) != UX_OK)
		bytes = e->file.bytes;
	const char *at = (const char *)bytes.data, *end = at + bytes.size;
	uint32_t version = 0;
	for (; at < end && (at = memmem(at, (size_t)(end - at), "3.", 2)); at++) {
		bool begins = at > (const char *)bytes.data && (at[-1] == '\0' || at[-1] == '/');
		uint32_t found = begins ? python_version_parse(at, end) : 0;
		if (found != 0 && version != 0 && found != version)
			return 0;
		version = found != 0 ? found : version;
	}
	return version;
}

/* Takes the version from a file name: 0x030800 for "libpython3.8.so.1.0" or "python3.8". Returns
 * 0 when the name has no version. */
static uint32_t python_version_by_name(const char *path)
{
	const char *at = strstr(path, "python3.");
	for (const char *next = at; next; next = strstr(next + 1, "python3."))
		at = next; /* the last one, because directories may have such names, too */
	if (!at)
		return 0;
	unsigned minor = 0;
	at += strlen("python3.");
	return python_version_number(&at, at + strlen(at), &minor) ? 0x030000 | minor << 8 : 0;
}

static uint32_t python_version_find(const struct mapped_elf *e,
				    const struct ux_memory_reader *memory)
{
	uint64_t pc = 0, hex = 0;
	if (mapped_elf_find_symbol(e, "Py_Version", &pc) &&
	    memory->read(memory->ctx, e->bias + pc, &hex, sizeof(hex)) && hex >> 24 == 3)
		return (uint32_t)(hex >> 8);
	uint32_t text = python_version_by_text(e), name = python_version_by_name(e->path);
	return text != 0 && (name == 0 || text >> 8 == name >> 8) ? text : name;
}

/* A search for _PyRuntime in writable data. */
struct python_search {
	const struct ux_memory_reader *memory;
	bool several;   /* for a process with several interpreters */
	unsigned tried; /* addresses that were examined */
	uint64_t first; /* the first address that could be it; 0: none */
};

/* Returns whether root->addr is the address of a _PyRuntime without doubt. */
static bool python_is_runtime(struct python_search *s, const struct ux_interp_root *root)
{
	struct ux_python python;
	uint32_t hex = 0;
	if (s->tried++ >= PYTHON_SEARCH_TRIES ||
	    ux_python_init(&python, s->memory, root, &hex, NULL) != UX_OK)
		return false;
	if (ux_python_is_sound(&python))
		return true;
	if (s->first == 0 && !s->several)
		s->first = root->addr;
	return false;
}

/*
 * A cheap test before python_is_runtime(): whether the words at i are the cookie at the start of
 * _PyRuntime, or could be its fields interpreters.head and interpreters.main. These are equal when
 * there is only one interpreter.
 */
static bool python_may_be_runtime(const struct python_search *s, const uint64_t *words, size_t i,
				  uint32_t head)
{
	if (head == 0)
		return memcmp(&words[i], "xdebugpy", 8) == 0;
	return words[i] >= 4096 && words[i + 1] >= 4096 && ((words[i] | words[i + 1]) & 7) == 0 &&
	       ((words[i] | words[i + 1]) >> 47) == 0 && (words[i] != words[i + 1]) == s->several;
}

/* Searches the addresses [at, end) for _PyRuntime. A chunk with a page that cannot be read is
 * skipped. */
static bool python_runtime_search(struct python_search *s, uint64_t at, uint64_t end,
				  struct ux_interp_root *root)
{
	static const size_t n = PYTHON_SEARCH_CHUNK / sizeof(uint64_t);
	uint64_t words[PYTHON_SEARCH_CHUNK / sizeof(uint64_t) + 1];
	const struct ux_python_layout *l = ux_python_layout_find(root->version >> 8);
	uint32_t head = l ? l->runtime_head : 0;
	for (; at + 4096 < end; at += PYTHON_SEARCH_CHUNK) {
		size_t size = (size_t)ux_min((uint64_t)sizeof(words), end - at) & ~(size_t)7;
		if (!s->memory->read(s->memory->ctx, at, words, size))
			continue;
		for (size_t i = 0; i < n && (i + 2) * sizeof(*words) <= size; i++) {
			root->addr = at + i * sizeof(*words) - head;
			if (python_may_be_runtime(s, words, i, head) && python_is_runtime(s, root))
				return true;
		}
	}
	root->addr = 0;
	return false;
}

static bool python_runtime_search_segments(const struct mapped_elf *e, struct python_search *search,
					   struct ux_interp_root *root)
{
	for (size_t i = 0; i < e->elf.n_segments; i++) {
		const struct ux_elf_segment *s = &e->elf.segments[i];
		if (s->type != PT_LOAD || (s->flags & PF_W) == 0 || s->memsz > PYTHON_SEARCH_MAX)
			continue;
		uint64_t start = (e->bias + s->vaddr) & ~(uint64_t)7;
		if (python_runtime_search(search, start, start + s->memsz, root))
			return true;
	}
	return false;
}

/* If no address is _PyRuntime without doubt, an address that only looks like it is used. */
static bool python_runtime_search_data(const struct mapped_elf *e,
				       const struct ux_memory_reader *memory,
				       struct ux_interp_root *root)
{
	struct python_search search = {.memory = memory};
	if (python_runtime_search_segments(e, &search, root))
		return true;
	search.several = true;
	search.tried = 0;
	if (python_runtime_search_segments(e, &search, root))
		return true;
	root->addr = search.first;
	return root->addr != 0;
}

/*
 * Completes root->version, and root->addr if it is 0 because the file has no symbol _PyRuntime.
 * Then the address of the section .PyRuntime is used (3.13 and newer), or the writable data are
 * searched. UX_ENOTFOUND: the file does not contain CPython.
 */
static enum ux_code python_root_find(const struct mapped_elf *e,
				     const struct ux_memory_reader *memory,
				     struct ux_interp_root *root, struct ux_error *err)
{
	const struct ux_elf_section *section = ux_elf_section_find(&e->elf, ".PyRuntime");
	root->version = python_version_find(e, memory);
	if (root->addr == 0 && section)
		root->addr = e->bias + section->addr;
	if (root->addr == 0 && !strstr(e->path, "python") && root->version == 0)
		return ux_error_set(err, UX_ENOTFOUND, "no _PyRuntime in %.100s", e->path);
	if (root->addr == 0 && !python_runtime_search_data(e, memory, root))
		return ux_error_set(err, UX_ENOTFOUND, "no _PyRuntime in %.100s", e->path);
	struct ux_python python;
	uint32_t hex = 0;
	return ux_python_init(&python, memory, root, &hex, err);
}

enum {
	RUBY_VERSION_TEXT = 8 /* "3.1.2" and its NUL */
};

static void ruby_version_read(const struct mapped_elf *e, const struct ux_memory_reader *memory,
			      struct ux_interp_root *root)
{
	uint64_t pc = 0;
	char text[RUBY_VERSION_TEXT + 1] = "";
	unsigned major = 0, minor = 0, patch = 0;
	if (mapped_elf_find_symbol(e, "ruby_version", &pc) &&
	    memory->read(memory->ctx, e->bias + pc, text, RUBY_VERSION_TEXT) &&
	    sscanf(text, "%3u.%3u.%3u", &major, &minor, &patch) == 3 && major <= 0xff &&
	    minor <= 0xff && patch <= 0xff)
		root->version = major << 16 | minor << 8 | patch;
}

/* Searches all writable data for a pointer to the VM, because Ruby exports no variable with it
 * since 3.3. */
static void ruby_vm_search(const struct mapped_elf *e, const struct ux_memory_reader *memory,
			   struct ux_interp_root *root)
{
	for (size_t i = 0; i < e->elf.n_segments && root->addr == 0; i++) {
		const struct ux_elf_segment *s = &e->elf.segments[i];
		uint64_t found = 0;
		if (s->type == PT_LOAD && (s->flags & PF_W) != 0 &&
		    ux_ruby_search(memory, root->version, e->bias + s->vaddr, s->memsz, &found))
			root->addr = found;
	}
}

/*
 * Completes root->version from the symbol ruby_version, and root->addr by a search. UX_ENOTFOUND:
 * the file has no ruby_current_vm_ptr. UX_EUNSUPPORTED: an unknown version.
 */
static enum ux_code ruby_root_find(const struct mapped_elf *e,
				   const struct ux_memory_reader *memory,
				   struct ux_interp_root *root, struct ux_error *err)
{
	struct ux_ruby ruby;
	ruby_version_read(e, memory, root);
	if (root->addr == 0 && root->version != 0)
		ruby_vm_search(e, memory, root);
	if (root->addr == 0 && (root->version == 0 || ux_ruby_layout_find(root->version)))
		return ux_error_set(err, UX_ENOTFOUND, "no ruby_current_vm_ptr in %.100s", e->path);
	return ux_ruby_init(&ruby, memory, root, err);
}

/* State of a search through the mappings of a process. */
struct interp_search {
	struct ux_proc proc;
	struct ux_proc_maps maps;
	const struct ux_memory_reader *memory;
	struct ux_error why; /* the first failure of a file with an interpreter's name */
};

/* For each kind of interpreter the file names that are tried first, and the symbol that
 * identifies it. */
static const struct {
	enum ux_interp_kind kind;
	const char *name; /* part of the file's name */
	const char *symbol;
} kinds[] = {
	{UX_INTERP_PYTHON, "python", "_PyRuntime"},
	{UX_INTERP_PHP, "php", "executor_globals"},
	{UX_INTERP_RUBY, "ruby", "ruby_current_vm_ptr"},
};

/* Finds an interpreter of kinds[k] in one file. */
static enum ux_code interp_search_file(struct interp_search *s, const struct ux_proc_map *map,
				       size_t k, struct ux_interp_root *ret, struct ux_error *err)
{
	ux_cleanup(mapped_elf_close) struct mapped_elf e = {0};
	uint64_t pc = 0;
	UX_TRY(mapped_elf_open(&e, &s->proc, map, err));
	*ret = (struct ux_interp_root){.kind = kinds[k].kind};
	if (mapped_elf_find_symbol(&e, kinds[k].symbol, &pc))
		ret->addr = e.bias + pc;
	switch (ret->kind) {
	case UX_INTERP_PYTHON:
		return python_root_find(&e, s->memory, ret, err);
	case UX_INTERP_PHP:
		return php_root_find(&e, s->memory, ret, err);
	case UX_INTERP_RUBY:
		return ruby_root_find(&e, s->memory, ret, err);
	case UX_INTERP_ANY:
		break;
	}
	return UX_ENOTFOUND;
}

static bool interp_name_matches(const struct ux_proc_map *map, size_t k)
{
	return strstr(ux_path_base(map->path), kinds[k].name) != NULL;
}

static bool interp_same_file(const struct ux_proc_map *a, const struct ux_proc_map *b)
{
	return a->dev == b->dev && a->ino == b->ino && strcmp(a->path, b->path) == 0;
}

/* Makes one pass over the files with the interpreter in their name (named), or over all others. */
static bool interp_search_pass(struct interp_search *s, size_t k, bool named,
			       struct ux_interp_root *ret)
{
	const struct ux_proc_map *before = NULL;
	for (size_t i = 0; i < s->maps.list.size; i++) {
		const struct ux_proc_map *map = &s->maps.list.data[i];
		bool seen = before && interp_same_file(before, map);
		before = map;
		if (seen || map->kind != UX_PROC_MAP_FILE || interp_name_matches(map, k) != named)
			continue;
		struct ux_error why = UX_ERROR_INIT;
		enum ux_code code = interp_search_file(s, map, k, ret, &why);
		if (code == UX_OK)
			return true;
		/* Report why an interpreter cannot be read, rather than the error of a file without
		 * one. */
		if (s->why.code == UX_OK && why.code == UX_EUNSUPPORTED && named)
			s->why = why;
	}
	return false;
}

static enum ux_code interp_search_open(struct interp_search *s, pid_t pid, struct ux_error *err)
{
	ux_cleanup(ux_read_deinit) struct ux_read text = {0};
	UX_TRY(ux_proc_open(&s->proc, pid, err));
	UX_TRY(ux_proc_read(s->proc.dir, "maps", UX_PROC_MAPS_MAX, &text, err));
	return ux_proc_maps_parse(text.bytes, &s->maps, err);
}

static void interp_search_deinit(struct interp_search *s)
{
	ux_proc_maps_deinit(&s->maps);
	ux_proc_close(&s->proc);
}

enum ux_code ux_interp_find(pid_t pid, const struct ux_memory_reader *memory,
			    enum ux_interp_kind kind, struct ux_interp_root *ret,
			    struct ux_error *err)
{
	ux_cleanup(interp_search_deinit) struct interp_search s = {
		.proc = {.dir = -1, .stat = -1}, .memory = memory, .why = UX_ERROR_INIT};
	UX_TRY(interp_search_open(&s, pid, err));
	for (unsigned others = 0; others < 2; others++)
		for (size_t k = 0; k < ux_countof(kinds); k++)
			if ((kind == UX_INTERP_ANY || kind == kinds[k].kind) &&
			    interp_search_pass(&s, k, /* named= */ others == 0, ret))
				return UX_OK;
	if (s.why.code != UX_OK) {
		if (err && err->code == UX_OK)
			*err = s.why;
		return s.why.code;
	}
	return ux_error_set(err, UX_ENOTFOUND, "no interpreter in process %d", (int)pid);
}

/* The offset of the thread's ID in glibc's struct pthread (nptl/descr.h): it follows a header of
 * 704 bytes (192 on AArch64) and a list node. */
#if defined(__x86_64__)
enum {
	PTHREAD_TID = 720
};
#elif defined(__aarch64__)
enum {
	PTHREAD_TID = 208
};
#else
enum {
	PTHREAD_TID = 0
};
#endif

int32_t ux_interp_thread_tid(pid_t pid, const struct ux_memory_reader *memory, uint64_t handle)
{
	int32_t tid = 0;
	char path[64];
	if (PTHREAD_TID == 0 || handle == 0 ||
	    !memory->read(memory->ctx, handle + PTHREAD_TID, &tid, sizeof(tid)) || tid <= 0)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/task/%" PRId32, (int)pid, tid);
	return access(path, F_OK) == 0 ? tid : 0;
}
