/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An object file of any format: named sections, code, symbols, the image in memory.
 *
 * Each format has one reader in this folder, which defines a struct ux_object_format, and one line
 * in the table of object.c. docs/object-formats.md describes how to add one.
 */
#ifndef UX_OBJECT_H
#define UX_OBJECT_H

#include "id.h"
#include "section_content.h"
#include "vec.h"

enum {
	UX_OBJECT_ARCH_TEXT = 32, /* bytes of the name of an architecture with its NUL */
};

/* The value of `base` when the file does not record where its image begins. */
#define UX_OBJECT_NO_BASE UINT64_MAX

/* An open object file. Immutable, so any number of threads may read it. */
struct ux_object {
	const struct ux_object_format *format;
	struct ux_bytes file; /* the file of one machine: one slice of a universal file */
	bool is64;
	bool swap;        /* the file's byte order is not the machine's */
	bool linked;      /* false for a relocatable object file */
	bool padded;      /* sizes of functions include the padding up to the next function */
	bool versioned;   /* names of symbols may end with a version, after an @ */
	bool no_sections; /* the file has no section table */
	bool encrypted;   /* the code is encrypted */
	bool mapped;      /* as in struct ux_section_bytes; the caller sets it after opening */
	uint64_t base;    /* lowest pc of the module's image, or UX_OBJECT_NO_BASE */
	uint64_t bias;    /* how much higher the internal pcs are than the pcs that users see
			     (elf_file.h); else 0 */
};

/* A section. */
struct ux_section {
	const char *name; /* for messages; valid as long as the name that was searched for */
	uint32_t index;   /* index of the section in the reader's list */
	uint64_t pc;      /* pc of its first byte; 0 when it is not loaded into memory */
	uint64_t size;    /* bytes, as they are stored */
	bool stored; /* the file has the content; a separate debug file lacks the content of code */
	bool packed; /* the content is compressed */
	bool relocated; /* its relocations must be applied to a copy of the content */
};

/*
 * Relocations that were skipped, because their type is unknown, their offset is outside of the
 * section, or their symbol does not exist. The bytes stay as they are in the file.
 */
struct ux_reloc_loss {
	uint64_t count;
	struct ux_error first; /* why the first one was skipped; code UX_OK when count is 0 */
};

/* A range of the memory that a module is loaded to. */
struct ux_object_range {
	uint64_t pc;
	uint64_t size;
	struct ux_bytes bytes; /* the content in the file; may be empty */
	bool executable;
	bool writable;
};

UX_VEC(ux_object_ranges, struct ux_object_range);

/*
 * A word of memory that the loader relocates: it is set to `value` plus the module's load address.
 */
struct ux_object_word {
	uint64_t pc;
	uint64_t value;
};

UX_VEC(ux_object_words, struct ux_object_word);

enum ux_object_table {
	UX_OBJECT_SYMTAB, /* for linkers and debuggers; strip removes it */
	UX_OBJECT_DYNSYM, /* for the dynamic linker */
};

struct ux_object_symbol {
	const char *name; /* points into the file, NUL-terminated; the compiler's own spelling */
	uint64_t pc;
	uint64_t size; /* bytes; 0: unknown */
	uint8_t bind;  /* STB_* of elf_defs.h, for every format */
	bool code;     /* it names code that is useful in an answer */
	bool untyped;  /* the table does not state that it is a function */
	bool dynamic;  /* from UX_OBJECT_DYNSYM: without a size it covers only its own address */
	bool listed;   /* from a list of functions outside of the symbol table (a debug map) */
};

/*
 * Receives each symbol, which is valid only during the call. Returning false ends the walk with
 * UX_ENOMEM.
 */
typedef bool ux_object_symbol_fn(void *ctx, const struct ux_object_symbol *symbol);

/* A stub: code through which a module calls functions of other modules. */
struct ux_object_stub {
	uint64_t pc;
	uint64_t size;
	const char *name; /* name of its target, points into the file; NULL: it has no name */
	uint64_t target;  /* without a name: the pc of the resolver function that chooses the target
			     (IRELATIVE) */
};

UX_VEC(ux_object_stubs, struct ux_object_stub);

/* A slice: the file of one machine in a universal file, or a whole file that is not universal. */
struct ux_object_slice {
	char arch[UX_OBJECT_ARCH_TEXT]; /* "" for a format without universal files */
	struct ux_bytes bytes;
};

UX_VEC(ux_object_slices, struct ux_object_slice);

/* The contents of a file. Any of them may still be damaged. */
enum ux_object_contents {
	UX_OBJECT_HAS_DWARF = 1 << 0,
	UX_OBJECT_HAS_SYMTAB = 1 << 1,
	UX_OBJECT_HAS_DYNSYM = 1 << 2,
	UX_OBJECT_HAS_INNER = 1 << 3, /* an embedded object with further symbols */
	UX_OBJECT_CODE_ELSEWHERE =
		1 << 4, /* a separate debug file: it describes code, but contains none */
	/* only debug information that other files refer to, and no code: a file that dwz made */
	UX_OBJECT_SUPPLEMENTARY = 1 << 5,
};

/* How to open a file. Zeroed: the default slice of a universal file, with all of its tables. */
struct ux_object_choice {
	const char *arch;      /* name of the architecture (macho_fat.h); NULL: any */
	struct ux_bytes debug; /* the module's debug file; empty: none */
	const struct ux_object
		*exe;      /* when a debug file is opened: the object of its module; else NULL */
	bool headers_only; /* skip tables that only addresses and symbols need */
};

/*
 * The functions of a format. Optional functions may be NULL when the format has nothing of the
 * kind. The caller releases the vectors that they append to, also after a failure.
 */
struct ux_object_format {
	const char *name; /* "ELF", ... */

	/* True when the first bytes have this format. */
	bool (*is)(struct ux_bytes file);

	/* Optional, for formats with universal files: appends the slices of a file. */
	enum ux_code (*slices)(struct ux_bytes file, struct ux_object_slices *out,
			       struct ux_error *err);

	/*
	 * Opens a file. UX_EUNSUPPORTED: it has a different format; UX_ECORRUPT: its tables exceed
	 * the file; UX_ENOTFOUND: the file has no such slice. The file must outlive the object.
	 */
	enum ux_code (*open)(struct ux_bytes file, const struct ux_object_choice *choice,
			     struct ux_object **ret, struct ux_error *err);
	void (*close)(struct ux_object *object);

	/* Finds the first section with that (ELF) name and with an index of `from` or higher. */
	bool (*section_find)(const struct ux_object *object, const char *name, uint32_t from,
			     struct ux_section *ret);
	enum ux_code (*section_bytes)(const struct ux_object *object,
				      const struct ux_section *section,
				      struct ux_section_bytes *ret, struct ux_error *err);
	/*
	 * Optional: loads a section that is `relocated`, with its relocations applied. *loss is
	 * set.
	 */
	enum ux_code (*section_relocate)(const struct ux_object *object,
					 const struct ux_section *section, uint64_t max_size,
					 struct ux_spill *spill, struct ux_content *ret,
					 struct ux_reloc_loss *loss, struct ux_error *err);

	/* Appends the executable sections, or when there are none, the executable segments. */
	enum ux_code (*text)(const struct ux_object *object, struct ux_object_ranges *out,
			     struct ux_error *err);
	/* Appends the segments that have content in the file. */
	enum ux_code (*segments)(const struct ux_object *object, struct ux_object_ranges *out,
				 struct ux_error *err);
	/* Optional: appends the words that the loader relocates, in the order of their table. */
	enum ux_code (*words)(const struct ux_object *object, struct ux_object_words *out,
			      struct ux_error *err);

	/*
	 * Calls `each` for every symbol of a table. A missing table has no symbols. UX_ECORRUPT: it
	 * is damaged.
	 */
	enum ux_code (*symbols)(const struct ux_object *object, enum ux_object_table table,
				ux_object_symbol_fn *each, void *ctx, struct ux_error *err);
	/*
	 * Optional: opens an embedded object that has only symbols (.gnu_debugdata). *ret is NULL
	 * when the object has none.
	 */
	enum ux_code (*inner)(const struct ux_object *object, struct ux_object **ret,
			      struct ux_error *err);
	/* Optional: when a function descriptor is at pc, sets *ret to the pc of its code. */
	bool (*descriptor)(const struct ux_object *object, uint64_t pc, uint64_t *ret);
	/* Optional: appends the stubs, in the order of their addresses. */
	enum ux_code (*stubs)(const struct ux_object *object, struct ux_object_stubs *out,
			      struct ux_error *err);
	/* Optional: appends the starts of functions in ascending order. The list is complete. */
	enum ux_code (*starts)(const struct ux_object *object, struct ux_object_words *out,
			       struct ux_error *err);

	/* Returns enum ux_object_contents, combined. */
	unsigned (*contents)(const struct ux_object *object);
	/*
	 * UX_EUNSUPPORTED: the file is not a module, nor a part of one with an identity of its own:
	 * a core dump, or an object file without a build ID. Kernel modules and the supplementary
	 * files of dwz are object files that have one.
	 */
	enum ux_code (*check_loadable)(const struct ux_object *object, struct ux_error *err);
	/* Returns the identity that a debug file and its module have in common; size 0: none. */
	struct ux_id (*id)(const struct ux_object *object);
	/* Adds the identities in the file, the one of id() first; never a File ID. */
	enum ux_code (*ids)(const struct ux_object *object, struct ux_id_set *ret,
			    struct ux_error *err);
	/*
	 * Checks that `debug` is the debug file of `exe`. UX_ECONFLICT: it is not, and err says
	 * why.
	 */
	enum ux_code (*check_pair)(const struct ux_object *exe, const struct ux_object *debug,
				   struct ux_error *err);
};

extern const struct ux_object_format ux_object_elf;
extern const struct ux_object_format ux_object_macho;

/* Returns the format of a file by its first bytes. NULL: it is not a known object file. */
const struct ux_object_format *ux_object_format(struct ux_bytes file);

/*
 * Appends the slices of a file of any known format: the file itself, or the files in a universal
 * one in the order of its header. They point into the file. Codes of ux_object_open().
 */
enum ux_code ux_object_slices(struct ux_bytes file, struct ux_object_slices *out,
			      struct ux_error *err) ux_must;

/*
 * Opens a file of any known format; of a universal file the only or the default slice.
 * UX_EUNSUPPORTED: the format is unknown, and the message tells how the file starts.
 */
enum ux_code ux_object_open(struct ux_bytes file, struct ux_object **ret, struct ux_error *err)
	ux_must;
/*
 * As ux_object_open(), with choice.headers_only: for a caller that reads identities and contents,
 * so that a damaged table of addresses does not prevent it.
 */
enum ux_code ux_object_open_headers(struct ux_bytes file, struct ux_object **ret,
				    struct ux_error *err) ux_must;
/* Returns NULL. object may be NULL. */
struct ux_object *ux_object_close(struct ux_object *object);

/* For ux_cleanup(). */
ux_inline void ux_object_closep(struct ux_object **object)
{
	*object = ux_object_close(*object);
}

/*
 * Adds all identities of the file: the ones stored in it, then the File ID of its slice (several
 * modules would share the File ID of a universal file). UX_ECORRUPT: a damaged identity. UX_ELIMIT:
 * one is too long, or the set is full.
 */
enum ux_code ux_object_ids(const struct ux_object *object, struct ux_id_set *ret,
			   struct ux_error *err) ux_must;

/* Finds the section with that name; false when the object has none. */
bool ux_object_section_find(const struct ux_object *object, const char *name,
			    struct ux_section *ret);

/* Returns the content as it is stored, still compressed. UX_ECORRUPT: it exceeds the file. */
enum ux_code ux_section_bytes(const struct ux_object *object, const struct ux_section *section,
			      struct ux_section_bytes *ret, struct ux_error *err) ux_must;

/* Loads the content, decompressed and relocated, as ux_content_load() does. loss may be NULL. */
enum ux_code ux_section_load(const struct ux_object *object, const struct ux_section *section,
			     uint64_t max_size, struct ux_spill *spill, struct ux_content *ret,
			     struct ux_reloc_loss *loss, struct ux_error *err) ux_must;

/*
 * Returns the size of the content as the section's header states it; 0 when the header is damaged.
 */
uint64_t ux_section_size(const struct ux_object *object, const struct ux_section *section);

#endif
