/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing the mangling scheme of a linkage name. */
#include "demangle_schemes.h"

#include "swift.h"

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

/* "::<...>" in place of the arguments of Rust's generics. */
static void demangle_elide_generics(const char *text, size_t n, struct ux_out *out)
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
			ux_out_u8(out, (uint8_t)text[i]);
		depth += depth > 0 && text[i] == '<';
		depth -= depth > 0 && text[i] == '>' && !arrow;
	}
}

/* Returns the size of the text without the parameter list at its end and anything after that. */
static size_t demangle_size_without_parameters(const char *text, size_t n)
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

static size_t demangle_size_to_dot(struct ux_bytes name)
{
	const uint8_t *dot = memchr(name.data, '.', name.size);
	return dot ? (size_t)(dot - name.data) : name.size;
}

/* Writes the suffix that the compiler's back end appended to the mangled part of a name. */
static void demangle_put_clone(struct ux_bytes suffix, enum ux_demangle_mode mode,
			       struct ux_out *out)
{
	if (suffix.size == 0 || mode != UX_DEMANGLE_FULL)
		return;
	ux_out_cstr(out, " [clone ");
	ux_out_put(out, suffix.data, suffix.size);
	ux_out_cstr(out, "]");
}

static bool demangle_rust(struct ux_bytes name, size_t size, enum ux_demangle_mode mode,
			  struct ux_name_text *text, struct ux_out *out)
{
	struct ux_bytes mangled = ux_bytes(name.data, size);
	bool ok = name.data[1] == 'R' ? ux_rust_v0_demangle(mangled, text)
				      : ux_rust_legacy_demangle(mangled, text);
	if (!ok)
		return false;
	size_t n = (size_t)(text->pos - text->start);
	if (mode == UX_DEMANGLE_ELIDED)
		demangle_elide_generics(text->start, n, out);
	else
		ux_out_put(out, text->start, n);
	demangle_put_clone(ux_bytes(name.data + size, name.size - size), mode, out);
	return true;
}

static bool demangle_dlang(struct ux_bytes name, enum ux_demangle_mode mode,
			   struct ux_name_text *text, struct ux_out *out)
{
	size_t size = demangle_size_to_dot(name);
	if (!ux_dlang_demangle(ux_bytes(name.data, size), text))
		return false;
	size_t n = (size_t)(text->pos - text->start);
	ux_out_put(out, text->start,
		   mode == UX_DEMANGLE_FULL ? n : demangle_size_without_parameters(text->start, n));
	demangle_put_clone(ux_bytes(name.data + size, name.size - size), mode, out);
	return true;
}

static bool demangle_put(bool ok, const struct ux_name_text *text, struct ux_out *out)
{
	if (ok)
		ux_out_put(out, text->start, (size_t)(text->pos - text->start));
	return ok;
}

static bool demangle_cplus(struct ux_bytes name, const struct ux_demangle_how *how,
			   struct ux_name_text *text, struct ux_out *out)
{
	struct ux_itanium_style style = {
		.parameters = how->mode == UX_DEMANGLE_FULL,
		.elide = how->mode == UX_DEMANGLE_ELIDED,
		.llvm = how->llvm,
	};
	return demangle_put(ux_itanium_demangle(name, style, text), text, out);
}

/* Demangles names that begin with _Z, _R or _D. */
static bool demangle_marked(struct ux_bytes name, const struct ux_demangle_how *how,
			    struct ux_name_text *text, struct ux_out *out)
{
	unsigned schemes = how->schemes;
	if (name.data[1] == 'R')
		return (schemes & UX_SCHEME_RUST) != 0 &&
		       demangle_rust(name, demangle_size_to_dot(name), how->mode, text, out);
	if (name.data[1] == 'D')
		return (schemes & UX_SCHEME_DLANG) != 0 &&
		       demangle_dlang(name, how->mode, text, out);
	size_t rust = schemes & UX_SCHEME_RUST ? ux_rust_legacy_size(name) : 0;
	if (rust && demangle_rust(name, rust, how->mode, text, out))
		return true;
	ux_name_text_cut(text, text->start);
	return (schemes & UX_SCHEME_ITANIUM) != 0 && demangle_cplus(name, how, text, out);
}

static bool demangle_swift(struct ux_bytes name, const struct ux_demangle_how *how,
			   struct ux_name_text *text, struct ux_out *out)
{
	struct ux_swift_style style = {
		.simple = how->mode != UX_DEMANGLE_FULL,
		.elide = how->mode == UX_DEMANGLE_ELIDED,
	};
	return demangle_put(ux_swift_demangle(name, style, text), text, out);
}

static bool demangle_any(struct ux_bytes name, const struct ux_demangle_how *how,
			 struct ux_name_text *text, struct ux_out *out)
{
	/*
	 * GNAT's rules also match many names of C, so they are used only for names that are known
	 * to be Ada.
	 */
	if (how->schemes & UX_SCHEME_ADA)
		return demangle_put(ux_ada_demangle(name, text), text, out);
	if (ux_swift_marked(name))
		return (how->schemes & UX_SCHEME_OTHERS) != 0 &&
		       demangle_swift(name, how, text, out);
	/* Mach-O puts an underscore before every name. */
	if (ux_bytes_starts(name, UX_STR("__Z")))
		name = ux_bytes(name.data + 1, name.size - 1);
	bool is_block =
		ux_bytes_starts(name, UX_STR("___Z")) || ux_bytes_starts(name, UX_STR("____Z"));
	if (is_block || (name.data[0] == '_' && memchr("ZRD", name.data[1], 3)))
		return demangle_marked(name, how, text, out);
	size_t before = out->size;
	bool ok = (how->schemes & UX_SCHEME_OTHERS) != 0 && ux_demangle_plain(name, how->mode, out);
	if (ok && out->size - before <= UX_DEMANGLE_TEXT_MAX)
		return true;
	out->size = before;
	return false;
}

/*
 * Returns the size of a linkage name without suffixes from a linker or disassembler: "@plt" of a
 * stub, "@@GLIBCXX_3.4" of a version. No scheme that begins with an underscore uses the character
 * @. LLVM's tools leave such names unchanged.
 */
static size_t demangle_size_to_at(struct ux_bytes name, const struct ux_demangle_how *how)
{
	const uint8_t *at = name.size > 0 && name.data[0] == '_' && !how->llvm
				    ? memchr(name.data, '@', name.size)
				    : NULL;
	return at ? (size_t)(at - name.data) : name.size;
}

unsigned ux_demangle_steps(struct ux_bytes name, const struct ux_demangle_how *how,
			   struct ux_out *out)
{
	char buffer[UX_DEMANGLE_TEXT_MAX];
	struct ux_name_text text = ux_name_text_make(buffer, sizeof(buffer));
	struct ux_bytes linkage = ux_bytes(name.data, demangle_size_to_at(name, how));
	bool readable = how->mode != UX_DEMANGLE_NONE && how->schemes != 0 && !out->failed &&
			linkage.size <= UX_DEMANGLE_NAME_MAX && linkage.size >= 3 &&
			!memchr(linkage.data, 0, linkage.size);
	if (!readable || !demangle_any(linkage, how, &text, out))
		ux_out_put(out, linkage.data, linkage.size);
	ux_out_put(out, name.data + linkage.size, name.size - linkage.size);
	return UX_NAME_STEPS_MAX - text.steps;
}

void ux_demangle_as(struct ux_bytes name, const struct ux_demangle_how *how, struct ux_out *out)
{
	(void)ux_demangle_steps(name, how, out);
}

void ux_demangle(struct ux_bytes name, enum ux_demangle_mode mode, struct ux_out *out)
{
	ux_demangle_as(name, &(struct ux_demangle_how){.mode = mode, .schemes = UX_SCHEME_ALL},
		       out);
}
