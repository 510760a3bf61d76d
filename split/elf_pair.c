/* SPDX-License-Identifier: Apache-2.0 */
/* Divides the parts of an ELF file between the stripped file and the debug file. */
#include "pair_parts.h"

#include "elf_ids.h"
#include "file_kind.h"

#include <nettle/sha2.h>

/* --- words of the command line ---------------------------------------------------------------- */

bool ux_strip_parse(const char *text, enum ux_strip *ret)
{
	static const char *const words[] = {"debug", "unneeded", "all"};
	for (size_t i = 0; i < ux_countof(words); i++) {
		if (strcmp(text, words[i]) == 0) {
			*ret = (enum ux_strip)i;
			return true;
		}
	}
	return false;
}

bool ux_compress_parse(const char *text, enum ux_compress *ret)
{
	static const char *const words[] = {"none", "zlib", "zstd"};
	for (size_t i = 0; i < ux_countof(words); i++) {
		if (strcmp(text, words[i]) == 0) {
			*ret = (enum ux_compress)(UX_COMPRESS_NONE + i);
			return true;
		}
	}
	return false;
}

/* --- the uses of sections --------------------------------------------------------------------- */

/* Returns whether it is debug information, by the names that compilers, linkers and binutils use.
 * LLVM's bitcode is as useless at run time and as large. */
static bool pair_is_debug_name(const char *name)
{
	static const char *const prefixes[] = {".debug",  ".zdebug",           ".gnu.debuglto_",
					       ".stab",   ".gnu.linkonce.wi.", ".llvmbc",
					       ".llvmcmd"};
	static const char *const names[] = {".gdb_index", ".gnu_debugaltlink", ".line"};
	for (size_t i = 0; i < ux_countof(prefixes); i++)
		if (ux_bytes_starts(ux_bytes_cstr(name), ux_bytes_cstr(prefixes[i])))
			return true;
	for (size_t i = 0; i < ux_countof(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static bool pair_is_loaded(const struct ux_elf_section *s)
{
	return (s->flags & SHF_ALLOC) != 0;
}

static bool pair_is_debug(const struct ux_elf_section *s)
{
	return !pair_is_loaded(s) && pair_is_debug_name(s->name);
}

static bool pair_keeps_symbols(const struct ux_elf_pair *p)
{
	return ux_pair_is_relocatable(p) || p->options.strip == UX_STRIP_DEBUG;
}

/* Places a section whose place does not depend on another section's. */
static void pair_place(struct ux_elf_pair *p, size_t i)
{
	const struct ux_elf_section *s = &p->elf.sections[i];
	struct ux_pair_section *to = &p->sections[i];
	if (pair_is_loaded(s)) {
		to->stripped = true;
		to->content = s->type == SHT_NOTE;
	} else if (pair_is_debug(s)) {
		to->content = true;
	} else if (strcmp(s->name, ".gnu_debuglink") == 0) {
		/* The link belongs to an earlier pair: neither file gets it. */
	} else if (s->type == SHT_SYMTAB || s->type == SHT_SYMTAB_SHNDX) {
		to->stripped = pair_keeps_symbols(p);
		to->content = true;
	} else if (strcmp(s->name, ".gnu_debugdata") == 0) {
		to->stripped = true; /* for stripped files: a compressed table of symbols */
	} else {
		to->stripped = ux_pair_is_relocatable(p) || p->options.strip != UX_STRIP_ALL ||
			       i == p->tables.names;
		to->content = true;
	}
}

/* Places relocations with the section that they apply to. */
static void pair_place_relocations(struct ux_elf_pair *p, size_t i)
{
	const struct ux_elf_section *s = &p->elf.sections[i];
	if (!ux_pair_is_relocations(s->type) || pair_is_loaded(s) || s->info >= p->elf.n_sections)
		return;
	const struct ux_pair_section *target = &p->sections[s->info];
	p->sections[i].stripped = target->stripped && pair_keeps_symbols(p);
	p->sections[i].content = target->content && !pair_is_loaded(&p->elf.sections[s->info]);
}

/* Places strings with the section that refers to them. */
static void pair_place_strings(struct ux_elf_pair *p)
{
	for (size_t i = 1; i < p->elf.n_sections; i++) {
		const struct ux_elf_section *s = &p->elf.sections[i];
		bool table = s->type == SHT_SYMTAB && s->link < p->elf.n_sections;
		if (table && !p->sections[i].stripped && s->link != p->tables.names)
			p->sections[s->link].stripped = false;
	}
	for (size_t i = 1; i < p->elf.n_sections; i++) {
		const struct ux_elf_section *s = &p->elf.sections[i];
		if (p->sections[i].stripped && s->link < p->elf.n_sections &&
		    p->elf.sections[s->link].type == SHT_STRTAB)
			p->sections[s->link].stripped = true;
	}
}

/*
 * Places a section that depends on others. A list of the symbols whose address matters
 * (SHT_LLVM_ADDRSIG) has symbol numbers, which change; it is only a hint, and linkers do without
 * it. A section whose order depends on a removed one is removed too.
 */
static void pair_place_dependent(struct ux_elf_pair *p, size_t i)
{
	const uint32_t addrsig = 0x6fff4c03;
	const struct ux_elf_section *s = &p->elf.sections[i];
	if (pair_is_loaded(s))
		return;
	if (s->type == addrsig)
		p->sections[i].stripped = false;
	if ((s->flags & SHF_LINK_ORDER) != 0 && s->link > 0 && s->link < p->elf.n_sections &&
	    !p->sections[s->link].stripped)
		p->sections[i].stripped = false;
}

/* Returns whether a group (gABI, "Section Groups") has a member in the stripped file. */
static bool pair_group_remains(const struct ux_elf_pair *p, const struct ux_elf_section *group)
{
	struct ux_bytes bytes = UX_BYTES_NONE;
	if (ux_elf_section_raw(&p->elf, group, &bytes, NULL) != UX_OK)
		return true;
	struct ux_cur c = ux_cur_make(bytes, group->name, p->elf.swap);
	(void)ux_cur_u32(&c); /* flags */
	while (ux_cur_left(&c) >= 4) {
		uint32_t member = ux_cur_u32(&c);
		if (member < p->elf.n_sections && p->sections[member].stripped)
			return true;
	}
	return false;
}

static void pair_place_all(struct ux_elf_pair *p)
{
	for (size_t i = 1; i < p->elf.n_sections; i++)
		pair_place(p, i);
	for (size_t i = 1; i < p->elf.n_sections; i++)
		pair_place_relocations(p, i);
	for (size_t i = 1; i < p->elf.n_sections; i++)
		pair_place_dependent(p, i);
	pair_place_strings(p);
	p->sections[p->tables.names].stripped = p->sections[p->tables.names].content = true;
	for (size_t i = 1; i < p->elf.n_sections; i++)
		if (p->elf.sections[i].type == SHT_GROUP && !pair_is_loaded(&p->elf.sections[i]))
			p->sections[i].stripped = pair_group_remains(p, &p->elf.sections[i]);
	uint32_t next = 1;
	for (size_t i = 1; i < p->elf.n_sections; i++)
		if (p->sections[i].stripped)
			p->sections[i].index = next++;
}

/* --- files that are refused ------------------------------------------------------------------- */

static enum ux_code pair_check_kind(const struct ux_elf_pair *p, struct ux_error *err)
{
	const struct ux_elf *elf = &p->elf;
	if (elf->type == ET_CORE)
		return ux_error_set(err, UX_EUNSUPPORTED,
				    "is a core dump; expected a program, "
				    "library or kernel module");
	if (elf->machine == EM_CUDA)
		return ux_error_set(err, UX_EUNSUPPORTED,
				    "is GPU code (a cubin), which unhex split does not support");
	if (elf->n_sections == 0)
		return ux_error_set(err, UX_ENOTFOUND,
				    "has no section headers, so there is nothing to split off");
	if (p->tables.names == SHN_UNDEF || p->tables.names >= elf->n_sections ||
	    elf->sections[p->tables.names].type != SHT_STRTAB)
		return ux_error_set(
			err, UX_EUNSUPPORTED,
			"its sections have no names, so debug information cannot be found");
	if (ux_pair_is_relocatable(p) && p->options.strip == UX_STRIP_ALL)
		return ux_error_set(
			err, UX_EINVAL,
			"a relocatable file needs symbols to be linked or loaded; expected "
			"--strip=debug or unneeded");
	return UX_OK;
}

/* Refuses a debug file: it has code sections, but not their content. */
static enum ux_code pair_check_content(const struct ux_elf_pair *p, struct ux_error *err)
{
	const uint64_t code = SHF_ALLOC | SHF_EXECINSTR;
	bool without = false;
	for (size_t i = 1; i < p->elf.n_sections; i++) {
		const struct ux_elf_section *s = &p->elf.sections[i];
		if ((s->flags & code) == code && s->type != SHT_NOBITS && s->size > 0)
			return UX_OK;
		without |= (s->flags & code) == code && s->type == SHT_NOBITS;
	}
	if (!without) /* only data, which may still be loaded */
		for (size_t i = 1; i < p->elf.n_sections; i++)
			if (pair_is_loaded(&p->elf.sections[i]) &&
			    p->elf.sections[i].type != SHT_NOTE &&
			    p->elf.sections[i].type != SHT_NOBITS)
				return UX_OK;
	return ux_error_set(err, UX_EUNSUPPORTED, "is a debug file: it has no code");
}

/* Returns the end of the last byte that a table, a section or a segment describes. */
static uint64_t pair_described_end(const struct ux_elf_pair *p)
{
	const struct ux_elf *elf = &p->elf;
	uint64_t end = p->tables.sections_off + (uint64_t)elf->n_sections * p->tables.section_size;
	if (elf->n_segments > 0)
		end = ux_max(end, p->tables.segments_off +
					  (uint64_t)elf->n_segments * p->tables.segment_size);
	for (size_t i = 1; i < elf->n_sections; i++)
		if (elf->sections[i].type != SHT_NOBITS && elf->sections[i].type != SHT_NULL)
			end = ux_max(end, elf->sections[i].off + elf->sections[i].size);
	for (size_t i = 0; i < elf->n_segments; i++)
		end = ux_max(end, elf->segments[i].off + elf->segments[i].filesz);
	return end;
}

static enum ux_code pair_check_tail(const struct ux_elf_pair *p, struct ux_error *err)
{
	static const char signature[] = "~Module signature appended~\n";
	struct ux_bytes file = p->elf.file;
	uint64_t end = pair_described_end(p);
	if (end >= file.size)
		return UX_OK;
	struct ux_bytes tail = ux_bytes(file.data + end, file.size - (size_t)end);
	size_t n = sizeof(signature) - 1;
	if (tail.size >= n && memcmp(tail.data + tail.size - n, signature, n) == 0)
		return ux_error_set(
			err, UX_EUNSUPPORTED,
			"is signed; splitting invalidates the signature, so split before signing");
	for (size_t i = 0; i < tail.size; i++)
		if (tail.data[i] != 0)
			return ux_error_at(
				err, UX_EUNSUPPORTED, NULL, end,
				"%zu bytes after the last section belong to none and would be lost",
				tail.size);
	return UX_OK;
}

/* Refuses overlapping contents: they would make the output larger than the input, without a bound.
 */
static enum ux_code pair_check_sizes(const struct ux_elf_pair *p, struct ux_error *err)
{
	uint64_t sum = 0;
	for (size_t i = 1; i < p->elf.n_sections; i++) {
		const struct ux_elf_section *s = &p->elf.sections[i];
		struct ux_bytes bytes;
		UX_TRY(ux_elf_section_raw(&p->elf, s, &bytes, err));
		sum += bytes.size;
		if (sum > p->elf.file.size)
			return ux_error_at(err, UX_ECORRUPT, s->name, UX_ERROR_NO_OFF,
					   "its content overlaps the sections before it");
	}
	for (size_t i = 0; i < p->elf.n_segments; i++) {
		const struct ux_elf_segment *s = &p->elf.segments[i];
		struct ux_bytes bytes;
		if (!ux_bytes_sub(p->elf.file, s->off, s->filesz, &bytes))
			return ux_error_set(err, UX_ECORRUPT,
					    "segment %zu (%" PRIu64 " bytes at 0x%" PRIx64
					    ") exceeds the file of %zu bytes",
					    i, s->filesz, s->off, p->elf.file.size);
	}
	return UX_OK;
}

static enum ux_code pair_check_gain(const struct ux_elf_pair *p, struct ux_error *err)
{
	bool symbols = false;
	for (size_t i = 1; i < p->elf.n_sections; i++) {
		const struct ux_elf_section *s = &p->elf.sections[i];
		if (pair_is_debug(s) && s->type != SHT_NOBITS && s->size > 0)
			return UX_OK;
		symbols |= s->type == SHT_SYMTAB && s->size > 0;
	}
	if (symbols && p->options.strip != UX_STRIP_DEBUG && !ux_pair_is_relocatable(p))
		return UX_OK;
	const struct ux_elf_section *link = ux_elf_section_find(&p->elf, ".gnu_debuglink");
	if (link)
		return ux_error_set(
			err, UX_ENOTFOUND,
			"was already split: it has a link to debug information, but none itself");
	if (symbols)
		return ux_error_set(
			err, UX_ENOTFOUND,
			"has no debug information (compile with -g), only symbols, which "
			"--strip=unneeded would split off");
	return ux_error_set(err, UX_ENOTFOUND,
			    "has no debug information and no symbol table: it is "
			    "stripped, or was compiled without -g");
}

/* --- build IDs -------------------------------------------------------------------------------- */

/* Makes a note with a hash of the file, in the form that linkers write (a SHA-1's 20 bytes). */
static void pair_make_note(struct ux_elf_pair *p)
{
	enum {
		ID_SIZE = 20
	};
	uint8_t digest[SHA256_DIGEST_SIZE];
	struct sha256_ctx sha;
	struct ux_out note = {.swap = p->elf.swap};
	sha256_init(&sha);
	sha256_update(&sha, p->elf.file.size, p->elf.file.data);
	sha256_digest(&sha, sizeof(digest), digest);
	ux_out_u32(&note, sizeof("GNU"));
	ux_out_u32(&note, ID_SIZE);
	ux_out_u32(&note, NT_GNU_BUILD_ID);
	ux_out_put(&note, "GNU", sizeof("GNU"));
	ux_out_put(&note, digest, ID_SIZE);
	if (!note.failed && note.size <= sizeof(p->note)) {
		memcpy(p->note, note.data, note.size);
		p->note_size = note.size;
		p->id = (struct ux_id){.type = UX_ID_GNU, .size = ID_SIZE};
		memcpy(p->id.bytes, digest, ID_SIZE);
	}
	ux_out_deinit(&note);
}

static enum ux_code pair_find_id(struct ux_elf_pair *p, struct ux_error *err)
{
	struct ux_id_set ids = {0};
	UX_TRY(ux_elf_ids(&p->elf, &ids, err));
	const struct ux_id *id = ux_id_set_find(&ids, UX_ID_GNU);
	if (id)
		p->id = *id;
	else if (p->options.add_build_id)
		pair_make_note(p);
	if (!id && p->options.add_build_id && p->note_size == 0)
		return ux_error_nomem(err);
	return UX_OK;
}

struct ux_elf_section_record ux_pair_note_record(const struct ux_elf_pair *pair, uint32_t name,
						 uint64_t off)
{
	return (struct ux_elf_section_record){
		.name = name, .type = SHT_NOTE, .off = off, .size = pair->note_size, .align = 4};
}

/* --- opening ---------------------------------------------------------------------------------- */

static enum ux_code pair_open_parts(struct ux_elf_pair *p, struct ux_error *err)
{
	ux_elf_tables_read(&p->elf, &p->tables);
	UX_TRY(pair_check_kind(p, err));
	UX_TRY(pair_check_sizes(p, err));
	UX_TRY(pair_check_content(p, err));
	p->sections = calloc(p->elf.n_sections, sizeof(*p->sections));
	if (!p->sections)
		return ux_error_nomem(err);
	for (size_t i = 0; i < p->elf.n_sections; i++)
		p->sections[i].record =
			ux_elf_section_record_read(&p->elf, &p->tables, (uint32_t)i);
	UX_TRY(pair_check_gain(p, err));
	UX_TRY(pair_check_tail(p, err));
	pair_place_all(p);
	p->has_dwarf = ux_elf_has_dwarf(&p->elf);
	return pair_find_id(p, err);
}

enum ux_code ux_elf_pair_open(struct ux_elf_pair *pair, struct ux_bytes file,
			      const struct ux_pair_options *options, struct ux_error *err)
{
	*pair = (struct ux_elf_pair){.options = *options};
	UX_TRY(ux_elf_open(&pair->elf, file, err));
	enum ux_code code = pair_open_parts(pair, err);
	if (code != UX_OK)
		ux_elf_pair_close(pair);
	return code;
}

void ux_elf_pair_close(struct ux_elf_pair *pair)
{
	free(pair->sections);
	ux_elf_close(&pair->elf);
	*pair = (struct ux_elf_pair){0};
}

/* --- checking the result ---------------------------------------------------------------------- */

static enum ux_code pair_check_id(const struct ux_elf_pair *p, const struct ux_elf *stripped,
				  struct ux_error *err)
{
	struct ux_id_set ids = {0};
	UX_TRY(ux_elf_ids(stripped, &ids, err));
	const struct ux_id *id = ux_id_set_find(&ids, UX_ID_GNU);
	if (p->id.size > 0 ? !id || !ux_id_eq(id, &p->id) : id != NULL)
		return ux_error_set(err, UX_ECONFLICT,
				    "the stripped file has a different build ID");
	return UX_OK;
}

static enum ux_code pair_check_section(const struct ux_elf_pair *p, size_t i,
				       const struct ux_elf *stripped, struct ux_error *err)
{
	const struct ux_elf_section *a = &p->elf.sections[i];
	const struct ux_elf_section *b = &stripped->sections[p->sections[i].index];
	struct ux_bytes x, y;
	UX_TRY(ux_elf_section_raw(&p->elf, a, &x, err));
	UX_TRY(ux_elf_section_raw(stripped, b, &y, err));
	bool same = a->size == b->size && a->type == b->type && a->flags == b->flags &&
		    (a->addr == b->addr || ux_pair_is_relocatable(p)) &&
		    strcmp(a->name, b->name) == 0 && (a->type == SHT_DYNSYM || ux_bytes_eq(x, y));
	if (!same)
		return ux_error_set(err, UX_ECONFLICT, "section %.32s of the stripped file differs",
				    a->name);
	return UX_OK;
}

enum ux_code ux_elf_pair_check(const struct ux_elf_pair *pair, struct ux_bytes stripped,
			       struct ux_error *err)
{
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	UX_TRY(ux_elf_open(&elf, stripped, err));
	UX_TRY(pair_check_id(pair, &elf, err));
	if (elf.n_segments != pair->elf.n_segments)
		return ux_error_set(err, UX_ECONFLICT, "the stripped file has different segments");
	for (size_t i = 1; i < pair->elf.n_sections; i++) {
		if (!pair_is_loaded(&pair->elf.sections[i]))
			continue;
		if (pair->sections[i].index >= elf.n_sections)
			return ux_error_set(err, UX_ECONFLICT, "the stripped file lacks sections");
		UX_TRY(pair_check_section(pair, i, &elf, err));
	}
	return UX_OK;
}
