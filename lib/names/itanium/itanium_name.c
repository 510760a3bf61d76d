/* SPDX-License-Identifier: Apache-2.0 */
/* Productions of names and encodings. */
#include "itanium_tree.h"

uint16_t itanium_source_name(struct itanium *p)
{
	uint16_t size = 0;
	if (!itanium_number(p, &size) || size == 0 || p->end - p->pos < size)
		return 0;
	const char *name = p->pos;
	p->pos += size;
	if (size > 9 && memcmp(name, "_GLOBAL_", 8) == 0 && strchr("._$", name[8]) &&
	    name[9 < size ? 9 : 8] == 'N')
		return itanium_node(p, ITANIUM_ANONYMOUS, 0, 0, 0);
	return itanium_node(p, ITANIUM_NAME, (uint16_t)(name - p->start), size, 0);
}

/* Returns the name of the class for its constructors and destructors. */
static uint16_t itanium_class_name(struct itanium *p, uint16_t node)
{
	for (;;) {
		const struct itanium_node *n = &p->nodes[node];
		switch (n->kind) {
		case ITANIUM_QUALIFIED:
		case ITANIUM_LOCAL:
			node = n->b;
			continue;
		case ITANIUM_TEMPLATE:
		case ITANIUM_TAGGED:
		case ITANIUM_FRIEND:
		case ITANIUM_IN_MODULE:
			node = n->a;
			continue;
		case ITANIUM_TEXT:
			if (n->a >= ITANIUM_T_LONG_STRING && n->a <= ITANIUM_T_LONG_IOSTREAM) {
				static const uint16_t shorts[] = {
					ITANIUM_T_BASIC_STRING, ITANIUM_T_BASIC_ISTREAM,
					ITANIUM_T_BASIC_OSTREAM, ITANIUM_T_BASIC_IOSTREAM};
				return itanium_text_node(
					p, (enum itanium_text)shorts[n->a - ITANIUM_T_LONG_STRING]);
			}
			return node;
		default:
			return node;
		}
	}
}

/* C1, D2, CI1A, ... of the class `scope`. */
static uint16_t itanium_ctor_dtor_name(struct itanium *p, uint16_t scope)
{
	bool is_ctor = *p->pos++ == 'C';
	bool inherits = is_ctor && itanium_eat(p, 'I');
	char variant = itanium_peek(p);
	if (!scope || !strchr(is_ctor ? "12345" : "01245", variant) || variant == '\0')
		return 0;
	p->pos++;
	if (inherits && !itanium_type(p))
		return 0;
	return itanium_over(p, is_ctor ? ITANIUM_CTOR : ITANIUM_DTOR, itanium_class_name(p, scope));
}

static uint16_t itanium_lambda(struct itanium *p)
{
	bool outer = p->in_lambda, ok = false;
	unsigned n_heads = p->n_heads;
	uint16_t number = 0, heads = 0, parameters = 0, constraint = 0;
	p->in_lambda = true;
	p->n_heads = 0;
	if (itanium_heads(p, &heads) && itanium_constraint(p, &constraint))
		parameters = itanium_types_until(p, &ok);
	ok = ok && itanium_constraint(p, &constraint);
	p->in_lambda = outer;
	p->n_heads = n_heads;
	if (!ok || !itanium_eat(p, 'E') || !itanium_sequence(p, 10, &number))
		return 0;
	return itanium_node(p, ITANIUM_LAMBDA, parameters, number, heads);
}

static uint16_t itanium_unnamed_name(struct itanium *p)
{
	uint16_t number = 0;
	if (itanium_eat2(p, "Ul"))
		return itanium_lambda(p);
	bool block = itanium_eat2(p, "Ub");
	if ((!block && !itanium_eat2(p, "Ut")) || !itanium_sequence(p, 10, &number))
		return 0;
	return itanium_node(p, block ? ITANIUM_BLOCK : ITANIUM_UNNAMED, 0, number, 0);
}

static uint16_t itanium_binding(struct itanium *p)
{
	struct itanium_list names = {0};
	while (!itanium_eat(p, 'E'))
		if (!itanium_append(p, &names, itanium_source_name(p)))
			return 0;
	return itanium_over(p, ITANIUM_BINDING, names.first);
}

static uint16_t itanium_conversion(struct itanium *p)
{
	bool outer = p->in_conversion;
	p->in_conversion = true;
	uint16_t type = itanium_type(p);
	p->in_conversion = outer;
	return itanium_over(p, ITANIUM_CONVERSION, type);
}

uint16_t itanium_operator_name(struct itanium *p)
{
	if (itanium_peek(p) == 'v' &&
	    ux_is_digit(itanium_peek2(p))) { /* a vendor's operator: v and the number of operands */
		p->pos += 2;
		return itanium_over(p, ITANIUM_VENDOR_OP, itanium_source_name(p));
	}
	if (itanium_eat2(p, "cv"))
		return itanium_conversion(p);
	if (itanium_eat2(p, "li"))
		return itanium_over(p, ITANIUM_LITERAL_OP, itanium_source_name(p));
	int number = itanium_operator_read(p);
	return number < 0 ? 0 : itanium_node(p, ITANIUM_OPERATOR, (uint16_t)number, 0, 0);
}

static uint16_t itanium_untagged_name(struct itanium *p, uint16_t scope)
{
	char c = itanium_peek(p);
	if (ux_is_digit(c))
		return itanium_source_name(p);
	if (c == 'U')
		return itanium_unnamed_name(p);
	if (itanium_eat2(p, "DC"))
		return itanium_binding(p);
	if (c == 'C' || c == 'D')
		return itanium_ctor_dtor_name(p, scope);
	return c >= 'a' && c <= 'z' ? itanium_operator_name(p) : 0;
}

/*
 * Reads names of modules: W and a name, or WP and the name of a partition. p->module becomes the
 * last.
 */
static bool itanium_module(struct itanium *p)
{
	while (itanium_eat(p, 'W')) {
		bool partition = itanium_eat(p, 'P');
		uint16_t name = itanium_source_name(p);
		if (!name)
			return false;
		p->module = itanium_add_substitution(
			p, itanium_node(p, ITANIUM_MODULE, p->module, name, partition));
		if (!p->module)
			return false;
	}
	return true;
}

uint16_t itanium_unqualified_name(struct itanium *p, uint16_t scope)
{
	if (!itanium_module(p))
		return 0;
	uint16_t module = p->module;
	p->module = 0;
	bool is_friend = scope && itanium_eat(p, 'F');
	(void)itanium_eat(p, 'L'); /* internal linkage: no text */
	uint16_t name = itanium_untagged_name(p, scope);
	if (name && module)
		name = itanium_node(p, ITANIUM_IN_MODULE, name, module, 0);
	while (name && itanium_eat(p, 'B')) {
		uint16_t tag = itanium_source_name(p);
		name = tag ? itanium_node(p, ITANIUM_TAGGED, name, tag, 0) : 0;
	}
	return is_friend ? itanium_over(p, ITANIUM_FRIEND, name) : name;
}

static uint16_t itanium_std_name(struct itanium *p)
{
	p->pos += 2;
	uint16_t name = itanium_unqualified_name(p, 0);
	uint16_t std = itanium_text_node(p, ITANIUM_T_STD);
	return name && std ? itanium_node(p, ITANIUM_QUALIFIED, std, name, 0) : 0;
}

/*
 * Reads the next part of a nested name in `scope`; the result is the scope of the following part.
 */
static uint16_t itanium_nested_part(struct itanium *p, uint16_t scope, bool naming)
{
	char c = itanium_peek(p), d = itanium_peek2(p);
	if (c == 'I')
		return scope ? itanium_template_args(p, scope, naming) : 0;
	if (c == 'T')
		return scope ? 0 : itanium_template_param(p);
	if (c == 'D' && (d == 't' || d == 'T'))
		return scope ? 0 : itanium_decltype(p);
	if (c == 'S' && d == 't')
		return scope ? 0 : itanium_std_name(p);
	uint16_t name = itanium_unqualified_name(p, scope);
	return name && scope ? itanium_node(p, ITANIUM_QUALIFIED, scope, name, 0) : name;
}

static uint16_t itanium_nested_name(struct itanium *p, bool naming)
{
	p->pos++;
	uint8_t flags = itanium_qualifiers(p);
	if (itanium_eat(p, 'R'))
		flags |= ITANIUM_FOR_LREF;
	else if (itanium_eat(p, 'O'))
		flags |= ITANIUM_FOR_RREF;
	else if (itanium_eat(p, 'H'))
		flags |= ITANIUM_FOR_OBJECT;
	uint16_t scope = 0;
	while (!itanium_eat(p, 'E')) {
		if (itanium_peek(p) == 'S' && itanium_peek2(p) != 't') {
			uint16_t node = itanium_substitution(p, /* in_prefix= */ true);
			bool is_module = p->nodes[node].kind == ITANIUM_MODULE;
			if (!node || (scope && !is_module))
				return 0;
			if (is_module)
				p->module = node;
			else
				scope = node;
			continue;
		}
		if (scope && itanium_eat(p, 'M')) /* a member's initializer: no text */
			continue;
		scope = itanium_nested_part(p, scope, naming);
		if (scope && itanium_peek(p) != 'E')
			scope = itanium_add_substitution(p, scope);
		if (!scope)
			return 0;
	}
	p->flags = flags;
	return scope;
}

/* "_3", "__12_": numbers entities of the same name; no text. */
static void itanium_discriminator(struct itanium *p)
{
	uint16_t number = 0;
	if (itanium_eat2(p, "__")) {
		if (itanium_number(p, &number))
			(void)itanium_eat(p, '_');
	} else if (itanium_peek(p) == '_' && ux_is_digit(itanium_peek2(p))) {
		p->pos += 2;
	}
}

static uint16_t itanium_local_name(struct itanium *p, bool naming)
{
	uint16_t number = 0, entity = 0;
	p->pos++;
	uint16_t function = itanium_encoding(p);
	if (!function || !itanium_eat(p, 'E'))
		return 0;
	p->flags = 0;
	if (itanium_eat(p, 's')) {
		entity = itanium_text_node(p, ITANIUM_T_STRING_LITERAL);
		itanium_discriminator(p);
	} else if (itanium_eat(p, 'd')) {
		if (!itanium_sequence(p, 10, &number))
			return 0;
		number++;
		entity = itanium_name(p, naming);
	} else {
		entity = itanium_name(p, naming);
		itanium_discriminator(p);
	}
	return entity ? itanium_node(p, ITANIUM_LOCAL, function, entity, number) : 0;
}

/* Reads a name outside of N...E that may have template arguments. */
static uint16_t itanium_unscoped_name(struct itanium *p, bool naming)
{
	char c = itanium_peek(p), d = itanium_peek2(p);
	uint16_t name = 0;
	if (c == 'S' && d != 't') {
		name = itanium_substitution(p, /* in_prefix= */ false);
		if (p->nodes[name].kind == ITANIUM_MODULE) {
			p->module = name;
			name = itanium_unqualified_name(p, 0);
			if (name && itanium_peek(p) == 'I')
				name = itanium_add_substitution(p, name);
		} else if (!name || itanium_peek(p) != 'I') {
			return 0;
		}
	} else {
		name = c == 'S' ? itanium_std_name(p) : itanium_unqualified_name(p, 0);
		if (name && itanium_peek(p) == 'I')
			name = itanium_add_substitution(p, name);
	}
	if (name && itanium_peek(p) == 'I')
		name = itanium_template_args(p, name, naming);
	p->flags = 0;
	return name;
}

/* naming: from here on T_ refers to the template arguments in this name. */
uint16_t itanium_name(struct itanium *p, bool naming)
{
	if (!itanium_enter(p))
		return itanium_leave(p, 0);
	switch (itanium_peek(p)) {
	case 'N':
		return itanium_leave(p, itanium_nested_name(p, naming));
	case 'Z':
		return itanium_leave(p, itanium_local_name(p, naming));
	default:
		return itanium_leave(p, itanium_unscoped_name(p, naming));
	}
}

/* "h4_", "v8_n16_": how a thunk adjusts `this`; no text. */
static bool itanium_call_offset(struct itanium *p)
{
	bool is_virtual = itanium_peek(p) == 'v';
	if (!is_virtual && itanium_peek(p) != 'h')
		return false;
	p->pos++;
	for (int i = 0; i <= is_virtual; i++) {
		(void)itanium_eat(p, 'n');
		while (ux_is_digit(itanium_peek(p)))
			p->pos++;
		if (!itanium_eat(p, '_'))
			return false;
	}
	return true;
}

static uint16_t itanium_special(struct itanium *p, enum itanium_text text, uint16_t of)
{
	return of ? itanium_node(p, ITANIUM_SPECIAL, (uint16_t)text, of, 0) : 0;
}

static uint16_t itanium_construction_vtable(struct itanium *p)
{
	uint16_t derived = itanium_type(p);
	while (derived && ux_is_digit(itanium_peek(p)))
		p->pos++;
	uint16_t base = derived && itanium_eat(p, '_') ? itanium_type(p) : 0;
	return itanium_special(p, ITANIUM_T_CONSTRUCTION,
			       base ? itanium_node(p, ITANIUM_IN, base, derived, 0) : 0);
}

/* Special names that begin with T. */
static uint16_t itanium_t_name(struct itanium *p)
{
	static const struct {
		char code;
		enum itanium_text text;
	} of_types[] = {
		{'V', ITANIUM_T_VTABLE},      {'T', ITANIUM_T_VTT},
		{'I', ITANIUM_T_TYPEINFO},    {'S', ITANIUM_T_TYPEINFO_NAME},
		{'F', ITANIUM_T_TYPEINFO_FN},
	};
	char c = itanium_peek2(p);
	p->pos += 2;
	for (size_t i = 0; i < ux_countof(of_types); i++)
		if (of_types[i].code == c)
			return itanium_special(p, of_types[i].text, itanium_type(p));
	switch (c) {
	case 'C':
		return itanium_construction_vtable(p);
	case 'A':
		return itanium_special(p, ITANIUM_T_TEMPLATE_OBJECT, itanium_template_arg(p));
	case 'H':
		return itanium_special(p, ITANIUM_T_TLS_INIT, itanium_name(p, false));
	case 'W':
		return itanium_special(p, ITANIUM_T_TLS_WRAPPER, itanium_name(p, false));
	case 'c':
		return itanium_call_offset(p) && itanium_call_offset(p)
			       ? itanium_special(p, ITANIUM_T_COVARIANT_THUNK, itanium_encoding(p))
			       : 0;
	case 'h':
	case 'v':
		p->pos--;
		return itanium_call_offset(p)
			       ? itanium_special(p,
						 c == 'h' ? ITANIUM_T_NON_VIRTUAL_THUNK
							  : ITANIUM_T_VIRTUAL_THUNK,
						 itanium_encoding(p))
			       : 0;
	default:
		return 0;
	}
}

static uint16_t itanium_reference_temporary(struct itanium *p)
{
	uint16_t number = 0, name = itanium_name(p, false);
	if (!name || (p->pos < p->end && !itanium_sequence(p, 36, &number)))
		return 0;
	return itanium_node(p, ITANIUM_SPECIAL, ITANIUM_T_REFERENCE_TEMPORARY, name, number);
}

/* Special names that begin with G. */
static uint16_t itanium_g_name(struct itanium *p)
{
	if (itanium_eat2(p, "GV"))
		return itanium_special(p, ITANIUM_T_GUARD, itanium_name(p, false));
	if (itanium_eat2(p, "GR"))
		return itanium_reference_temporary(p);
	if (itanium_eat2(p, "GI")) {
		uint16_t module = itanium_module(p) ? p->module : 0;
		p->module = 0;
		return itanium_special(p, ITANIUM_T_MODULE_INITIALIZER, module);
	}
	if (itanium_eat2(p, "GA"))
		return itanium_special(p, ITANIUM_T_HIDDEN_ALIAS, itanium_encoding(p));
	if (!itanium_eat2(p, "GT"))
		return 0;
	bool safe = itanium_eat(p, 't');
	if (!safe && !itanium_eat(p, 'n'))
		return 0;
	return itanium_special(p, safe ? ITANIUM_T_TRANSACTION : ITANIUM_T_NON_TRANSACTION,
			       itanium_encoding(p));
}

/*
 * Returns true when the return type is mangled: for template instances, but not for constructors,
 * destructors and conversions.
 */
static bool itanium_has_return_type(const struct itanium *p, uint16_t node)
{
	while (p->nodes[node].kind == ITANIUM_LOCAL)
		node = p->nodes[node].b;
	if (p->nodes[node].kind != ITANIUM_TEMPLATE)
		return false;
	node = p->nodes[node].a;
	uint8_t kind = p->nodes[node].kind;
	for (; kind == ITANIUM_QUALIFIED || kind == ITANIUM_TAGGED || kind == ITANIUM_FRIEND ||
	       kind == ITANIUM_IN_MODULE;
	     kind = p->nodes[node].kind)
		node = kind == ITANIUM_QUALIFIED ? p->nodes[node].b : p->nodes[node].a;
	return kind != ITANIUM_CTOR && kind != ITANIUM_DTOR && kind != ITANIUM_CONVERSION;
}

/* Returns false when template parameters refer to each other in a cycle. */
static bool itanium_forward_ends(const struct itanium *p, uint16_t node)
{
	for (unsigned i = 0; i <= ITANIUM_ARGS_MAX; i++) {
		if (p->nodes[node].kind != ITANIUM_PARAMETER)
			return true;
		node = p->nodes[node].a;
	}
	return false;
}

/* Resolves template parameters in a conversion's type, which precedes its arguments. */
static bool itanium_resolve_forward(struct itanium *p, unsigned from)
{
	for (unsigned i = from; i < p->n_forward; i++) {
		struct itanium_node *n = &p->nodes[p->forward[i]];
		if (p->first_arg + n->b >= p->n_args)
			return false;
		n->a = p->args[p->first_arg + n->b];
	}
	for (unsigned i = from; i < p->n_forward; i++)
		if (!itanium_forward_ends(p, p->forward[i]))
			return false;
	p->n_forward = from;
	return true;
}

static bool itanium_at_end(const struct itanium *p)
{
	return p->pos == p->end || *p->pos == 'E' || *p->pos == '.' || *p->pos == '_';
}

/* Reads clang's enable_if attribute after a function's name; *ret is the list of conditions. */
static bool itanium_enable_if(struct itanium *p, uint16_t *ret)
{
	static const char word[] = "Ua9enable_ifI";
	size_t n = sizeof(word) - 1;
	struct itanium_list conditions = {0};
	if ((size_t)(p->end - p->pos) < n || memcmp(p->pos, word, n) != 0)
		return true;
	p->pos += n;
	while (!itanium_eat(p, 'E'))
		if (!itanium_append(p, &conditions, itanium_template_arg(p)))
			return false;
	*ret = conditions.first;
	return true;
}

static uint16_t itanium_function_or_data(struct itanium *p)
{
	unsigned forward = p->n_forward;
	uint16_t returned = 0, conditions = 0, constraint = 0;
	bool ok = false;
	uint16_t name = itanium_name(p, /* naming= */ true);
	if (!name || !itanium_resolve_forward(p, forward))
		return 0;
	if (itanium_at_end(p))
		return name;
	uint8_t flags = p->flags;
	if (!itanium_enable_if(p, &conditions))
		return 0;
	if (itanium_has_return_type(p, name) && !(returned = itanium_type(p)))
		return 0;
	uint16_t parameters = itanium_types_until(p, &ok);
	if (!ok || !itanium_constraint(p, &constraint) || !itanium_at_end(p))
		return 0;
	uint16_t node = itanium_node(p, ITANIUM_ENCODING, name, parameters, returned);
	p->nodes[node].flags = node ? flags : 0;
	if (node && conditions)
		node = itanium_phrase(p, ITANIUM_P_ENABLE_IF, node, conditions);
	if (node && constraint)
		node = itanium_phrase(p, ITANIUM_P_REQUIRES_CLAUSE, node, constraint);
	return node;
}

uint16_t itanium_encoding(struct itanium *p)
{
	if (!itanium_enter(p))
		return itanium_leave(p, 0);
	if (itanium_peek(p) == 'T')
		return itanium_leave(p, itanium_t_name(p));
	if (itanium_peek(p) == 'G')
		return itanium_leave(p, itanium_g_name(p));
	unsigned first = p->first_arg, n = p->n_args, context = p->context;
	bool in_lambda = p->in_lambda, in_conversion = p->in_conversion;
	p->first_arg = n;
	p->context = ++p->n_contexts;
	unsigned n_heads = p->n_heads;
	p->n_heads = 0;
	p->in_lambda = p->in_conversion = false;
	uint16_t node = itanium_function_or_data(p);
	p->n_heads = n_heads;
	p->context = context;
	p->first_arg = first;
	p->n_args = n;
	p->in_lambda = in_lambda;
	p->in_conversion = in_conversion;
	return itanium_leave(p, node);
}
