/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing the scheme of a linkage name, and holding libiberty to bounds. */
#include <libiberty/demangle.h> /* first: its headers use names that ours poison */

#include "demangle.h"

#include "demangle_dlang.h"
#include "demangle_plain.h"
#include "itanium.h"
#include "swift.h"

#include <setjmp.h>

bool ux_demangle_mode_parse(struct ux_bytes word, enum ux_demangle_mode *ret)
{
	static const struct {
		const char *word;
		enum ux_demangle_mode mode;
	} words[] = {
		{"none", UX_DEMANGLE_NONE},
		{"short", UX_DEMANGLE_SHORT},
		{"full", UX_DEMANGLE_FULL},
		{"templates-elided", UX_DEMANGLE_ELIDED},
	};
	for (size_t i = 0; i < ux_countof(words); i++) {
		if (!ux_bytes_eq(ux_bytes_cstr(words[i].word), word))
			continue;
		*ret = words[i].mode;
		return true;
	}
	return false;
}

/* Where libiberty's text goes, and the way out of it when there is too much. */
struct sink {
	struct ux_out *out;
	size_t most; /* size that out may reach */
	bool over;
	bool ascii_only; /* jump from ASCII text only */
	jmp_buf too_much;
};

/*
 * A name's text can be exponentially longer than the name, and libiberty has no way to stop early,
 * so we leave it with longjmp. It holds no memory while it prints, with one exception: a Rust v0
 * identifier with letters beyond ASCII, from whose text we therefore do not jump.
 */
static void sink_text(const char *text, size_t n, void *ctx)
{
	struct sink *sink = ctx;
	bool jump = true;
	for (size_t i = 0; sink->ascii_only && i < n && jump; i++)
		jump = (unsigned char)text[i] < 0x80;
	sink->over = sink->over || n > sink->most - sink->out->size;
	if (!sink->over)
		ux_out_put(sink->out, text, n);
	else if (jump)
		longjmp(sink->too_much, 1);
}

typedef int demangle_fn(const char *mangled, int options, demangle_callbackref sink, void *ctx);

static bool callback_demangle(demangle_fn *fn, const char *name, int options, struct ux_out *out)
{
	struct sink sink = {
		.out = out,
		.most = out->size + UX_DEMANGLE_TEXT_MOST,
		.ascii_only = fn == rust_demangle_callback,
	};
	if (setjmp(sink.too_much))
		return false;
	return fn(name, options, sink_text, &sink) != 0 && !sink.over;
}

/* "::<...>" in place of the arguments of Rust's generics. */
static void elide_generics(uint8_t *text, size_t n, struct ux_out *out)
{
	size_t depth = 0;
	for (size_t i = 0; i < n; i++) {
		bool opens = depth == 0 && n - i > 3 && memcmp(text + i, "::<", 3) == 0;
		if (opens) {
			ux_out_cstr(out, "::<...>");
			i += 2;
			depth = 1;
			continue;
		}
		bool arrow = i > 0 && text[i] == '>' && text[i - 1] == '-';
		if (depth == 0)
			ux_out_u8(out, text[i]);
		depth += depth > 0 && text[i] == '<';
		depth -= depth > 0 && text[i] == '>' && !arrow;
	}
}

static bool is_hex(uint8_t c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/*
 * libiberty is one digit late in constants of over 64 bits: "0x234_" for what the name has as
 * 1234_. The digits are looked up there; what is not found stays.
 */
static void mend_constants(struct ux_bytes name, struct ux_out *out, size_t from)
{
	for (size_t i = from; i + 2 < out->size; i++) {
		uint8_t *digits = out->data + i + 2;
		size_t n = 0, most = out->size - i - 2;
		if (memcmp(out->data + i, "0x", 2) != 0)
			continue;
		while (n < most && is_hex(digits[n]))
			n++;
		if (n < 16 || n == most || digits[n] != '_')
			continue;
		const uint8_t *there = memmem(name.data, name.size, digits, n + 1);
		if (!there || there == name.data || !is_hex(there[-1]))
			continue;
		memmove(digits + 1, digits, n);
		digits[0] = there[-1];
	}
}

static bool rust_whole_name(const char *name, struct ux_out *out)
{
	size_t before = out->size;
	if (!callback_demangle(rust_demangle_callback, name, DMGL_PARAMS, out) || out->failed)
		return false;
	mend_constants(ux_bytes_cstr(name), out, before);
	return true;
}

/* Rust's names carry no parameters. */
static bool rust_demangle_name(const char *name, enum ux_demangle_mode mode, struct ux_out *out)
{
	if (mode != UX_DEMANGLE_ELIDED)
		return rust_whole_name(name, out);
	ux_cleanup(ux_out_deinit) struct ux_out whole = {0};
	if (!rust_whole_name(name, &whole))
		return false;
	elide_generics(whole.data, whole.size, out);
	return true;
}

/*
 * libiberty reads arguments behind a template parameter twice where they may be those of a
 * conversion's operator: 2^n times when n are in each other.
 */
static bool conversions_bounded(const char *name)
{
	enum {
		MOST = 12
	};
	unsigned n = 0;
	const char *s = strstr(name, "cv");
	while (s && (s = strstr(s, "_I")) != NULL) {
		s++;
		n++;
	}
	return n <= MOST;
}

static bool cplus_demangle_name(const char *name, enum ux_demangle_mode mode, struct ux_out *out)
{
	if (!conversions_bounded(name))
		return false;
	int options = mode == UX_DEMANGLE_FULL ? DMGL_PARAMS | DMGL_ANSI : DMGL_NO_OPTS;
	return callback_demangle(cplus_demangle_v3_callback, name, options, out);
}

/* Without the list of parameters at the end of text, and what follows it. */
static size_t without_parameters(const char *text, size_t n)
{
	size_t depth = 0;
	const char *close = memrchr(text, ')', n);
	for (const char *p = close; p && p >= text; p--) {
		depth += *p == ')';
		depth -= *p == '(';
		if (depth == 0)
			return p > text && p[-1] != '!' ? (size_t)(p - text) : n;
	}
	return n;
}

/*
 * libiberty knows "scope return" of a parameter and not "return scope", which compilers of today
 * write. The two are as long, so that back references stay right; false: there is none.
 */
static bool scope_returns(char *name)
{
	bool any = false;
	for (char *s = name; (s = strstr(s, "NkM")) != NULL; s += 3) {
		memcpy(s, "MNk", 3);
		any = true;
	}
	return any;
}

/* As the compilers say it. False when letters of a name were taken for the attribute. */
static bool return_scopes(char *text)
{
	for (char *s = text; (s = strstr(s, "scope return ")) != NULL; s += 13)
		memcpy(s, "return scope ", 13);
	return strstr(text, "MNk") == NULL;
}

/* Text to free; NULL for what is no name. */
static char *dlang_text(const char *name)
{
	char *text = dlang_demangle(name, DMGL_PARAMS);
	if (text)
		return text;
	char other[UX_DEMANGLE_NAME_MOST + 1];
	memcpy(other, name, strlen(name) + 1);
	if (!scope_returns(other))
		return NULL;
	text = dlang_demangle(other, DMGL_PARAMS);
	if (text && return_scopes(text))
		return text;
	free(text);
	return NULL;
}

/* Bytes of what says that a name is of a thunk, "_DThn16_" or gdc's "_DTi16_D"; 0: it is of none.
 */
static size_t dlang_thunk(const char *name)
{
	bool gdc = strncmp(name, "_DTi", 4) == 0;
	if (!gdc && strncmp(name, "_DThn", 5) != 0)
		return 0;
	const char *start = name + (gdc ? 4 : 5), *p = start;
	while (*p >= '0' && *p <= '9')
		p++;
	if (p == start || *p++ != '_')
		return 0;
	if (gdc && *p++ != 'D')
		return 0;
	return (size_t)(p - name);
}

static bool dlang_demangle_name(const char *name, enum ux_demangle_mode mode, struct ux_out *out)
{
	char plain[UX_DEMANGLE_NAME_MOST + 1];
	size_t thunk = dlang_thunk(name);
	if (thunk) {
		memcpy(plain, "_D", 2);
		memcpy(plain + 2, name + thunk, strlen(name + thunk) + 1);
		name = plain;
	}
	if (!ux_dlang_bounded(ux_bytes_cstr(name), UX_DEMANGLE_TEXT_MOST))
		return false;
	ux_cleanup(ux_free_ptr) char *text = dlang_text(name);
	if (!text)
		return false;
	size_t n = strlen(text);
	if (thunk)
		ux_out_cstr(out, "non-virtual thunk to ");
	ux_out_put(out, text, mode == UX_DEMANGLE_FULL ? n : without_parameters(text, n));
	return true;
}

typedef bool scheme_fn(const char *name, enum ux_demangle_mode mode, struct ux_out *out);

/* Length of the mangled part: what follows it was put there by the compiler's back end. */
static size_t legacy_rust_size(struct ux_bytes name)
{
	enum {
		TAIL = 20 /* 17h, 16 digits, E */
	};
	for (size_t i = TAIL; i <= name.size; i++)
		if (name.data[i - 1] == 'E' && memcmp(name.data + i - TAIL, "17h", 3) == 0 &&
		    (i == name.size || name.data[i] == '.'))
			return i;
	return 0;
}

static size_t size_to_dot(struct ux_bytes name)
{
	const uint8_t *dot = memchr(name.data, '.', name.size);
	return dot ? (size_t)(dot - name.data) : name.size;
}

/* Demangles the first `size` bytes by scheme and shows the rest as the suffix of a clone. */
static bool try_scheme(scheme_fn *scheme, struct ux_bytes name, size_t size,
		       enum ux_demangle_mode mode, struct ux_out *out)
{
	char text[UX_DEMANGLE_NAME_MOST + 1];
	size_t before = out->size;
	memcpy(text, name.data, size);
	text[size] = 0;
	if (!scheme(text, mode, out) || out->size == before) {
		out->size = before;
		return false;
	}
	if (size < name.size && mode == UX_DEMANGLE_FULL) {
		ux_out_cstr(out, " [clone ");
		ux_out_put(out, name.data + size, name.size - size);
		ux_out_cstr(out, "]");
	}
	return true;
}

/*
 * C++ by our own parser, and by libiberty what that leaves to others. A text of libiberty's has its
 * template arguments also where they are to be elided.
 */
static bool cplus_demangled(struct ux_bytes name, const struct ux_demangle_how *how,
			    struct ux_out *out)
{
	struct ux_itanium_style style = {
		.parameters = how->mode == UX_DEMANGLE_FULL,
		.elide = how->mode == UX_DEMANGLE_ELIDED,
		.llvm = how->llvm,
	};
	return ux_itanium_demangle(name, style, UX_DEMANGLE_TEXT_MOST, out) ||
	       /* libiberty itself shows the suffixes of C++ clones. */
	       try_scheme(cplus_demangle_name, name, name.size, how->mode, out);
}

/* GNAT's rule fits many names of C, so that it is used for names that are said to be Ada's. */
static bool ada_demangled(struct ux_bytes name, struct ux_out *out)
{
	char text[UX_DEMANGLE_NAME_MOST + 1];
	memcpy(text, name.data, name.size);
	text[name.size] = 0;
	ux_cleanup(ux_free_ptr) char *plain = ada_demangle(text, 0);
	if (plain)
		ux_out_cstr(out, plain);
	return plain != NULL;
}

static bool mangled_demangled(struct ux_bytes name, const struct ux_demangle_how *how,
			      struct ux_out *out)
{
	unsigned schemes = how->schemes;
	if (ux_bytes_starts(name, UX_STR("_R")))
		return (schemes & UX_SCHEME_RUST) != 0 &&
		       try_scheme(rust_demangle_name, name, size_to_dot(name), how->mode, out);
	if (ux_bytes_starts(name, UX_STR("_D")))
		return (schemes & UX_SCHEME_DLANG) != 0 &&
		       try_scheme(dlang_demangle_name, name, size_to_dot(name), how->mode, out);
	size_t rust = ux_bytes_starts(name, UX_STR("_ZN")) ? legacy_rust_size(name) : 0;
	if (rust && (schemes & UX_SCHEME_RUST) != 0 &&
	    try_scheme(rust_demangle_name, name, rust, how->mode, out))
		return true;
	return (schemes & UX_SCHEME_ITANIUM) != 0 && cplus_demangled(name, how, out);
}

static bool swift_demangled(struct ux_bytes name, const struct ux_demangle_how *how,
			    struct ux_out *out)
{
	struct ux_swift_style style = {
		.simple = how->mode != UX_DEMANGLE_FULL,
		.elide = how->mode == UX_DEMANGLE_ELIDED,
	};
	return ux_swift_demangle(name, style, UX_DEMANGLE_TEXT_MOST, out);
}

static bool demangled(struct ux_bytes name, const struct ux_demangle_how *how, struct ux_out *out)
{
	if (how->mode == UX_DEMANGLE_NONE || how->schemes == 0 || out->failed ||
	    name.size > UX_DEMANGLE_NAME_MOST || name.size < 3 || memchr(name.data, 0, name.size))
		return false;
	if (how->schemes & UX_SCHEME_ADA)
		return ada_demangled(name, out);
	if (ux_swift_marked(name))
		return (how->schemes & UX_SCHEME_OTHERS) != 0 && swift_demangled(name, how, out);
	/* Mach-O puts an underscore before every name. */
	if (ux_bytes_starts(name, UX_STR("__Z")))
		name = ux_bytes(name.data + 1, name.size - 1);
	if (name.data[0] == '_' && memchr("ZRD", name.data[1], 3))
		return mangled_demangled(name, how, out);
	return (how->schemes & UX_SCHEME_OTHERS) != 0 && ux_demangle_plain(name, how->mode, out);
}

void ux_demangle_as(struct ux_bytes name, const struct ux_demangle_how *how, struct ux_out *out)
{
	if (!demangled(name, how, out))
		ux_out_put(out, name.data, name.size);
}

void ux_demangle(struct ux_bytes name, enum ux_demangle_mode mode, struct ux_out *out)
{
	ux_demangle_as(name, &(struct ux_demangle_how){.mode = mode, .schemes = UX_SCHEME_ALL},
		       out);
}
