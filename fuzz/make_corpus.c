/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the seeds of the corpora into the folder given. */
#include "make_corpus.h"
#include "elf_defs.h"
#include "file.h"
#include "fuzz.h"
#include "gsym_segments.h"
#include "gsym_symbols.h"
#include "make_elf.h"
#include "make_gsym.h"

#include <sys/stat.h>

static const char *root;

void save_seed(const char *folder, const char *name, struct ux_bytes bytes)
{
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s/%s", root, folder);
	mkdir(path, 0777);
	snprintf(path, sizeof(path), "%s/%s/%s", root, folder, name);
	ux_cleanup(ux_file_new_deinit) struct ux_file_new file = UX_FILE_NEW_INIT;
	fuzz_truth(ux_file_new_open(&file, path, NULL) == UX_OK);
	fuzz_truth(ux_file_write(file.fd, bytes, NULL) == UX_OK);
	fuzz_truth(ux_file_new_commit(&file, /* sync= */ false, NULL) == UX_OK);
}

/* Returns text that deflates well. */
static struct ux_bytes prose(void)
{
	static uint8_t text[600];
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (uint8_t)("the quick brown fox "[i % 20]);
	return ux_bytes(text, sizeof(text));
}

static void add_code(struct make_elf *m)
{
	uint32_t text = make_elf_section(m, (struct make_section){
						    .name = ".text",
						    .flags = SHF_ALLOC | SHF_EXECINSTR,
						    .addr = 0x1000,
						    .content = UX_STR("\x55\x48\x89\xe5\x5d\xc3"),
					    });
	make_elf_segment(
		m, (struct make_segment){
			   .type = PT_LOAD, .flags = PF_R | PF_X, .first = text, .last = text});
	make_elf_symbol(m, (struct make_symbol){.name = "main",
						.value = 0x1000,
						.size = 6,
						.section = text,
						.type = STT_FUNC,
						.bind = STB_GLOBAL});
	make_elf_symbol(m,
			(struct make_symbol){.name = "_start", .value = 0x1003, .section = text});
	make_elf_symbol(m, (struct make_symbol){.name = "abs", .reserved = SHN_ABS});
	make_elf_symbol(m, (struct make_symbol){.name = "puts", .type = STT_FUNC, .dynamic = true});
}

static void add_notes(struct make_elf *m)
{
	uint32_t gnu = make_elf_note(m, ".note.gnu.build-id", "GNU", NT_GNU_BUILD_ID,
				     UX_STR("twenty bytes of hash"));
	uint32_t go = make_elf_note(m, ".note.go.buildid", "Go", NT_GO_BUILD_ID,
				    UX_STR("abcdefghij0123456789/ABCDEFGHIJ0123456789"));
	make_elf_segment(
		m, (struct make_segment){.type = PT_NOTE, .first = gnu, .last = go, .align = 4});
}

static void add_packed(struct make_elf *m)
{
	struct make_section s = {.name = ".debug_info", .content = prose()};
	make_elf_packed(m, s, MAKE_ZLIB, prose().size);
	s.name = ".debug_line";
	make_elf_packed(m, s, MAKE_ZSTD, prose().size);
	s.name = ".zdebug_str";
	make_elf_packed(m, s, MAKE_ZDEBUG, prose().size);
	make_elf_section(
		m, (struct make_section){.name = ".bss", .type = SHT_NOBITS, .size = 1 << 20});
}

/* Little-endian words of eight bytes. */
static void put_words(struct ux_out *out, const uint64_t *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (unsigned k = 0; k < 8; k++)
			ux_out_u8(out, (uint8_t)(words[i] >> 8 * k));
}

/* Adds a dynamic section, its symbols, strings and the hash table of GNU's kind. */
static void add_dynamic(struct make_elf *m)
{
	enum {
		AT = 0x1000
	};
	static const uint64_t words[] = {
		/* the dynamic section: symbols, strings, their size, the hash table */
		6,
		AT + 80,
		5,
		AT + 176,
		10,
		9,
		0x6ffffef5,
		AT + 192,
		0,
		0,
		/* symbols: none, imp, f, g */
		0,
		0,
		0,
		0x1200000001,
		0,
		0,
		0x7001200000005,
		0x1010,
		16,
		0x7001200000007,
		0x1020,
		16,
	};
	static const uint64_t hash[] = {0x200000002, 0x500000001, 0, 0x200000000, 0x2100000010};
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	put_words(&out, words, ux_countof(words));
	ux_out_put(&out, "\0imp\0f\0g\0no\0\0\0\0", 16);
	put_words(&out, hash, ux_countof(hash));
	uint32_t all = make_elf_section(
		m, (struct make_section){.name = "x", .addr = AT, .content = ux_out_bytes(&out)});
	make_elf_segment(m, (struct make_segment){
				    .type = PT_LOAD, .flags = PF_X, .first = all, .last = all});
	make_elf_segment(m, (struct make_segment){.type = PT_DYNAMIC, .first = all, .last = all});
}

static void add_descriptors(struct make_elf *m)
{
	m->machine = EM_PPC64;
	make_elf_section(m, (struct make_section){.name = ".opd",
						  .flags = SHF_ALLOC | SHF_WRITE,
						  .addr = 0x2000,
						  .content = UX_STR("\0\0\0\0\0\0\x10\0"
								    "\0\0\0\0\0\0\x90\0"
								    "\0\0\0\0\0\0\0\0")});
}

static const struct elf_seed {
	const char *name;
	unsigned bits;
	bool big, wide, no_sections;
	void (*add[3])(struct make_elf *m);
} elf_seeds[] = {
	{"empty", 64, .add = {NULL}},
	{"code-64", 64, .add = {add_code}},
	{"code-32", 32, .add = {add_code}},
	{"code-64-big", 64, .big = true, .add = {add_code}},
	{"code-32-big", 32, .big = true, .add = {add_code}},
	{"code-wide", 64, .wide = true, .add = {add_code}},
	{"notes-64", 64, .add = {add_notes}},
	{"notes-32-big", 32, .big = true, .add = {add_notes}},
	{"notes-segments-only", 64, .no_sections = true, .add = {add_notes}},
	{"packed-64", 64, .add = {add_packed}},
	{"packed-32-big", 32, .big = true, .add = {add_packed}},
	{"dynamic-64", 64, .no_sections = true, .add = {add_dynamic}},
	{"descriptors-64-big", 64, .big = true, .add = {add_code, add_descriptors}},
	{"all-64", 64, .add = {add_code, add_notes, add_packed}},
};

static void make_elf_corpus(void)
{
	for (size_t i = 0; i < ux_countof(elf_seeds); i++) {
		const struct elf_seed *seed = &elf_seeds[i];
		struct make_elf m;
		make_elf_init(&m, seed->bits, seed->big);
		m.wide = seed->wide;
		m.no_sections = seed->no_sections;
		for (size_t j = 0; j < ux_countof(seed->add) && seed->add[j]; j++)
			seed->add[j](&m);
		save_seed("elf", seed->name, make_elf_finish(&m));
		make_elf_deinit(&m);
	}
	save_seed("elf", "not-elf", UX_STR("#!/bin/sh\n"));
	save_seed("elf", "nothing", UX_BYTES_NONE);
}

/* Makes a core dump with one mapped file; its first page, with a build ID, was dumped. */
static void make_core_corpus(void)
{
	static const uint64_t files[] = {2, 0x1000, 0x10000, 0x11000, 0, 0x11000, 0x12000, 1};
	struct make_elf m, image;
	ux_cleanup(ux_out_deinit) struct ux_out note = {0};
	put_words(&note, files, ux_countof(files));
	ux_out_put(&note, "/bin/a\0/bin/a", 14);
	make_elf_init(&image, 64, false);
	image.no_sections = true;
	add_notes(&image);
	make_elf_init(&m, 64, false);
	m.type = ET_CORE;
	uint32_t list = make_elf_note(&m, "n", "CORE", 0x46494c45, ux_out_bytes(&note));
	uint32_t page = make_elf_section(
		&m, (struct make_section){
			    .name = "l", .addr = 0x10000, .content = make_elf_finish(&image)});
	make_elf_segment(&m, (struct make_segment){.type = PT_NOTE, .first = list, .last = list});
	make_elf_segment(&m, (struct make_segment){.type = PT_LOAD, .first = page, .last = page});
	save_seed("core", "two-mappings", make_elf_finish(&m));
	make_elf_deinit(&m);
	make_elf_deinit(&image);
}

static void make_id_corpus(void)
{
	static const struct {
		const char *name, *text;
	} seeds[] = {
		{"gnu", "gnu:93ac61ec5a8eb1396f9fbd350e3169a558528a40"},
		{"bare", "f8e1cf0f60558098EDAEC164AC7749DF"},
		{"go", "go:abcdefghij0123456789/ABCDEFGHIJ0123456789"},
		{"file", "file:caf6e5907166ac76eef618e5f7f59cd9"},
		{"file-0x", "file:0xcaf6e5907166ac76eef618e5f7f59cd9"},
		{"file-base64url", "file:EjRWeBJDl_-HZUMhh3SEqA"},
		{"file-base64", "file:EjRWeBJDl/+HZUMhh3SEqA"},
		{"uuid", "uuid:F4C1E5FE-2F28-034F-CCEB-0776EC00B125"},
		{"odd", "gnu:123"},
		{"prefix", "md5:123456"},
		{"nothing", ""},
	};
	for (size_t i = 0; i < ux_countof(seeds); i++)
		save_seed("id", seeds[i].name, ux_bytes_cstr(seeds[i].text));
}

/* Returns a thousand bytes of a fixed random sequence. */
static struct ux_bytes dice(uint64_t seed)
{
	static uint8_t bytes[1000];
	for (size_t i = 0; i < sizeof(bytes); i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		bytes[i] = (uint8_t)(seed >> 56);
	}
	return ux_bytes(bytes, sizeof(bytes));
}

static void make_gsym_corpus(void)
{
	save_seed("gsym_read", "example", ux_bytes(make_gsym_example, sizeof(make_gsym_example)));
	save_gsym_seed("example", 0, ux_bytes(make_gsym_example, sizeof(make_gsym_example)));
	save_seed("gsym_read", "example-v2",
		  ux_bytes(make_gsym_example2, sizeof(make_gsym_example2)));
	for (unsigned swap = 0; swap < 2; swap++) {
		const struct ux_gsym_segments segments = {
			.list = {{0x1000, 0x20, 0x401000}, {0x5010, 0x1000, 0x700010}}, .n = 2};
		ux_cleanup(ux_out_deinit) struct ux_out out = {0};
		ux_out_put(&out, make_gsym_example, sizeof(make_gsym_example));
		struct ux_gsym_symbols_writer symbols = {.out = &out};
		ux_gsym_symbols_put_part(&symbols, 0);
		ux_gsym_symbols_put_name(&symbols, 0, 3, UX_STR("f"), UX_STR("f.cold"));
		ux_gsym_symbols_put_name(&symbols, 1, 0, UX_STR("_start"), UX_STR("start"));
		ux_gsym_symbols_end(&symbols);
		if (swap == 0)
			save_seed("gsym_read", "symbols", ux_out_bytes(&out));
		out.size = sizeof(make_gsym_example);
		out.swap = swap != 0;
		ux_gsym_segments_put(&out, &segments);
		save_seed("gsym_read", swap ? "segments-swap" : "segments", ux_out_bytes(&out));
	}
	save_seed("gsym_read", "nothing", UX_BYTES_NONE);
	save_seed("gsym_roundtrip", "nothing", UX_BYTES_NONE);
	for (uint64_t seed = 0; seed < 20; seed++) { /* the last four in version 2 */
		UX_ARENA(arena, 1 << 22);
		ux_cleanup(ux_out_deinit) struct ux_out out = {0};
		struct make_gsym m;
		char name[32];
		fuzz_truth(make_gsym_draw(&m, &arena, dice(seed)) == UX_OK);
		m.version = seed < 16 ? 1 : 2;
		fuzz_truth(make_gsym_write(&m, &out) == UX_OK);
		snprintf(name, sizeof(name), "drawn-%02u%s%s", (unsigned)seed,
			 seed < 16 ? "" : "-v2", m.swap ? "-swap" : "");
		save_seed("gsym_read", name, ux_out_bytes(&out));
		save_gsym_seed(name, (unsigned)seed + 1, ux_out_bytes(&out));
		if (seed < 16)
			save_seed("gsym_roundtrip", name, dice(seed));
	}
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: make_corpus FOLDER\n");
		return 2;
	}
	root = argv[1];
	mkdir(root, 0777);
	make_elf_corpus();
	make_core_corpus();
	make_id_corpus();
	make_gsym_corpus();
	make_cuda_corpus();
	make_dwarf_corpus();
	make_gosym_corpus();
	make_macho_corpus();
	make_module_corpus();
	make_pack_corpus();
	make_perf_corpus();
	make_process_corpus();
	make_reloc_corpus();
	make_stripped_corpus();
	make_server_corpus();
	make_interp_corpus();
	make_wire_corpus();
	return 0;
}
