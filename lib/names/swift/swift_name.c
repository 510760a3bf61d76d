/* SPDX-License-Identifier: Apache-2.0 */
/* Identifiers of Swift names, and substitutions. */
#include "swift_tree.h"

/* Records the words of a literal part; later identifiers may refer to them. */
static void swift_record_words(struct swift *p, const char *s, size_t n)
{
	size_t start = n; /* n: not in a word */
	for (size_t i = 0; i <= n && p->n_words < SWIFT_WORDS_MAX; i++) {
		char c = i < n ? s[i] : '\0';
		bool ends =
			i == n || c == '_' || (i > 0 && ux_is_upper(c) && !ux_is_upper(s[i - 1]));
		if (start < n && ends) {
			if (i - start >= 2)
				p->words[p->n_words++] = (struct swift_word){s + start, i - start};
			start = n;
		}
		if (start == n && i < n && c != '_' && !ux_is_digit(c))
			start = i;
	}
}

static bool swift_append(struct swift *p, const char *s, size_t n)
{
	if (SWIFT_TEXT_MAX - p->n_text < n)
		return false;
	memcpy(p->text + p->n_text, s, n);
	p->n_text += (unsigned)n;
	return true;
}

/* References to recorded words; *ret_more: another part follows. */
static bool swift_append_words(struct swift *p, bool *ret_more)
{
	*ret_more = true;
	while (*ret_more && (ux_is_lower(swift_peek(p)) || ux_is_upper(swift_peek(p)))) {
		char c = swift_next(p);
		*ret_more = ux_is_lower(c);
		unsigned word = (unsigned)(c - (*ret_more ? 'a' : 'A'));
		if (word >= p->n_words ||
		    !swift_append(p, p->words[word].text, p->words[word].size))
			return false;
	}
	return true;
}

/* NATURAL and that many bytes. */
static bool swift_append_literal(struct swift *p, bool punycode)
{
	uint32_t n = 0;
	if (!swift_natural(p, &n) || n == 0)
		return false;
	if (punycode)
		swift_eat(p, '_');
	if (n > (size_t)(p->end - p->pos))
		return false;
	const char *s = p->pos;
	p->pos += n;
	if (!punycode) {
		swift_record_words(p, s, n);
		return swift_append(p, s, n);
	}
	struct ux_name_text text =
		ux_name_text_make(p->text + p->n_text, SWIFT_TEXT_MAX - p->n_text);
	ux_name_text_punycode(&text, s, n, UX_PUNYCODE_SWIFT);
	size_t size = (size_t)(text.pos - text.start);
	p->n_text += (unsigned)size;
	return size > 0;
}

static bool swift_append_parts(struct swift *p)
{
	if (!swift_eat(p, '0'))
		return swift_append_literal(p, /* punycode= */ false);
	if (swift_eat(p, '0'))
		return swift_append_literal(p, /* punycode= */ true);
	for (bool more = true; more;) {
		if (!swift_append_words(p, &more))
			return false;
		if (swift_eat(p, '0'))
			break;
		if (!swift_append_literal(p, /* punycode= */ false))
			return false;
	}
	return true;
}

uint16_t swift_identifier(struct swift *p)
{
	unsigned from = p->n_text;
	if (!swift_append_parts(p))
		return 0;
	uint16_t node = swift_number(p, SWIFT_IDENTIFIER, from);
	if (node)
		p->nodes[node].n = (uint16_t)(p->n_text - from);
	return p->n_text > from ? swift_add_substitution(p, node) : 0;
}

uint16_t swift_operator_name(struct swift *p)
{
	static const char signs[] = "& @/= >    <*!|+?%-~   ^ .";
	uint16_t name = swift_pop(p, SWIFT_IDENTIFIER);
	if (!name)
		return 0;
	unsigned at = p->nodes[name].at, n = p->nodes[name].n, from = p->n_text;
	if (SWIFT_TEXT_MAX - from < n)
		return 0;
	for (unsigned i = 0; i < n; i++) {
		char c = p->text[at + i];
		bool beyond = (unsigned char)c >= 0x80;
		if (!beyond && (!ux_is_lower(c) || signs[c - 'a'] == ' '))
			return 0;
		p->text[p->n_text++] = beyond ? c : signs[c - 'a'];
	}
	char fixity = swift_next(p);
	enum swift_kind kind = fixity == 'i'   ? SWIFT_INFIX_OPERATOR
			       : fixity == 'p' ? SWIFT_PREFIX_OPERATOR
			       : fixity == 'P' ? SWIFT_POSTFIX_OPERATOR
					       : SWIFT_NONE;
	uint16_t node = kind ? swift_number(p, kind, from) : 0;
	if (node)
		p->nodes[node].n = (uint16_t)n;
	return node;
}

uint16_t swift_local_name(struct swift *p)
{
	char c = swift_peek(p);
	if (c == 'L') {
		p->pos++;
		uint16_t where = swift_pop(p, SWIFT_IDENTIFIER);
		uint16_t name = swift_pop_class(p, SWIFT_IS_NAME);
		return SWIFT_MAKE(p, SWIFT_PRIVATE_NAME, where, name);
	}
	if (c == 'l') {
		p->pos++;
		uint16_t where = swift_pop(p, SWIFT_IDENTIFIER);
		return SWIFT_MAKE(p, SWIFT_PRIVATE_NAME, where);
	}
	if ((c >= 'a' && c <= 'j') || (c >= 'A' && c <= 'J')) {
		p->pos++;
		uint16_t kind = swift_text(p, SWIFT_IDENTIFIER, &c, 1);
		uint16_t name = swift_pop_any(p);
		return SWIFT_MAKE(p, SWIFT_RELATED_NAME, kind, name);
	}
	uint16_t number = swift_index_node(p);
	uint16_t name = swift_pop_class(p, SWIFT_IS_NAME);
	return SWIFT_MAKE(p, SWIFT_LOCAL_NAME, number, name);
}

/* Pushes a repeated node times - 1 times; the caller pushes the last. */
static bool swift_push_repeated(struct swift *p, uint16_t node, uint32_t times)
{
	if (times > SWIFT_REPEAT_MAX || !ux_name_text_charge(p->budget, times / 8))
		return false;
	for (; times > 1; times--)
		if (!swift_push(p, node))
			return false;
	return node != 0;
}

static uint16_t swift_substitution(const struct swift *p, uint32_t i)
{
	return i < p->n_subs - p->first_sub ? p->subs[p->first_sub + i] : 0;
}

uint16_t swift_substitutions(struct swift *p)
{
	uint32_t times = 1;
	bool counted = false;
	for (;;) {
		char c = swift_next(p);
		if (c == '_')
			return swift_substitution(p, counted ? times + 27 : 26);
		if (ux_is_lower(c)) {
			uint16_t node = swift_substitution(p, (uint32_t)(c - 'a'));
			if (!swift_push_repeated(p, node, times) || !swift_push(p, node))
				return 0;
			times = 1;
			counted = false;
		} else if (ux_is_upper(c)) {
			uint16_t node = swift_substitution(p, (uint32_t)(c - 'A'));
			return swift_push_repeated(p, node, times) ? node : 0;
		} else {
			if (counted || !ux_is_digit(c))
				return 0;
			p->pos--;
			if (!swift_natural(p, &times))
				return 0;
			counted = true;
		}
	}
}

struct known {
	char letter;
	char kind; /* Structure, Enum, Protocol, Class */
	const char *name;
};

static const struct known known[] = {
	{'A', 'S', "AutoreleasingUnsafeMutablePointer"},
	{'a', 'S', "Array"},
	{'B', 'P', "BinaryFloatingPoint"},
	{'b', 'S', "Bool"},
	{'D', 'S', "Dictionary"},
	{'d', 'S', "Double"},
	{'E', 'P', "Encodable"},
	{'e', 'P', "Decodable"},
	{'F', 'P', "FloatingPoint"},
	{'f', 'S', "Float"},
	{'G', 'P', "RandomNumberGenerator"},
	{'H', 'P', "Hashable"},
	{'h', 'S', "Set"},
	{'I', 'S', "DefaultIndices"},
	{'i', 'S', "Int"},
	{'J', 'S', "Character"},
	{'j', 'P', "Numeric"},
	{'K', 'P', "BidirectionalCollection"},
	{'k', 'P', "RandomAccessCollection"},
	{'L', 'P', "Comparable"},
	{'l', 'P', "Collection"},
	{'M', 'P', "MutableCollection"},
	{'m', 'P', "RangeReplaceableCollection"},
	{'N', 'S', "ClosedRange"},
	{'n', 'S', "Range"},
	{'O', 'S', "ObjectIdentifier"},
	{'P', 'S', "UnsafePointer"},
	{'p', 'S', "UnsafeMutablePointer"},
	{'Q', 'P', "Equatable"},
	{'q', 'E', "Optional"},
	{'R', 'S', "UnsafeBufferPointer"},
	{'r', 'S', "UnsafeMutableBufferPointer"},
	{'S', 'S', "String"},
	{'s', 'S', "Substring"},
	{'T', 'P', "Sequence"},
	{'t', 'P', "IteratorProtocol"},
	{'U', 'P', "UnsignedInteger"},
	{'u', 'S', "UInt"},
	{'V', 'S', "UnsafeRawPointer"},
	{'v', 'S', "UnsafeMutableRawPointer"},
	{'W', 'S', "UnsafeRawBufferPointer"},
	{'w', 'S', "UnsafeMutableRawBufferPointer"},
	{'X', 'P', "RangeExpression"},
	{'x', 'P', "Strideable"},
	{'Y', 'P', "RawRepresentable"},
	{'y', 'P', "StringProtocol"},
	{'Z', 'P', "SignedInteger"},
	{'z', 'P', "BinaryInteger"},
	{'\0', 0, NULL},
};

/* Known types of concurrency, after "Sc". */
static const struct known known_too[] = {
	{'A', 'P', "Actor"},
	{'C', 'S', "CheckedContinuation"},
	{'c', 'S', "UnsafeContinuation"},
	{'E', 'S', "CancellationError"},
	{'e', 'S', "UnownedSerialExecutor"},
	{'F', 'P', "Executor"},
	{'f', 'P', "SerialExecutor"},
	{'G', 'S', "TaskGroup"},
	{'g', 'S', "ThrowingTaskGroup"},
	{'h', 'P', "TaskExecutor"},
	{'I', 'P', "AsyncIteratorProtocol"},
	{'i', 'P', "AsyncSequence"},
	{'J', 'S', "UnownedJob"},
	{'M', 'C', "MainActor"},
	{'P', 'S', "TaskPriority"},
	{'S', 'S', "AsyncStream"},
	{'s', 'S', "AsyncThrowingStream"},
	{'T', 'S', "Task"},
	{'t', 'S', "UnsafeCurrentTask"},
	{'\0', 0, NULL},
};

static uint16_t swift_module_text(struct swift *p, const char *name)
{
	return swift_text(p, SWIFT_MODULE, name, strlen(name));
}

static uint16_t swift_known_type(struct swift *p, char c, const struct known *k)
{
	while (k->letter && k->letter != c)
		k++;
	if (!k->letter)
		return 0;
	uint16_t module = swift_module_text(p, "Swift");
	uint16_t name = swift_text(p, SWIFT_IDENTIFIER, k->name, strlen(k->name));
	enum swift_kind kind = k->kind == 'S'   ? SWIFT_STRUCTURE
			       : k->kind == 'P' ? SWIFT_PROTOCOL
			       : k->kind == 'E' ? SWIFT_ENUM
						: SWIFT_CLASS;
	return SWIFT_MAKE(p, kind, module, name);
}

uint16_t swift_known(struct swift *p)
{
	if (swift_eat(p, 'o'))
		return swift_module_text(p, "__C");
	if (swift_eat(p, 'C'))
		return swift_module_text(p, "__C_Synthesized");
	if (swift_eat(p, 'g')) {
		uint16_t list = SWIFT_MAKE(p, SWIFT_TYPE_LIST, swift_pop_type(p));
		uint16_t optional = swift_known_type(p, 'q', known);
		return swift_add_substitution(p, SWIFT_MAKE(p, SWIFT_BOUND_ENUM, optional, list));
	}
	uint32_t times = 1;
	if (ux_is_digit(swift_peek(p)) && !swift_natural(p, &times))
		return 0;
	const struct known *table = swift_eat(p, 'c') ? known_too : known;
	uint16_t node = swift_known_type(p, swift_next(p), table);
	return swift_push_repeated(p, node, times) ? node : 0;
}
