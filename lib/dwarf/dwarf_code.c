/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk over a unit's DIEs.
 *
 * Nearly all of .debug_info is types, variables and parameters. They are skipped with their
 * abbreviation's program or with DW_AT_sibling; only subprograms and inlined subroutines are read.
 * No tree is built: a depth counter and the stack of open functions are enough.
 */
#include "dwarf_code.h"

#include "dwarf_stride.h"

#define NO_FUNCTION UINT32_MAX

enum {
	LATE_CALLS = 16, /* about as many loads as a processor has in flight at a time */
};

/* An inlined call with a name that has no number yet. */
struct late_call {
	struct ux_dwarf_ref origin;
	uint64_t off;   /* offset of its DIE */
	uint32_t index; /* among the unit's inlined calls */
};

/* An open function or inlined call; the DIEs inside of it belong to it. */
struct scope {
	uint32_t depth;    /* depth of its children */
	uint32_t function; /* NO_FUNCTION: a function without code; its inlined calls are ignored */
	uint32_t inlines;  /* number of open inlined calls, including this one */
};

/*
 * Where a producer puts the DIEs of functions that are nested in the source. Clang never puts a
 * function of C or C++ into the DIE of another function or class. GCC does so for nested functions
 * of C and for methods of local classes, including lambdas, even inside of functions that have no
 * code themselves.
 */
enum nesting {
	NESTING_FLAT,    /* functions are in the unit and in namespaces */
	NESTING_GNU_C,   /* in functions too */
	NESTING_GNU_CXX, /* in functions and in the classes in them */
	NESTING_ANY,     /* anywhere */
};

struct die_walk {
	const struct ux_dwarf_context *ctx;
	struct ux_dwarf_range_reader ranges;
	struct ux_dwarf_names *names;
	struct ux_dwarf_code *code;
	struct ux_error *err;
	struct ux_dwarf_strider strider;
	uint32_t depth;
	uint32_t n_scopes;
	/* State that depends on the innermost open scope: */
	uint32_t floor; /* the walk is still in it as long as it is at least as deep */
	unsigned stop;  /* a stride stops before a step with one of these flags */
	/* Values of `stop`: outside of all functions, in a function without code, and in one with
	 * code. */
	unsigned stops[3];
	enum nesting nesting;
	const uint8_t *start; /* offset 0 of .debug_info */
	bool interleaved;     /* there was a function inside of another function's DIE */
	/* The table of names is larger than the CPU's caches, so each call's slot in it is
	 * prefetched while others are read. Names are still numbered in the order of DIEs: a
	 * function's name, too, is numbered only after the names of the calls before it. */
	struct late_call late[LATE_CALLS];
	unsigned n_late;
	struct scope scopes[UX_DWARF_NEST_MAX];
};

void ux_dwarf_code_deinit(struct ux_dwarf_code *code)
{
	ux_code_function_vec_deinit(&code->functions);
	ux_code_inline_vec_deinit(&code->inlines);
	ux_dwarf_owner_vec_deinit(&code->owners);
	ux_dwarf_place_vec_deinit(&code->places);
	ux_range_vec_deinit(&code->ranges);
}

static enum nesting nesting_of(const struct ux_dwarf_context *ctx)
{
	bool clang = ctx->producer && strstr(ctx->producer, "clang");
	switch (ctx->language) {
	case DW_LANG_C89:
	case DW_LANG_C:
	case DW_LANG_C99:
	case DW_LANG_C11:
	case DW_LANG_C17:
	case DW_LANG_C23:
		return clang ? NESTING_FLAT : NESTING_GNU_C;
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
	case DW_LANG_C_plus_plus_17:
	case DW_LANG_C_plus_plus_20:
	case DW_LANG_C_plus_plus_23:
		return clang ? NESTING_FLAT : NESTING_GNU_CXX;
	default:
		return NESTING_ANY;
	}
}

/*
 * Appends the DIE's ranges to code->ranges. Of a damaged list the part before the damage is used.
 */
static enum ux_code die_walk_ranges(struct die_walk *w, const struct ux_dwarf_die *die,
				    uint32_t *ret_first, uint32_t *ret_count)
{
	struct ux_range_vec *ranges = &w->code->ranges;
	size_t before = ranges->size;
	enum ux_code code = ux_dwarf_die_ranges(&w->ranges, die, NULL);
	if (code == UX_ENOMEM)
		return ux_error_nomem(w->err);
	w->code->bad_ranges += code != UX_OK;
	*ret_first = (uint32_t)before;
	*ret_count = (uint32_t)(ranges->size - before);
	return UX_OK;
}

/* Numbers the names of the calls that have none yet. */
static enum ux_code die_number_late(struct die_walk *w)
{
	struct ux_code_inline *calls = w->code->inlines.data;
	for (unsigned i = 0; i < w->n_late; i++) {
		const struct late_call *late = &w->late[i];
		UX_TRY(ux_dwarf_names_of_origin(w->names, late->off, late->origin,
						/* nested= */ false, &calls[late->index].name,
						w->err));
	}
	w->n_late = 0;
	return UX_OK;
}

/* Sets where strides stop. DIEs are skipped if they are not code and cannot contain any. */
static void die_walk_set_stops(struct die_walk *w)
{
	unsigned stop = UX_STEP_LOOSE | UX_STEP_CODE | UX_STEP_DEEP;
	if (w->nesting != NESTING_FLAT)
		stop |= UX_STEP_DECLARES;
	if (w->nesting == NESTING_ANY)
		stop |= UX_STEP_CLASS;
	w->stops[0] = stop;
	if (w->nesting == NESTING_GNU_CXX)
		stop |= UX_STEP_CLASS;
	w->stops[1] = stop;
	w->stops[2] = stop | UX_STEP_CALL;
}

/* Updates the state that depends on the innermost scope. */
ux_inline void die_scopes_changed(struct die_walk *w)
{
	if (w->n_scopes == 0) {
		w->floor = 1;
		w->stop = w->stops[0];
		return;
	}
	const struct scope *scope = &w->scopes[w->n_scopes - 1];
	w->floor = scope->depth;
	w->stop = w->stops[scope->function != NO_FUNCTION ? 2 : 1];
}

ux_inline void die_scopes_open(struct die_walk *w, uint32_t function, uint32_t inlines)
{
	w->depth++;
	if (w->n_scopes < UX_DWARF_NEST_MAX)
		w->scopes[w->n_scopes++] = (struct scope){w->depth, function, inlines};
	die_scopes_changed(w);
}

/* Closes the scopes that the walk has left. */
ux_inline void die_scopes_close(struct die_walk *w)
{
	while (w->n_scopes > 0 && w->scopes[w->n_scopes - 1].depth > w->depth)
		w->n_scopes--;
	die_scopes_changed(w);
}

static bool function_is_skipped(const struct ux_dwarf_code *code, const struct ux_code_function *f)
{
	return code->skip && f->range_count == 1 &&
	       code->skip(code->skip_ctx, &code->ranges.data[f->range_first]);
}

/*
 * Reads a subprogram; *ret_open is set when its children must be read. A function without code is
 * still a scope, since a class local to it may have code, even when the linker dropped the function
 * itself.
 */
static enum ux_code die_walk_function(struct die_walk *w, const struct ux_dwarf_die *die,
				      bool has_children, bool *ret_open)
{
	struct ux_code_function f = {
		.sequence = UX_CODE_NO_SEQUENCE,
		.inline_first = (uint32_t)w->code->inlines.size,
	};
	(void)ux_dwarf_die_off(die, UX_SLOT_STMT_LIST, &f.sequence);
	UX_TRY(die_walk_ranges(w, die, &f.range_first, &f.range_count));
	bool live = f.range_count > 0;
	if (live) {
		UX_TRY(die_number_late(w));
		UX_TRY(ux_dwarf_names_of(w->names, w->ctx, die, w->depth > 1, &f.name, w->err));
		w->interleaved |= w->n_scopes > 0;
		f.skipped = function_is_skipped(w->code, &f);
		if (!ux_code_function_vec_append(&w->code->functions, f))
			return ux_error_nomem(w->err);
	}
	*ret_open = has_children && ((live && !f.skipped) || w->nesting != NESTING_FLAT);
	if (*ret_open)
		die_scopes_open(
			w, live && !f.skipped ? (uint32_t)w->code->functions.size - 1 : NO_FUNCTION,
			0);
	return UX_OK;
}

static uint32_t die_const32(const struct ux_dwarf_die *die, enum ux_dwarf_slot slot)
{
	uint64_t value = 0;
	if (!ux_dwarf_die_const(die, slot, &value) || value > UINT32_MAX)
		return 0;
	return (uint32_t)value;
}

/* Replaces the file of a call by the number of its place: file and column. */
static bool die_place_call(struct die_walk *w, uint32_t column, struct ux_code_inline *node)
{
	struct ux_dwarf_place place = {node->call_file, column};
	node->call_file = (uint32_t)w->code->places.size;
	return ux_dwarf_place_vec_append(&w->code->places, place);
}

/* Appends an inlined call with its ranges and name set, and opens its scope. */
ux_inline enum ux_code die_append_call(struct die_walk *w, const struct ux_code_inline *node,
				       bool has_children)
{
	uint32_t function = w->scopes[w->n_scopes - 1].function;
	if (!ux_code_inline_vec_append(&w->code->inlines, *node) ||
	    !ux_dwarf_owner_vec_append(&w->code->owners, function))
		return ux_error_nomem(w->err);
	if (has_children)
		die_scopes_open(w, function, node->depth);
	return UX_OK;
}

/* Finds the name of call number `index`, now or together with the next calls' names. */
static enum ux_code die_name_call(struct die_walk *w, const struct ux_dwarf_die *die,
				  uint32_t index)
{
	struct ux_dwarf_ref to;
	bool late = ux_dwarf_name_is_origins(w->ctx, die, &to);
	if (!late || w->n_late == LATE_CALLS)
		UX_TRY(die_number_late(w));
	if (!late)
		return ux_dwarf_names_of(w->names, w->ctx, die, /* nested= */ false,
					 &w->code->inlines.data[index].name, w->err);
	ux_dwarf_names_prefetch(w->names, to);
	w->late[w->n_late++] = (struct late_call){to, die->off, index};
	return UX_OK;
}

static enum ux_code die_walk_inline(struct die_walk *w, const struct ux_dwarf_die *die,
				    bool has_children)
{
	struct ux_code_inline node = {
		.call_file = die_const32(die, UX_SLOT_CALL_FILE),
		.call_line = die_const32(die, UX_SLOT_CALL_LINE),
		.depth = w->scopes[w->n_scopes - 1].inlines + 1,
	};
	UX_TRY(die_walk_ranges(w, die, &node.range_first, &node.range_count));
	if (w->code->columns && !die_place_call(w, die_const32(die, UX_SLOT_CALL_COLUMN), &node))
		return ux_error_nomem(w->err);
	UX_TRY(die_append_call(w, &node, has_children));
	return die_name_call(w, die, (uint32_t)w->code->inlines.size - 1);
}

/*
 * Reads an inlined call that has a step. Without this short way to its program, which needs no
 * search for the abbreviation, an extraction of libjvm takes 3 % longer.
 */
static enum ux_code die_walk_call(struct die_walk *w, struct ux_cur c,
				  const struct ux_dwarf_step *step)
{
	const struct ux_dwarf_abbrev *abbrev =
		&w->ctx->abbrevs.list[step - w->strider.steps - 1]; /* codes are consecutive */
	struct ux_dwarf_die die;
	die.off = (uint64_t)(c.pos - c.start);
	c.pos += *c.pos < 0x80 ? 1 : 2;
	ux_dwarf_die_run(&c, w->ctx->abbrevs.words + abbrev->program, w->ctx->unit->layout, &die);
	return die_walk_inline(w, &die, abbrev->has_children);
}

/* Returns the kind of a DIE with this abbreviation in its current scope. */
ux_inline enum ux_dwarf_kind die_walk_kind(const struct die_walk *w,
					   const struct ux_dwarf_abbrev *abbrev)
{
	switch ((enum ux_dwarf_kind)abbrev->kind) {
	case UX_KIND_CLASS:
		if (w->nesting == NESTING_ANY || (w->nesting == NESTING_GNU_CXX && w->n_scopes > 0))
			return UX_KIND_PLAIN;
		return UX_KIND_LEAF;
	case UX_KIND_FUNCTION:
		return w->nesting == NESTING_FLAT && !abbrev->has_pc ? UX_KIND_LEAF
								     : UX_KIND_FUNCTION;
	case UX_KIND_INLINE:
		return w->n_scopes > 0 && w->scopes[w->n_scopes - 1].function != NO_FUNCTION
			       ? UX_KIND_INLINE
			       : UX_KIND_PLAIN;
	case UX_KIND_PLAIN:
	case UX_KIND_LEAF:
	case UX_KIND_ROOT:
		break;
	}
	return abbrev->kind;
}

/* Reads a DIE of code: a subprogram or an inlined call. */
static enum ux_code die_walk_code(struct die_walk *w, struct ux_cur *cur, uint64_t off,
				  const struct ux_dwarf_abbrev *abbrev, enum ux_dwarf_kind kind)
{
	struct ux_cur c = *cur;
	struct ux_dwarf_die die;
	die.off = off;
	ux_dwarf_die_run(&c, w->ctx->abbrevs.words + abbrev->program, w->ctx->unit->layout, &die);
	UX_TRY(ux_cur_status(&c, w->err));
	bool open = abbrev->has_children;
	if (kind == UX_KIND_INLINE)
		UX_TRY(die_walk_inline(w, &die, abbrev->has_children));
	else
		UX_TRY(die_walk_function(w, &die, abbrev->has_children, &open));
	uint64_t sibling = 0;
	if (abbrev->has_children && !open &&
	    !(ux_dwarf_die_ref(w->ctx, &die, UX_SLOT_SIBLING, &sibling) &&
	      ux_dwarf_cur_jump(&c, sibling)))
		(void)ux_dwarf_skip_children(w->ctx, &c);
	*cur = c;
	return UX_OK;
}

/* Skips or opens a DIE that is not code; c is after its abbreviation code. */
static enum ux_code die_walk_other(struct die_walk *w, struct ux_cur *cur, uint64_t off,
				   const struct ux_dwarf_abbrev *abbrev, enum ux_dwarf_kind kind)
{
	struct ux_cur c = *cur;
	uint64_t sibling = 0;
	bool known = ux_dwarf_step_over(w->ctx, &c, abbrev, &sibling);
	if (kind == UX_KIND_FUNCTION && w->depth == 1 && !ux_dwarf_names_outermost(w->names, off))
		return ux_error_nomem(w->err);
	if (abbrev->has_children) {
		if (kind == UX_KIND_FUNCTION)
			die_scopes_open(w, NO_FUNCTION, 0);
		else if (kind != UX_KIND_LEAF)
			w->depth++;
		else if (!known || !ux_dwarf_cur_jump(&c, sibling))
			(void)ux_dwarf_skip_children(w->ctx, &c);
	}
	*cur = c;
	return UX_OK;
}

/* Reads any DIE, without the help of its step. */
static enum ux_code die_walk_one(struct die_walk *w, struct ux_cur *c)
{
	uint64_t off = (uint64_t)(c->pos - c->start);
	uint64_t code = ux_cur_uleb(c);
	if (code == 0) {
		w->depth--;
		return UX_OK;
	}
	const struct ux_dwarf_abbrev *abbrev = ux_dwarf_abbrevs_find(&w->ctx->abbrevs, code);
	if (ux_unlikely(!abbrev)) {
		ux_cur_bad(c, "abbreviation code is not in its table");
		return UX_OK;
	}
	enum ux_dwarf_kind kind = die_walk_kind(w, abbrev);
	if (kind == UX_KIND_INLINE || (kind == UX_KIND_FUNCTION && abbrev->has_pc))
		return die_walk_code(w, c, off, abbrev, kind);
	return die_walk_other(w, c, off, abbrev, kind);
}

/*
 * Reads the DIE at `die` by its step. This handles the DIEs that stop most strides: inlined calls,
 * declarations, and DIEs without DW_AT_sibling whose children are skipped. *ret is the position
 * after it, or NULL when it must be read in another way.
 */
ux_inline enum ux_code die_walk_by_step(struct die_walk *w, const struct ux_cur *c,
					const uint8_t **ret)
{
	const uint8_t *die = c->pos;
	const struct ux_dwarf_step *step = ux_dwarf_stride_step(&w->strider, die);
	*ret = NULL;
	if (!step || (step->flags & (UX_STEP_LOOSE | UX_STEP_CODE)) != 0)
		return UX_OK;
	const uint8_t *next = ux_dwarf_stride_pass(step, die);
	if (!next)
		return UX_OK;
	if ((step->flags & w->stop & UX_STEP_CALL) != 0) {
		UX_TRY(die_walk_call(w, *c, step));
	} else if ((step->flags & w->stop & UX_STEP_DECLARES) != 0) {
		if (w->depth == 1 &&
		    !ux_dwarf_names_outermost(w->names, (uint64_t)(die - w->start)))
			return ux_error_nomem(w->err);
		if (step->depth > 0)
			die_scopes_open(w, NO_FUNCTION, 0);
	} else if ((step->flags & (UX_STEP_DEEP | UX_STEP_CLASS)) == UX_STEP_DEEP) {
		uint32_t depth = 1;
		uint64_t passed = 0;
		next = ux_dwarf_stride(&w->strider, next, UX_STEP_LOOSE, UX_STEP_SIBLING, 1, &depth,
				       &passed);
		if (depth > 0)
			return UX_OK;
	} else {
		return UX_OK;
	}
	*ret = next;
	return UX_OK;
}

enum {
	WARM_BYTES = 1 << 19, /* half of a common size of a second-level cache */
	WARM_PAGE = 1 << 12,
	CACHE_LINE = 64,
};

/*
 * Prefetches the next part ahead of the walk, and returns where it ends: otherwise each jump of the
 * walk to a sibling would wait for memory. One byte of each page is read, since a page that is not
 * mapped yet is not prefetched.
 */
static const uint8_t *die_walk_warm(const struct ux_cur *c)
{
	const volatile uint8_t *p = c->pos;
	size_t n = ux_min(ux_cur_left(c), (size_t)WARM_BYTES);
	for (size_t i = 0; i < n; i += CACHE_LINE) {
		if (i % WARM_PAGE == 0)
			(void)p[i];
		__builtin_prefetch((const uint8_t *)c->pos + i, 0, 2);
	}
	return c->pos + n;
}

static enum ux_code die_walk_unit(struct die_walk *w)
{
	struct ux_cur c = ux_dwarf_unit_cur(w->ctx, w->ctx->first_child);
	const uint8_t *warm = c.pos;
	w->strider = ux_dwarf_strider_of(w->ctx, &c);
	w->start = c.start;
	w->depth = 1;
	die_walk_set_stops(w);
	die_scopes_changed(w);
	while (ux_cur_more(&c)) {
		uint64_t passed = 0;
		uint32_t depth = w->depth;
		const uint8_t *next = NULL;
		if (c.pos >= warm)
			warm = die_walk_warm(&c);
		c.pos = ux_dwarf_stride(&w->strider, c.pos, w->stop, UX_STEP_USELESS, w->floor,
					&depth, &passed);
		w->depth = depth;
		if (w->depth < w->floor) {
			if (w->depth == 0)
				break;
			die_scopes_close(w);
			continue;
		}
		if (c.pos < w->strider.limit)
			UX_TRY(die_walk_by_step(w, &c, &next));
		if (next)
			c.pos = next;
		else if (ux_cur_more(&c))
			UX_TRY(die_walk_one(w, &c));
	}
	return ux_cur_status(&c, w->err);
}

/* Makes each function's inlined calls contiguous when functions were nested. */
static enum ux_code functions_gather_inlines(struct ux_dwarf_code *code, struct ux_error *err)
{
	size_t n = code->inlines.size;
	ux_cleanup(ux_free_ptr) struct ux_code_inline *sorted = malloc((n + 1) * sizeof(*sorted));
	if (!sorted)
		return ux_error_nomem(err);
	struct ux_code_function *f = code->functions.data;
	for (size_t i = 0; i < code->functions.size; i++)
		f[i].inline_count = 0;
	for (size_t i = 0; i < n; i++)
		f[code->owners.data[i]].inline_count++;
	uint32_t first = 0;
	for (size_t i = 0; i < code->functions.size; i++) {
		f[i].inline_first = first;
		first += f[i].inline_count;
		f[i].inline_count = 0;
	}
	for (size_t i = 0; i < n; i++) {
		struct ux_code_function *owner = &f[code->owners.data[i]];
		sorted[owner->inline_first + owner->inline_count++] = code->inlines.data[i];
	}
	if (n > 0)
		memcpy(code->inlines.data, sorted, n * sizeof(*sorted));
	for (size_t i = 0; i < code->functions.size; i++)
		for (uint32_t k = 0; k < f[i].inline_count; k++)
			code->owners.data[f[i].inline_first + k] = (uint32_t)i;
	return UX_OK;
}

/* Without nesting a function's inlined calls end where the next function's begin. */
static void functions_count_inlines(struct ux_dwarf_code *code)
{
	size_t end = code->inlines.size;
	for (size_t i = code->functions.size; i-- > 0;) {
		struct ux_code_function *f = &code->functions.data[i];
		f->inline_count = (uint32_t)(end - f->inline_first);
		end = f->inline_first;
	}
}

enum ux_code ux_dwarf_code_read(const struct ux_dwarf_context *ctx, const struct ux_range_set *text,
				struct ux_dwarf_names *names, struct ux_dwarf_code *code,
				struct ux_error *err)
{
	code->functions.size = code->inlines.size = code->owners.size = code->ranges.size = 0;
	code->places.size = 0;
	code->bad_ranges = 0;
	code->bytes = ctx->unit->end - ctx->unit->off;
	ux_dwarf_names_begin(names, ctx);
	if (!ctx->has_children)
		return UX_OK;
	struct die_walk w;
	w.ctx = ctx;
	ux_dwarf_range_reader_init(&w.ranges, ctx, text, &code->ranges);
	w.names = names;
	w.code = code;
	w.err = err;
	w.n_scopes = 0;
	w.n_late = 0;
	w.nesting = nesting_of(ctx);
	w.interleaved = false;
	enum ux_code result = die_walk_unit(&w);
	UX_TRY(die_number_late(&w));
	UX_TRY(ux_dwarf_names_end(names, err));
	if (w.interleaved)
		UX_TRY(functions_gather_inlines(code, err));
	else
		functions_count_inlines(code);
	return result;
}
