/* SPDX-License-Identifier: Apache-2.0 */
/* Names of what Swift derives from differentiable functions. */
#include "swift_tree.h"

/* A set of parameters or results: U for one that is not in it, S for one that is. */
static uint16_t indices(struct swift *p)
{
	const char *from = p->pos;
	while (swift_peek(p) == 'S' || swift_peek(p) == 'U')
		p->pos++;
	return p->pos > from ? swift_text(p, SWIFT_AUTODIFF_INDICES, from, (size_t)(p->pos - from))
			     : 0;
}

static uint16_t kind_of_function(struct swift *p, const char *kinds)
{
	char c = swift_next(p);
	return c && strchr(kinds, c) ? swift_number(p, SWIFT_AUTODIFF_KIND, (unsigned char)c) : 0;
}

/* Parts in front of it on the stack, then kind, parameters, results. */
static uint16_t function(struct swift *p, enum swift_kind kind, const char *kinds)
{
	uint16_t kids[SWIFT_LIST_MOST];
	uint16_t signature = swift_pop(p, SWIFT_SIGNATURE);
	size_t n = p->n_stack - p->first_stack;
	if (n == 0 || n > SWIFT_LIST_MOST - 4)
		return 0;
	memcpy(kids, p->stack + p->first_stack, n * sizeof(*kids));
	p->n_stack = p->first_stack;
	if (signature)
		kids[n++] = signature;
	kids[n++] = kind_of_function(p, kinds);
	kids[n++] = indices(p);
	kids[n++] = swift_take(p, 'p') ? indices(p) : 0;
	return swift_take(p, 'r') ? swift_make(p, kind, n, kids) : 0;
}

static uint16_t reorder(struct swift *p)
{
	uint16_t signature = swift_pop(p, SWIFT_SIGNATURE);
	uint16_t to = swift_pop_type(p);
	uint16_t from = swift_pop_type(p);
	uint16_t kind = kind_of_function(p, "frdp");
	if (!to || !from || !kind)
		return 0;
	return SWIFT_MAKE_SOME(p, SWIFT_AUTODIFF_REORDER, kind, signature, from, to);
}

static uint16_t subset(struct swift *p)
{
	uint16_t kids[SWIFT_LIST_MOST];
	size_t n = p->n_stack - p->first_stack;
	if (n == 0 || n > SWIFT_LIST_MOST - 4)
		return 0;
	memcpy(kids, p->stack + p->first_stack, n * sizeof(*kids));
	p->n_stack = p->first_stack;
	kids[n++] = kind_of_function(p, "frdp");
	kids[n++] = indices(p);
	kids[n++] = swift_take(p, 'p') ? indices(p) : 0;
	kids[n++] = swift_take(p, 'r') ? indices(p) : 0;
	return swift_take(p, 'P') ? swift_make(p, SWIFT_AUTODIFF_SUBSET, n, kids) : 0;
}

uint16_t swift_autodiff(struct swift *p)
{
	if (swift_take(p, 'V'))
		return function(p, SWIFT_AUTODIFF_VTABLE, "frdp");
	if (swift_take(p, 'O'))
		return reorder(p);
	if (swift_take(p, 'S'))
		return subset(p);
	return function(p, SWIFT_AUTODIFF_FUNCTION, "frdp");
}

uint16_t swift_autodiff_witness(struct swift *p)
{
	return function(p, SWIFT_AUTODIFF_WITNESS, "frdl");
}
