/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An object file of any format: named sections, code, symbols, the image in memory.
 *
 * A format is one reader in this folder: a struct ux_object_format whose functions it fills in, and
 * a line in the table of object.c. docs/object-formats.md says how one is added.
 */
#ifndef UX_OBJECT_H
#define UX_OBJECT_H

#include "id.h"
#include "section_content.h"
#include "vec.h"

/* For `base`: the file does not say where it begins in memory. */
#define UX_OBJECT_NO_BASE UINT64_MAX

/* An open object file. Immutable, so any number of threads may read it. */
struct ux_object {
	const struct ux_object_format *format;
	struct ux_bytes file; /* of one machine: the slice of a file that has several */
	bool is64;
	bool swap;        /* the file's byte order is not the machine's */
	bool linked;      /* not an object file that is yet to be linked */
	bool padded;      /* sizes of functions count the padding up to the next one */
	bool versioned;   /* names of symbols may have a version behind an @ */
	bool no_sections; /* the file has lost its section table */
	uint64_t base;    /* pc that a module's addresses count from; UX_OBJECT_NO_BASE */
	uint64_t bias;    /* what pcs are above the ones that people use (elf_file.h); else 0 */
};

/* A section. */
struct ux_section {
	const char *name; /* for messages; lives as long as what it was found by */
	uint32_t index;   /* the reader's own number of it */
	uint64_t pc;      /* of its first byte; 0 when it is not in memory */
	uint64_t size;    /* bytes, as they are stored */
	bool stored;      /* the file has the content: a separate debug file lacks that of code */
	bool packed;      /* the content is compressed */
	bool relocated;   /* relocations are applied to a copy of the content */
};

/* Relocations that were passed over: a type that is not known, an offset outside of the section, a
 * symbol that is not there. The bytes there are as in the file. */
struct ux_reloc_loss {
	uint64_t count;
	struct ux_error first; /* why, of the first one; code UX_OK when count is 0 */
};

/* A part of the memory that a module is loaded to. */
struct ux_object_range {
	uint64_t pc;
	uint64_t size;
	struct ux_bytes bytes; /* the content in the file; may be empty */
	bool executable;
	bool writable;
};

UX_VEC(ux_object_ranges, struct ux_object_range);

/* A word of the memory that the loader fills in: where the module lies is added to value. */
struct ux_object_word {
	uint64_t pc;
	uint64_t value;
};

UX_VEC(ux_object_words, struct ux_object_word);

enum ux_object_table {
	UX_OBJECT_SYMTAB, /* for linkers and debuggers: what strip removes */
	UX_OBJECT_DYNSYM, /* for the loader */
};

struct ux_object_symbol {
	const char *name; /* in the file, NUL-terminated, as the compiler had it */
	uint64_t pc;
	uint64_t size; /* bytes; 0: not known */
	uint8_t bind;  /* STB_* of elf_defs.h, whatever the format */
	bool code;     /* names code a person would ask for */
	bool untyped;  /* the table does not say that it is a function */
	bool dynamic; /* of the loader's table: without a size it stands for its own address only */
	bool listed;  /* of a list of functions beside the symbols (a debug map) */
};

/* Is given each symbol, which is valid during the call only; false ends the walk with UX_ENOMEM. */
typedef bool ux_object_symbol_fn(void *ctx, const struct ux_object_symbol *symbol);

/* Code by which a module calls functions of others. */
struct ux_object_stub {
	uint64_t pc;
	uint64_t size;
	const char *name; /* of what it jumps to, in the file; NULL: it has no name */
	uint64_t target;  /* without a name: the pc of the function that chooses (IRELATIVE) */
};

UX_VEC(ux_object_stubs, struct ux_object_stub);

/* Which of several machines' files in one, and whose pair it is. Zeroed: the usual one. */
struct ux_object_choice {
	const char *arch;            /* by name (macho_fat.h); NULL: not said */
	struct ux_bytes debug;       /* the debug file that belongs to it; empty: none */
	const struct ux_object *exe; /* the object that it is the debug file of; NULL: it is not */
};

/*
 * The functions of a format. Those that are marked as optional may be NULL: then there is nothing
 * of the kind. What they append to is the caller's to release, also after a failure.
 */
struct ux_object_format {
	const char *name; /* "ELF", ... */

	/* By the first bytes. */
	bool (*is)(struct ux_bytes file);

	/* UX_EUNSUPPORTED: another format; UX_ECORRUPT: tables that leave the file; UX_ENOTFOUND:
	 * no such machine in it. The file must outlive the object. */
	enum ux_code (*open)(struct ux_bytes file, const struct ux_object_choice *choice,
			     struct ux_object **ret, struct ux_error *err);
	void (*close)(struct ux_object *object);

	/* The first section of that name (ELF's) whose index is `from` or higher. */
	bool (*section_find)(const struct ux_object *object, const char *name, uint32_t from,
			     struct ux_section *ret);
	enum ux_code (*section_bytes)(const struct ux_object *object,
				      const struct ux_section *section,
				      struct ux_section_bytes *ret, struct ux_error *err);
	/* Optional: of a section that is `relocated`. *loss is set. */
	enum ux_code (*section_relocate)(const struct ux_object *object,
					 const struct ux_section *section, uint64_t max_size,
					 const char *spill, struct ux_content *ret,
					 struct ux_reloc_loss *loss, struct ux_error *err);

	/* Appends the executable sections; where there are none, executable segments. */
	enum ux_code (*text)(const struct ux_object *object, struct ux_object_ranges *out,
			     struct ux_error *err);
	/* Appends the segments that have content in the file. */
	enum ux_code (*segments)(const struct ux_object *object, struct ux_object_ranges *out,
				 struct ux_error *err);
	/* Optional: appends the words that the loader fills in, in the order of their table. */
	enum ux_code (*words)(const struct ux_object *object, struct ux_object_words *out,
			      struct ux_error *err);

	/* Walks a symbol table; a missing one has no symbols. UX_ECORRUPT: it is damaged. */
	enum ux_code (*symbols)(const struct ux_object *object, enum ux_object_table table,
				ux_object_symbol_fn *each, void *ctx, struct ux_error *err);
	/* Optional: an object inside of this one that has only symbols (.gnu_debugdata). NULL in
	 * *ret: there is none. */
	enum ux_code (*inner)(const struct ux_object *object, struct ux_object **ret,
			      struct ux_error *err);
	/* Optional: the pc of the code when there is a function descriptor at pc. */
	bool (*descriptor)(const struct ux_object *object, uint64_t pc, uint64_t *ret);
	/* Optional: appends the stubs, in the order of their addresses. */
	enum ux_code (*stubs)(const struct ux_object *object, struct ux_object_stubs *out,
			      struct ux_error *err);
	/* Optional: appends where functions begin, ascending; every function is in the list. */
	enum ux_code (*starts)(const struct ux_object *object, struct ux_object_words *out,
			       struct ux_error *err);

	/* The identity that a debug file shares with its module; size 0: none. */
	struct ux_id (*id)(const struct ux_object *object);
	/* UX_ECONFLICT: debug is not the debug file of exe, and why. */
	enum ux_code (*check_pair)(const struct ux_object *exe, const struct ux_object *debug,
				   struct ux_error *err);
};

extern const struct ux_object_format ux_object_elf;
extern const struct ux_object_format ux_object_macho;

/* The format of a file, by its first bytes; NULL: no object file that is known. */
const struct ux_object_format *ux_object_format(struct ux_bytes file);

/* Opens a file of any known format, its only or its usual machine's. UX_EUNSUPPORTED: none. */
enum ux_code ux_object_open(struct ux_bytes file, struct ux_object **ret, struct ux_error *err)
	ux_must;
/* Returns NULL. object may be NULL. */
struct ux_object *ux_object_close(struct ux_object *object);

/* For ux_cleanup(). */
ux_inline void ux_object_closep(struct ux_object **object)
{
	*object = ux_object_close(*object);
}

/* The section of that name; false when there is none. */
bool ux_object_section_find(const struct ux_object *object, const char *name,
			    struct ux_section *ret);

/* The content as it is stored, still packed. UX_ECORRUPT: it leaves the file. */
enum ux_code ux_section_bytes(const struct ux_object *object, const struct ux_section *section,
			      struct ux_section_bytes *ret, struct ux_error *err) ux_must;

/* The content, inflated and relocated, as of ux_content_load(). loss may be NULL. */
enum ux_code ux_section_load(const struct ux_object *object, const struct ux_section *section,
			     uint64_t max_size, const char *spill, struct ux_content *ret,
			     struct ux_reloc_loss *loss, struct ux_error *err) ux_must;

/* The size of the content, by the section's header alone; 0 for a damaged one. */
uint64_t ux_section_size(const struct ux_object *object, const struct ux_section *section);

#endif
