/* SPDX-License-Identifier: Apache-2.0 */
/* Finding CPython's state in one file of a live process. */
#include "target_python.h"

#include "python_stack.h"

enum {
	OLDEST = 7, /* minor versions that may be found by their text */
	NEWEST = 12,
	SEARCH_MOST = 64 << 20, /* bytes of writable data */
	PIECE = 1 << 16,
};

/* The digits at *at, up to three; false when there are none. */
static bool take_number(const char **at, const char *end, unsigned *ret)
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

/* "3.8.18" as 0x030812; 0: the text (which ends before `end`) is no version we look for. */
static uint32_t parse_version(const char *text, const char *end)
{
	unsigned minor = 0, patch = 0;
	if (end - text < 2 || text[0] != '3' || text[1] != '.')
		return 0;
	text += 2;
	if (!take_number(&text, end, &minor) || minor < OLDEST || minor > NEWEST || text == end ||
	    *text++ != '.' || !take_number(&text, end, &patch) || patch > 0xff)
		return 0;
	/* PY_VERSION may go on: 3.9.0rc1, 3.10.4+ */
	return text < end && (*text == '\0' || *text == '+' || *text == 'a' || *text == 'b' ||
			      *text == 'r')
		       ? 0x030000 | minor << 8 | patch
		       : 0;
}

/* PY_VERSION in the read-only data, perhaps as the end of a path; 0: there is none, or several. */
static uint32_t version_by_text(const struct ux_target_elf *e)
{
	struct ux_bytes bytes = UX_BYTES_NONE;
	const struct ux_elf_section *section = ux_elf_section_find(&e->elf, ".rodata");
	if (!section || ux_elf_section_raw(&e->elf, section, &bytes, NULL) != UX_OK)
		bytes = e->file.bytes;
	const char *at = (const char *)bytes.data, *end = at + bytes.size;
	uint32_t version = 0;
	for (; at < end && (at = memmem(at, (size_t)(end - at), "3.", 2)); at++) {
		bool begins = at > (const char *)bytes.data && (at[-1] == '\0' || at[-1] == '/');
		uint32_t found = begins ? parse_version(at, end) : 0;
		if (found != 0 && version != 0 && found != version)
			return 0;
		version = found != 0 ? found : version;
	}
	return version;
}

/* "libpython3.8.so.1.0", "python3.8": 0x030800; 0: not said. */
static uint32_t version_by_name(const char *path)
{
	const char *at = strstr(path, "python3.");
	for (const char *next = at; next; next = strstr(next + 1, "python3."))
		at = next; /* the last: folders may be called so, too */
	if (!at)
		return 0;
	unsigned minor = 0;
	at += strlen("python3.");
	return take_number(&at, at + strlen(at), &minor) ? 0x030000 | minor << 8 : 0;
}

static uint32_t find_version(const struct ux_target_elf *e, const struct ux_memory_reader *memory)
{
	uint64_t pc = 0, hex = 0;
	if (ux_target_elf_symbol(e, "Py_Version", &pc) &&
	    memory->read(memory->ctx, e->bias + pc, &hex, sizeof(hex)) && hex >> 24 == 3)
		return (uint32_t)(hex >> 8);
	uint32_t text = version_by_text(e), name = version_by_name(e->path);
	return text != 0 && (name == 0 || text >> 8 == name >> 8) ? text : name;
}

/* One place that may be _PyRuntime. */
static bool is_runtime(const struct ux_memory_reader *memory, const struct ux_interp_root *root)
{
	struct ux_python python;
	uint32_t hex = 0;
	return ux_python_init(&python, memory, root, &hex, NULL) == UX_OK;
}

/* True when the words at i begin _PyRuntime, or are its interpreters.head and .main. */
static bool may_be(const uint64_t *words, size_t i, uint32_t head)
{
	if (head == 0)
		return memcmp(&words[i], "xdebugpy", 8) == 0;
	return words[i] != 0 && words[i] == words[i + 1] && (words[i] & 7) == 0;
}

/* Searches [at, end) of the process: a page that is not there costs its piece. */
static bool search(const struct ux_memory_reader *memory, uint64_t at, uint64_t end,
		   struct ux_interp_root *root)
{
	static const size_t n = PIECE / sizeof(uint64_t);
	uint64_t words[PIECE / sizeof(uint64_t) + 1];
	const struct ux_python_layout *l = ux_python_layout_find(root->version >> 8);
	uint32_t head = l ? l->runtime_head : 0;
	for (; at + 4096 < end; at += PIECE) {
		size_t size = (size_t)ux_min((uint64_t)sizeof(words), end - at) & ~(size_t)7;
		if (!memory->read(memory->ctx, at, words, size))
			continue;
		for (size_t i = 0; i < n && (i + 2) * sizeof(*words) <= size; i++) {
			root->addr = at + i * sizeof(*words) - head;
			if (may_be(words, i, head) && is_runtime(memory, root))
				return true;
		}
	}
	root->addr = 0;
	return false;
}

static bool search_data(const struct ux_target_elf *e, const struct ux_memory_reader *memory,
			struct ux_interp_root *root)
{
	for (size_t i = 0; i < e->elf.n_segments; i++) {
		const struct ux_elf_segment *s = &e->elf.segments[i];
		if (s->type != PT_LOAD || (s->flags & PF_W) == 0 || s->memsz > SEARCH_MOST)
			continue;
		uint64_t start = (e->bias + s->vaddr) & ~(uint64_t)7;
		if (search(memory, start, start + s->memsz, root))
			return true;
	}
	return false;
}

enum ux_code ux_target_python(const struct ux_target_elf *e, const struct ux_memory_reader *memory,
			      struct ux_interp_root *root, struct ux_error *err)
{
	const struct ux_elf_section *section = ux_elf_section_find(&e->elf, ".PyRuntime");
	root->version = find_version(e, memory);
	if (root->addr == 0 && section)
		root->addr = e->bias + section->addr;
	if (root->addr == 0 && !strstr(e->path, "python") && root->version == 0)
		return ux_error_set(err, UX_ENOTFOUND, "no _PyRuntime in %.100s", e->path);
	if (root->addr == 0 && !search_data(e, memory, root))
		return ux_error_set(err, UX_ENOTFOUND, "no _PyRuntime in %.100s", e->path);
	struct ux_python python;
	uint32_t hex = 0;
	return ux_python_init(&python, memory, root, &hex, err);
}
