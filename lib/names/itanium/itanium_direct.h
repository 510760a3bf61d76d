/* SPDX-License-Identifier: Apache-2.0 */
/* C++ names of the usual kinds, which are written while they are read. */
#ifndef UX_ITANIUM_DIRECT_H
#define UX_ITANIUM_DIRECT_H

#include "itanium_tree.h"

enum {
	DIRECT_NAME_MAX = 2048,
	DIRECT_SUBS_MAX = 160,
	DIRECT_ARGS_MAX = 48,
	DIRECT_ITEMS_MAX = 48,
	DIRECT_DEPTH_MAX =
		80, /* beyond this depth the name is read as a tree, which has a higher limit */
	DIRECT_STEPS_MAX = 4096,
	DIRECT_ASIDE_MAX = 4096,
};

/*
 * Properties of a type that was written; 0 as a function's result: it cannot be written directly.
 */
enum {
	/* ITANIUM_CV: its qualifiers, if they were written last */
	DIRECT_LREF = 8,  /* ends with & */
	DIRECT_RREF = 16, /* ends with && */
	/* a function, an array, or a pointer to one: references to it are written inside of it */
	DIRECT_AROUND = 32,
	DIRECT_LISTED = 64, /* an expansion: any number of types */
	DIRECT_DEPENDS =
		128, /* contains T_, with a meaning that depends on the place of a substitution */
	DIRECT_VARIES = 256, /* depends on the element of a pack */
	DIRECT_PACKED = 512, /* has the arguments of a pack */
	DIRECT_GOOD = 1024,
	DIRECT_MARKS = DIRECT_DEPENDS | DIRECT_VARIES | DIRECT_PACKED,
};

/* A text that was written, or a constant text. */
struct direct_text {
	const char *at;
	uint32_t size;
	uint16_t flags;
	uint16_t here;         /* context of a substitution, as itanium_here() */
	uint16_t first, items; /* for a pack: its elements */
	uint16_t base_size;    /* as in struct direct_named */
	const char *base;
};

/* A name that was read. */
struct direct_named {
	const char *base; /* the name of its constructors; NULL: unknown */
	uint16_t base_size;
	bool is_template; /* its last part has arguments */
	bool is_structor; /* its last part is a constructor or destructor */
	bool is_nested;   /* it is in a scope */
};

struct direct {
	const char *pos, *end;
	struct ux_name_text t;
	unsigned n_subs, n_args, first_arg, n_items, context, n_contexts;
	unsigned marks; /* flags of the item that is being read */
	int element;    /* element of packs, in an expansion; -1: none */
	unsigned n_elements;
	unsigned first_varying; /* the expansion's first substitution */
	bool in_lambda;
	uint8_t qualifiers;   /* qualifiers of the last name */
	char *aside;          /* where the next return type is written */
	const char *returned; /* the name's return type */
	size_t n_returned;    /* size of the return type; 0: none */
	size_t n_special;     /* bytes of text before the name */
	struct direct_text subs[DIRECT_SUBS_MAX];
	struct direct_text args[DIRECT_ARGS_MAX];
	struct direct_text items[DIRECT_ITEMS_MAX];
	char asides[DIRECT_ASIDE_MAX];
};

/* The parts of a function that are written. */
enum direct_part {
	DIRECT_ALL,
	DIRECT_ENCLOSING, /* a function that encloses a name: without its return type */
	DIRECT_NAME,      /* a function whose address is an argument: only its name */
};

/* --- characters and texts --------------------------------------------------------------------- */

ux_inline char direct_peek(const struct direct *d)
{
	return d->pos < d->end ? *d->pos : '\0';
}

ux_inline char direct_peek2(const struct direct *d)
{
	return d->end - d->pos > 1 ? d->pos[1] : '\0';
}

ux_inline bool direct_eat(struct direct *d, char c)
{
	if (direct_peek(d) != c)
		return false;
	d->pos++;
	return true;
}

ux_inline void direct_put_word(struct direct *d, unsigned text)
{
	const struct itanium_word *word = &itanium_words[text];
	ux_name_text_put_short(&d->t, word->text, word->size);
}

#define DIRECT_PUT(d, literal) UX_NAME_TEXT_PUT(&(d)->t, literal)

/* Writes a text again. */
ux_inline void direct_put_again(struct direct *d, const struct direct_text *text)
{
	if (ux_name_text_charge_bytes(&d->t, text->size))
		ux_name_text_put_short(&d->t, text->at, text->size);
}

ux_inline uint16_t direct_here(const struct direct *d)
{
	return (uint16_t)(d->context * 2 + d->in_lambda);
}

/* Records a text for later S_. */
ux_inline bool direct_add_text(struct direct *d, const char *at, size_t size, unsigned flags,
			       const struct direct_named *named)
{
	if (ux_unlikely(d->n_subs == DIRECT_SUBS_MAX || d->t.failed))
		return false;
	d->subs[d->n_subs++] = (struct direct_text){
		.at = at,
		.size = (uint32_t)size,
		.flags = (uint16_t)(flags | d->marks),
		.here = direct_here(d),
		.base = named ? named->base : NULL,
		.base_size = named ? named->base_size : 0,
	};
	return true;
}

/* Records the text that was written from `from` on. */
ux_inline bool direct_add(struct direct *d, const char *from, unsigned flags,
			  const struct direct_named *named)
{
	return direct_add_text(d, from, (size_t)(d->t.pos - from), flags, named);
}

/* The state of writing a list, with ", " between the items that are not empty. */
struct direct_list {
	bool any;
	char *before, *item;
};

ux_inline void direct_list_next(struct direct *d, struct direct_list *list)
{
	list->before = d->t.pos;
	if (list->any)
		DIRECT_PUT(d, ", ");
	list->item = d->t.pos;
}

ux_inline void direct_list_end(struct direct *d, struct direct_list *list)
{
	if (d->t.pos == list->item)
		d->t.pos = list->before;
	else
		list->any = true;
}

/* "_" is 0, "0_" is 1, ... */
ux_inline bool direct_sequence(struct direct *d, unsigned base, unsigned *ret)
{
	unsigned v = 0;
	bool any = false;
	for (; d->pos < d->end && *d->pos != '_'; d->pos++, any = true) {
		char c = *d->pos;
		unsigned digit = ux_is_digit(c)                       ? (unsigned)(c - '0')
				 : base == 36 && c >= 'A' && c <= 'Z' ? (unsigned)(c - 'A') + 10
								      : base;
		v = v * base + digit;
		if (digit >= base || v > DIRECT_NAME_MAX)
			return false;
	}
	*ret = any ? v + 1 : 0;
	return direct_eat(d, '_');
}

ux_inline void direct_put_qualifiers(struct direct *d, unsigned flags)
{
	if (flags & ITANIUM_CONST)
		DIRECT_PUT(d, " const");
	if (flags & ITANIUM_VOLATILE)
		DIRECT_PUT(d, " volatile");
	if (flags & ITANIUM_RESTRICT)
		DIRECT_PUT(d, " restrict");
	if (flags & ITANIUM_FOR_LREF)
		DIRECT_PUT(d, " &");
	if (flags & ITANIUM_FOR_RREF)
		DIRECT_PUT(d, " &&");
}

ux_inline uint8_t direct_qualifiers(struct direct *d)
{
	unsigned flags = 0;
	if (direct_eat(d, 'r'))
		flags |= ITANIUM_RESTRICT;
	if (direct_eat(d, 'V'))
		flags |= ITANIUM_VOLATILE;
	if (direct_eat(d, 'K'))
		flags |= ITANIUM_CONST;
	return (uint8_t)flags;
}

/* Returns whether a substitution or an argument can be the scope of a name. */
ux_inline bool direct_is_scope(unsigned flags)
{
	return flags != 0 && !(flags & (DIRECT_AROUND | DIRECT_LISTED));
}

/*
 * Writes a name without a tree, in GNU's style with all its parts; *ret_end is where a clone's
 * suffix may begin. False, with the text unchanged: the name needs a tree, or is malformed.
 */
bool itanium_direct(struct ux_bytes name, struct ux_name_text *text, const char **ret_end);

/*
 * The productions. If a tree is needed, productions that return flags return 0, the others false.
 */

bool direct_encoding(struct direct *d, enum direct_part part);

/* naming: from here on T_ refers to the template arguments in this name. */
bool direct_name(struct direct *d, bool naming, struct direct_named *named);

unsigned direct_type(struct direct *d);

/*
 * Reads a type that is written before other text, such as a function's return type or an array's
 * element type.
 */
bool direct_plain_type(struct direct *d);

/* Reads types up to a character that begins none; "v" alone is the empty list. */
bool direct_types(struct direct *d);

/* Returns the flags of the substituted item; *named is its last name. */
unsigned direct_substitution(struct direct *d, bool in_prefix, struct direct_named *named);

/* T_; its text is *ret. */
bool direct_template_param(struct direct *d, struct direct_text *ret);

bool direct_template_args(struct direct *d, bool naming);

#endif
