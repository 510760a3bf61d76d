/* SPDX-License-Identifier: Apache-2.0 */
/* Parsing of addresses in pasted stacks. */
#include "page.h"

#include "text.h"
#include "id.h"

#include <strings.h>

enum {
	ID_DIGITS = 32,     /* minimum hex digits of an ID without a type: 16 bytes */
	ADDRESS_DIGITS = 16 /* maximum hex digits of an address */
};

static bool stack_is_blank(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == ',';
}

static bool stack_is_bracket(uint8_t c)
{
	return c == '(' || c == ')' || c == '[' || c == ']' || c == '<' || c == '>' || c == ';';
}

/* Cuts the next word off the front; brackets separate words. Empty at the end. */
static struct ux_bytes stack_next_word(struct ux_bytes *s)
{
	size_t i = 0, n = 0;
	while (i < s->size && (stack_is_blank(s->data[i]) || stack_is_bracket(s->data[i])))
		i++;
	while (i + n < s->size && !stack_is_blank(s->data[i + n]) &&
	       !stack_is_bracket(s->data[i + n]))
		n++;
	struct ux_bytes word = ux_bytes(s->data + i, n);
	*s = ux_bytes(s->data + i + n, s->size - i - n);
	return n > 0 ? word : UX_BYTES_NONE;
}

static size_t stack_hex_run(struct ux_bytes s)
{
	size_t n = 0;
	while (n < s.size && ux_hex_digit((char)s.data[n]) >= 0)
		n++;
	return n;
}

static bool stack_all_hex(struct ux_bytes s)
{
	return s.size > 0 && stack_hex_run(s) == s.size;
}

static bool stack_is_prefixed(struct ux_bytes s)
{
	return s.size > 2 && s.data[0] == '0' && (s.data[1] | 0x20) == 'x';
}

static bool stack_is_id(struct ux_bytes s)
{
	struct ux_id id;
	bool typed = memchr(s.data, ':', s.size) != NULL;
	bool bare = s.size >= ID_DIGITS && s.size % 2 == 0 && stack_all_hex(s);
	return (typed || bare) && ux_id_parse(s, &id, NULL) == UX_OK;
}

static void stack_add(struct ux_stack_line *parsed, uint64_t pc)
{
	if (parsed->n < UX_STACK_ADDRESSES_MOST)
		parsed->pcs[parsed->n++] = pc;
	else
		parsed->more = true;
}

/* State of parsing one line. */
struct stack_parser {
	struct ux_stack_line *parsed;
	struct ux_bytes last; /* the previous word */
	/* an address relative to a file was found, so other numbers are addresses in the process */
	bool has_file_address;
	bool is_single_word; /* the line has only one word */
};

static void stack_add_address(struct stack_parser *r, struct ux_bytes name, uint64_t pc)
{
	if (!r->has_file_address)
		r->parsed->n = 0;
	if (r->parsed->n == 0 || r->parsed->name.size == 0)
		r->parsed->name = name;
	r->has_file_address = true;
	stack_add(r->parsed, pc);
}

/* True for a path or a typical file name. Function names can be followed by an offset too. */
static bool stack_names_a_file(struct ux_bytes s)
{
	return s.data && s.size > 0 &&
	       (memchr(s.data, '/', s.size) || memmem(s.data, s.size, ".so", 3) ||
		memmem(s.data, s.size, ".ko", 3));
}

/* "NAME+0x123" */
static bool stack_name_and_offset(struct stack_parser *r, struct ux_bytes word)
{
	const uint8_t *plus = ux_bytes_find_last(word, '+');
	uint64_t pc = 0;
	if (!plus)
		return false;
	struct ux_bytes name = ux_bytes(word.data, (size_t)(plus - word.data));
	struct ux_bytes off = ux_bytes(plus + 1, word.size - name.size - 1);
	if (!stack_is_prefixed(off) || !ux_hex_parse_u64(off, /* hex= */ true, &pc))
		return false;
	if (name.size == 0) /* "prog(+0x123)" */
		name = r->last;
	if (!stack_names_a_file(name) && word.data != plus)
		return false;
	if (name.size == 0 || stack_is_prefixed(name))
		return false;
	stack_add_address(r, name, pc);
	return true;
}

/* "libc.so.6 + 0x123": the words before and after the plus. */
static bool stack_spaced_offset(struct stack_parser *r, struct ux_bytes *left)
{
	struct ux_bytes name = r->last, rest = *left, off = stack_next_word(&rest);
	uint64_t pc = 0;
	if (name.size == 0 || stack_is_prefixed(name) || !stack_is_prefixed(off) ||
	    !ux_hex_parse_u64(off, /* hex= */ true, &pc))
		return false;
	*left = rest;
	stack_add_address(r, name, pc);
	return true;
}

/* "pc 0004ba2c /lib/libc.so" */
static bool stack_android_pc(struct stack_parser *r, struct ux_bytes *left)
{
	struct ux_bytes rest = *left, digits = stack_next_word(&rest);
	uint64_t pc = 0;
	if (!stack_all_hex(digits) || digits.size > ADDRESS_DIGITS ||
	    !ux_hex_parse_u64(digits, /* hex= */ true, &pc))
		return false;
	*left = rest;
	struct ux_bytes name = stack_next_word(&rest);
	stack_add_address(r, stack_names_a_file(name) ? name : UX_BYTES_NONE, pc);
	return true;
}

/* "BuildId: 9d..." */
static bool stack_build_id(struct stack_parser *r, struct ux_bytes word, struct ux_bytes *left)
{
	static const char label[] = "buildid:";
	size_t n = sizeof(label) - 1;
	if (word.size < n || strncasecmp((const char *)word.data, label, n) != 0)
		return false;
	struct ux_bytes rest = *left, hex = ux_bytes(word.data + n, word.size - n);
	if (hex.size == 0)
		hex = stack_next_word(&rest);
	struct ux_id id;
	if (!stack_all_hex(hex) || ux_id_parse(hex, &id, NULL) != UX_OK)
		return false;
	*left = rest;
	r->parsed->id = hex;
	return true;
}

static bool stack_take_word(struct stack_parser *r, struct ux_bytes word, struct ux_bytes *left)
{
	if (stack_build_id(r, word, left))
		return true;
	if (ux_bytes_eq(word, UX_STR("+")))
		return stack_spaced_offset(r, left);
	if (ux_bytes_eq(word, UX_STR("pc")))
		return stack_android_pc(r, left);
	if (r->parsed->id.size == 0 && stack_is_id(word)) {
		r->parsed->id = word;
		return true;
	}
	return stack_name_and_offset(r, word);
}

/* An address on its own. Digits without 0x are accepted only if the line has nothing else. */
static void stack_plain_address(struct stack_parser *r, struct ux_bytes word)
{
	uint64_t pc = 0;
	bool decimal = stack_hex_run(word) == word.size;
	for (size_t i = 0; i < word.size && decimal; i++)
		decimal = word.data[i] >= '0' && word.data[i] <= '9';
	if (r->has_file_address ||
	    !(stack_is_prefixed(word) || (r->is_single_word && stack_all_hex(word))))
		return;
	if (ux_hex_parse_u64(word, /* hex= */ !decimal, &pc))
		stack_add(r->parsed, pc);
}

void ux_stack_line_parse(struct ux_bytes line, struct ux_stack_line *ret)
{
	struct stack_parser r = {.parsed = ret};
	struct ux_bytes left = line, rest = line;
	*ret = (struct ux_stack_line){0};
	(void)stack_next_word(&rest);
	r.is_single_word = stack_next_word(&rest).size == 0;
	for (struct ux_bytes word = stack_next_word(&left); word.size > 0;
	     word = stack_next_word(&left)) {
		if (!stack_take_word(&r, word, &left))
			stack_plain_address(&r, word);
		r.last = word;
	}
}
