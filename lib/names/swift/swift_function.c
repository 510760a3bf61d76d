/* SPDX-License-Identifier: Apache-2.0 */
/* Types of Swift's functions, in the language and in its intermediate language. */
#include "swift_tree.h"

uint16_t swift_c_type(struct swift *p)
{
	uint32_t n = 0;
	if (!swift_natural(p, &n) || n == 0 || n > (size_t)(p->end - p->pos))
		return 0;
	p->pos += n;
	return swift_text(p, SWIFT_C_TYPE, p->pos - n, n);
}

/* A type of parameters or of a result: the empty list is (). */
static uint16_t operand(struct swift *p, enum swift_kind kind)
{
	uint16_t type =
		swift_pop(p, SWIFT_EMPTY_LIST) ? swift_leaf(p, SWIFT_TUPLE) : swift_pop_type(p);
	return SWIFT_MAKE(p, kind, type);
}

static uint16_t isolation(struct swift *p)
{
	uint16_t node = swift_pop(p, SWIFT_GLOBAL_ACTOR);
	if (!node)
		node = swift_pop(p, SWIFT_ISOLATED_ANY);
	return node ? node : swift_pop(p, SWIFT_NONISOLATED_CALLER);
}

uint16_t swift_function_type(struct swift *p, enum swift_kind kind, bool c_type)
{
	uint16_t c = c_type ? swift_c_type(p) : 0;
	if (c_type && !c)
		return 0;
	uint16_t sending = swift_pop(p, SWIFT_SENDING_RESULT);
	uint16_t isolated = isolation(p);
	uint16_t differentiable = swift_pop(p, SWIFT_DIFFERENTIABLE);
	uint16_t throws = swift_pop(p, SWIFT_THROWS);
	if (!throws)
		throws = swift_pop(p, SWIFT_TYPED_THROWS);
	uint16_t sendable = swift_pop(p, SWIFT_SENDABLE);
	uint16_t async = swift_pop(p, SWIFT_ASYNC);
	uint16_t parameters = operand(p, SWIFT_ARGUMENT);
	uint16_t result = parameters ? operand(p, SWIFT_RESULT) : 0;
	return result ? SWIFT_MAKE_SOME(p, kind, c, sending, isolated, differentiable, throws,
					sendable, async, parameters, result)
		      : 0;
}

/* Takes the label of a tuple's element out of it, as Swift 4.0 had them in types. */
static uint16_t take_label(struct swift *p, uint16_t element)
{
	const struct swift_node *n = &p->nodes[element];
	if (n->kind != SWIFT_TUPLE_ELEMENT)
		return swift_leaf(p, SWIFT_FIRST_ELEMENT);
	for (unsigned i = 0; i < n->n; i++) {
		uint16_t kid = p->kids[n->at + i];
		if (swift_kind_of(p, kid) != SWIFT_IDENTIFIER)
			continue;
		memmove(&p->kids[n->at + i], &p->kids[n->at + i + 1],
			(n->n - i - 1) * sizeof(*p->kids));
		p->nodes[element].n--;
		return kid;
	}
	return swift_leaf(p, SWIFT_FIRST_ELEMENT);
}

/* How many parameters a function of that type has; *ret_tuple is the tuple of them or 0. */
static unsigned parameters_of(const struct swift *p, uint16_t type, uint16_t *ret_tuple)
{
	*ret_tuple = 0;
	if (swift_kind_of(p, type) == SWIFT_GENERIC)
		type = swift_kid(p, type, 1);
	if (swift_kind_of(p, type) != SWIFT_FUNCTION_TYPE &&
	    swift_kind_of(p, type) != SWIFT_NOESCAPE_TYPE)
		return 0;
	uint16_t parameters = swift_kid(p, swift_find(p, type, SWIFT_ARGUMENT), 0);
	if (swift_kind_of(p, parameters) != SWIFT_TUPLE)
		return 1;
	*ret_tuple = parameters;
	return p->nodes[parameters].n;
}

uint16_t swift_labels(struct swift *p, uint16_t type)
{
	uint16_t labels[SWIFT_LIST_MOST];
	uint16_t tuple = 0;
	if (!p->old && swift_pop(p, SWIFT_EMPTY_LIST))
		return swift_leaf(p, SWIFT_LABELS);
	unsigned n = type ? parameters_of(p, type, &tuple) : 0;
	bool any = false;
	if (n == 0 || n > SWIFT_LIST_MOST)
		return 0;
	for (unsigned i = 0; i < n; i++) {
		unsigned at = p->old ? i : n - 1 - i;
		labels[at] = !p->old ? swift_pop_any(p)
			     : tuple ? take_label(p, swift_kid(p, tuple, i))
				     : swift_leaf(p, SWIFT_FIRST_ELEMENT);
		enum swift_kind kind = labels[at] ? swift_kind_of(p, labels[at]) : SWIFT_NONE;
		if (kind != SWIFT_IDENTIFIER && kind != SWIFT_FIRST_ELEMENT)
			return 0;
		any = any || kind == SWIFT_IDENTIFIER;
	}
	return any ? swift_make(p, SWIFT_LABELS, n, labels) : swift_leaf(p, SWIFT_LABELS);
}

static uint16_t text_node(struct swift *p, enum swift_kind kind, const char *text)
{
	return swift_text(p, kind, text, strlen(text));
}

/* A letter and what it stands for. */
struct letter {
	char letter;
	const char *text;
};

/* The text of the letter at the place of reading, which is then passed; NULL: it has none. */
static const char *take_letter(struct swift *p, const struct letter *letters)
{
	char c = swift_peek(p);
	for (; letters->letter && c; letters++) {
		if (letters->letter != c)
			continue;
		p->pos++;
		return letters->text;
	}
	return NULL;
}

/* The parts of an intermediate function type, in the order that they have as text. */
struct impl {
	uint16_t kids[SWIFT_LIST_MOST];
	size_t n;
	bool failed;
};

static void impl_add(struct impl *f, uint16_t node)
{
	if (node == 0 || f->n == SWIFT_LIST_MOST)
		f->failed = true;
	else
		f->kids[f->n++] = node;
}

static void impl_attribute(struct swift *p, struct impl *f, const char *text)
{
	impl_add(f, text_node(p, SWIFT_IMPL_ATTRIBUTE, text));
}

static void impl_callee(struct swift *p, struct impl *f)
{
	static const struct letter callees[] = {{'y', "@callee_unowned"},
						{'g', "@callee_guaranteed"},
						{'x', "@callee_owned"},
						{'t', "@convention(thin)"},
						{0, NULL}};
	static const struct letter conventions[] = {{'B', "block"},          {'C', "c"},
						    {'M', "method"},         {'J', "objc_method"},
						    {'K', "closure"},        {'V', "com_method"},
						    {'W', "witness_method"}, {0, NULL}};
	const char *callee = take_letter(p, callees);
	if (!callee) {
		f->failed = true;
		return;
	}
	impl_attribute(p, f, callee);
	uint16_t c_type = 0;
	const char *convention = NULL;
	if (swift_take(p, 'z')) {
		convention = swift_peek(p) == 'B' || swift_peek(p) == 'C'
				     ? take_letter(p, conventions)
				     : NULL;
		c_type = convention ? swift_c_type(p) : 0;
		f->failed = f->failed || !c_type;
	} else {
		convention = take_letter(p, conventions);
	}
	if (!convention)
		return;
	uint16_t text = text_node(p, SWIFT_IDENTIFIER, convention);
	impl_add(f, text ? SWIFT_MAKE_SOME(p, SWIFT_IMPL_CONVENTION, text, c_type) : 0);
}

static void impl_attributes(struct swift *p, struct impl *f)
{
	static const struct letter coroutines[] = {
		{'A', "yield_once"}, {'I', "yield_once_2"}, {'G', "yield_many"}, {0, NULL}};
	if (swift_take(p, 'e'))
		impl_attribute(p, f, "@escaping");
	if (swift_take(p, 'A'))
		impl_attribute(p, f, "@isolated(any)");
	else if (swift_take(p, 'N'))
		impl_attribute(p, f, "nonisolated(nonsending)");
	if (swift_take(p, 'O'))
		impl_attribute(p, f, "@called(atMostOnce)");
	char c = swift_peek(p);
	if (c && strchr("dlfr", c)) {
		p->pos++;
		impl_attribute(p, f,
			       c == 'd'   ? "@differentiable"
			       : c == 'l' ? "@differentiable(_linear)"
			       : c == 'f' ? "@differentiable(_forward)"
					  : "@differentiable(reverse)");
	}
	impl_callee(p, f);
	const char *coroutine = take_letter(p, coroutines);
	if (coroutine)
		impl_add(f, text_node(p, SWIFT_IMPL_COROUTINE, coroutine));
	if (swift_take(p, 'h'))
		impl_attribute(p, f, "@Sendable");
	if (swift_take(p, 'H'))
		impl_attribute(p, f, "@async");
}

static const struct letter parameter_letters[] = {
	{'i', "@in"},
	{'c', "@in_constant"},
	{'l', "@inout"},
	{'b', "@inout_aliasable"},
	{'n', "@in_guaranteed"},
	{'X', "@in_cxx"},
	{'x', "@owned"},
	{'g', "@guaranteed"},
	{'e', "@deallocating"},
	{'y', "@unowned"},
	{'v', "@pack_owned"},
	{'p', "@pack_guaranteed"},
	{'m', "@pack_inout"},
	{0, NULL},
};

static const struct letter result_letters[] = {
	{'r', "@out"},
	{'o', "@owned"},
	{'d', "@unowned"},
	{'u', "@unowned_inner_pointer"},
	{'a', "@autoreleased"},
	{'k', "@pack_out"},
	{'l', "@guaranteed_address"},
	{'g', "@guaranteed"},
	{'m', "@inout"},
	{0, NULL},
};

/* One parameter or result without its type. */
static void impl_operand(struct swift *p, struct impl *f, enum swift_kind kind, const char *text)
{
	uint16_t kids[6] = {text_node(p, SWIFT_IMPL_ATTRIBUTE, text)};
	size_t n = 1;
	bool parameter = kind == SWIFT_IMPL_PARAMETER;
	if ((parameter || kind == SWIFT_IMPL_RESULT) && swift_take(p, 'w'))
		kids[n++] = text_node(p, SWIFT_IMPL_ATTRIBUTE, "@noDerivative");
	if (parameter && swift_take(p, 'T'))
		kids[n++] = text_node(p, SWIFT_IMPL_ATTRIBUTE, "sending");
	if (parameter && swift_take(p, 'I'))
		kids[n++] = text_node(p, SWIFT_IMPL_ATTRIBUTE, "isolated");
	if (parameter && swift_take(p, 'L'))
		kids[n++] = text_node(p, SWIFT_IMPL_ATTRIBUTE, "sil_implicit_leading_param");
	/* One place is left for the type. */
	uint16_t node = swift_make(p, kind, n, kids);
	if (node && p->n_kids < SWIFT_KIDS_MOST) {
		p->kids[p->n_kids++] = 0;
		p->nodes[node].n++;
	} else {
		node = 0;
	}
	impl_add(f, node);
}

/* Types, the last operand's first. */
static void impl_types(struct swift *p, struct impl *f, size_t from)
{
	for (size_t i = f->n; i-- > from && !f->failed;) {
		const struct swift_node *n = &p->nodes[f->kids[i]];
		if (n->kind != SWIFT_IMPL_PARAMETER && n->kind != SWIFT_IMPL_RESULT &&
		    n->kind != SWIFT_IMPL_YIELD && n->kind != SWIFT_IMPL_ERROR)
			continue;
		uint16_t type = swift_pop_type(p);
		f->failed = type == 0;
		p->kids[n->at + n->n - 1] = type;
	}
}

static void impl_operands(struct swift *p, struct impl *f)
{
	const char *text = NULL;
	bool sending = swift_take(p, 'T');
	while (!f->failed && (text = take_letter(p, parameter_letters)))
		impl_operand(p, f, SWIFT_IMPL_PARAMETER, text);
	if (sending)
		impl_add(f, swift_leaf(p, SWIFT_SENDING_RESULT));
	while (!f->failed && (text = take_letter(p, result_letters)))
		impl_operand(p, f, SWIFT_IMPL_RESULT, text);
	while (!f->failed && swift_take(p, 'Y')) {
		text = take_letter(p, parameter_letters);
		f->failed = !text;
		if (text)
			impl_operand(p, f, SWIFT_IMPL_YIELD, text);
	}
	if (!f->failed && swift_take(p, 'z')) {
		text = take_letter(p, result_letters);
		f->failed = !text;
		if (text)
			impl_operand(p, f, SWIFT_IMPL_ERROR, text);
	}
}

/* What stands for the parameters of a signature: 'y' TYPE*. */
static uint16_t impl_substitutions(struct swift *p, enum swift_kind kind, bool invocation)
{
	swift_drop_retroactive(p);
	unsigned from = p->n_stack;
	while (from > p->first_stack && swift_is(p, p->stack[from - 1], SWIFT_IS_TYPE))
		from--;
	uint16_t types = swift_make(p, SWIFT_TYPE_LIST, p->n_stack - from, p->stack + from);
	p->n_stack = from;
	if (!types || !swift_pop(p, SWIFT_EMPTY_LIST))
		return 0;
	if (invocation)
		return SWIFT_MAKE(p, kind, types);
	return SWIFT_MAKE(p, kind, swift_pop(p, SWIFT_SIGNATURE), types);
}

uint16_t swift_impl_function(struct swift *p)
{
	struct impl f = {.n = 0};
	uint16_t pattern = 0, invocation = 0;
	if (swift_take(p, 's')) {
		pattern = impl_substitutions(p, SWIFT_IMPL_PATTERN, /* invocation= */ false);
		f.failed = !pattern;
	}
	if (!f.failed && swift_take(p, 'I')) {
		invocation = impl_substitutions(p, SWIFT_IMPL_INVOCATION, /* invocation= */ true);
		f.failed = !invocation;
	}
	uint16_t signature = swift_pop(p, SWIFT_SIGNATURE);
	swift_take(p, 'P'); /* pseudo-generic */
	impl_attributes(p, &f);
	if (signature)
		impl_add(&f, signature);
	size_t from = f.n;
	impl_operands(p, &f);
	f.failed = f.failed || !swift_take(p, '_');
	impl_types(p, &f, from);
	if (pattern)
		impl_add(&f, pattern);
	if (invocation)
		impl_add(&f, invocation);
	return f.failed ? 0 : swift_make(p, SWIFT_IMPL_FUNCTION, f.n, f.kids);
}
