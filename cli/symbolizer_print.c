/* SPDX-License-Identifier: Apache-2.0 */
/* Frames, symbols and failures as text and JSON. */
#include "symbolizer_print.h"

#include "drop_in.h"
#include "json_out.h"
#include "source_lines.h"

/* Where the last name begins behind what qualifies it: "::" inside of <>, () and {} is its own. */
static size_t own_name(struct ux_bytes s)
{
	size_t at = 0, depth = 0;
	if (s.size > 8 && ux_bytes_starts(s, UX_STR("operator")))
		return 0;
	for (size_t i = 0; i + 1 < s.size; i++) {
		uint8_t c = s.data[i];
		bool arrow = i > 0 && c == '>' && s.data[i - 1] == '-';
		depth += c == '<' || c == '(' || c == '{';
		if (depth > 0 && !arrow && (c == '>' || c == ')' || c == '}'))
			depth--;
		if (depth == 0 && c == ':' && s.data[i + 1] == ':') {
			at = i + 2;
			if (ux_bytes_starts(ux_bytes(s.data + at, s.size - at), UX_STR("operator")))
				break;
		}
	}
	return at;
}

enum {
	SCHEMES = UX_SCHEME_ITANIUM | UX_SCHEME_RUST | UX_SCHEME_DLANG, /* as LLVM */
};

static const struct ux_demangle_how short_names = {UX_DEMANGLE_SHORT, SCHEMES, /* llvm= */ true};

static void put_whole_name(const struct ux_symbolizer_print *p, struct ux_bytes name,
			   struct ux_out *out)
{
	struct ux_demangle_how how = {UX_DEMANGLE_FULL, p->demangle ? SCHEMES : 0,
				      /* llvm= */ true};
	ux_demangle_as(name, &how, out);
}

/* A function's name as the options want it. */
static void put_name(const struct ux_symbolizer_print *p, struct ux_bytes name, struct ux_out *out)
{
	size_t before = out->size;
	if (p->functions != UX_SYMBOLIZER_SHORT) {
		put_whole_name(p, name, out);
		return;
	}
	ux_demangle_as(name, &short_names, out);
	if (out->failed)
		return;
	struct ux_bytes text = ux_bytes(out->data + before, out->size - before);
	size_t own = own_name(text);
	memmove(out->data + before, out->data + before + own, text.size - own);
	out->size -= own;
}

static void put_name_or_unknown(const struct ux_symbolizer_print *p, const char *name)
{
	if (*name)
		put_name(p, ux_bytes_cstr(name), p->out);
	else
		ux_out_cstr(p->out, "??");
}

static struct ux_json json_begin(struct ux_symbolizer_print *p,
				 const struct ux_symbolizer_question *q)
{
	if (p->listed && p->has_first)
		ux_out_u8(p->out, ',');
	p->has_first = true;
	struct ux_json j = ux_json_make(p->out);
	ux_json_object_begin(&j);
	if (q->has_address && q->symbol.size == 0) {
		char text[24];
		snprintf(text, sizeof(text), "0x%" PRIx64, q->address);
		ux_json_key_cstr(&j, "Address", text);
	}
	return j;
}

static void json_end(struct ux_symbolizer_print *p, struct ux_json *j)
{
	ux_json_object_end(j);
	if (!p->listed)
		ux_out_u8(p->out, '\n');
}

static void json_tail(struct ux_json *j, const struct ux_symbolizer_question *q)
{
	ux_json_key_cstr(j, "ModuleName", q->module);
	if (q->symbol.size > 0)
		ux_json_key_str(j, "SymName", q->symbol);
}

static void json_hex(struct ux_json *j, const char *key, uint64_t v)
{
	char text[24];
	snprintf(text, sizeof(text), "0x%" PRIx64, v);
	ux_json_key_cstr(j, key, text);
}

static void json_frame(const struct ux_symbolizer_print *p, struct ux_json *j,
		       const struct ux_frame *f, uint64_t pc)
{
	ux_cleanup(ux_out_deinit) struct ux_out name = {0}, path = {0};
	if (f && p->functions != UX_SYMBOLIZER_NO_NAMES)
		put_name(p, ux_bytes_cstr(f->function), &name);
	if (f)
		ux_drop_in_path(&path, f, p->basenames);
	ux_json_object_begin(j);
	ux_json_key_u64(j, "Column", 0);
	ux_json_key_u64(j, "Discriminator", 0);
	ux_json_key_str(j, "FileName", ux_out_bytes(&path));
	ux_json_key_str(j, "FunctionName", ux_out_bytes(&name));
	ux_json_key_u64(j, "Line", f ? f->line : 0);
	if (f && !f->inlined)
		json_hex(j, "StartAddress", pc - f->offset);
	else
		ux_json_key_cstr(j, "StartAddress", "");
	ux_json_key_cstr(j, "StartFileName", "");
	ux_json_key_u64(j, "StartLine", 0);
	ux_json_object_end(j);
}

static void json_code(struct ux_symbolizer_print *p, const struct ux_symbolizer_question *q,
		      const struct ux_frame *frames, size_t n)
{
	struct ux_json j = json_begin(p, q);
	bool by_symbol = q->symbol.size > 0;
	if (by_symbol) {
		ux_json_key(&j, "Loc");
	} else {
		ux_json_key_cstr(&j, "ModuleName", q->module);
		ux_json_key(&j, "Symbol");
	}
	ux_json_array_begin(&j);
	for (size_t i = 0; i < n; i++)
		json_frame(p, &j, &frames[i], q->pc);
	if (n == 0 && !by_symbol)
		json_frame(p, &j, NULL, q->pc);
	ux_json_array_end(&j);
	if (by_symbol)
		json_tail(&j, q);
	json_end(p, &j);
}

static void put_address(const struct ux_symbolizer_print *p, const struct ux_symbolizer_question *q)
{
	if (p->addresses && q->has_address)
		ux_out_fmt(p->out, "0x%" PRIx64 "%s", q->address, p->pretty ? ": " : "\n");
}

static void put_end(const struct ux_symbolizer_print *p)
{
	if (p->style == UX_SYMBOLIZER_LLVM)
		ux_out_u8(p->out, '\n');
}

static void put_verbose(const struct ux_symbolizer_print *p, const struct ux_frame *f, uint64_t pc)
{
	ux_out_cstr(p->out, "  Filename: ");
	if (*f->base)
		ux_drop_in_path(p->out, f, p->basenames);
	else
		ux_out_cstr(p->out, "??");
	if (*f->function && !f->inlined)
		ux_out_fmt(p->out, "\n  Function start address: 0x%" PRIx64, pc - f->offset);
	ux_out_fmt(p->out, "\n  Line: %" PRIu32 "\n  Column: 0\n", f->line);
}

static void put_place(const struct ux_symbolizer_print *p, const struct ux_frame *f)
{
	if (*f->base)
		ux_drop_in_path(p->out, f, p->basenames);
	else
		ux_out_cstr(p->out, "??");
	ux_out_fmt(p->out, ":%" PRIu32 "%s\n", f->line, p->style == UX_SYMBOLIZER_LLVM ? ":0" : "");
}

static void put_frame(const struct ux_symbolizer_print *p, const struct ux_frame *f, uint64_t pc,
		      bool inner)
{
	if (p->functions != UX_SYMBOLIZER_NO_NAMES) {
		if (p->pretty && inner)
			ux_out_cstr(p->out, " (inlined by) ");
		put_name_or_unknown(p, f->function);
		ux_out_cstr(p->out, p->pretty ? " at " : "\n");
	}
	if (p->verbose)
		put_verbose(p, f, pc);
	else
		put_place(p, f);
	if (p->source_lines > 0 && *f->base && f->line > 0)
		ux_source_lines_put(p->out, f, p->source_lines);
}

void ux_symbolizer_print_code(struct ux_symbolizer_print *p, const struct ux_symbolizer_question *q,
			      const struct ux_frame *frames, size_t n)
{
	static const struct ux_frame unknown = {.function = "", .dir = "", .base = ""};
	if (p->style == UX_SYMBOLIZER_JSON) {
		json_code(p, q, frames, n);
		return;
	}
	put_address(p, q);
	if (n == 0)
		put_frame(p, &unknown, q->pc, false);
	for (size_t i = 0; i < n; i++)
		put_frame(p, &frames[i], q->pc, i > 0);
	put_end(p);
}

static void json_data(struct ux_symbolizer_print *p, const struct ux_symbolizer_question *q,
		      const struct ux_listed_symbol *symbol)
{
	ux_cleanup(ux_out_deinit) struct ux_out name = {0};
	struct ux_json j = json_begin(p, q);
	if (symbol)
		put_whole_name(p, ux_listed_symbol_name(symbol), &name);
	ux_json_key(&j, "Data");
	ux_json_object_begin(&j);
	ux_json_key_str(&j, "Name", ux_out_bytes(&name));
	json_hex(&j, "Size", symbol ? symbol->size : 0);
	json_hex(&j, "Start", symbol ? symbol->start : 0);
	ux_json_object_end(&j);
	json_tail(&j, q);
	json_end(p, &j);
}

void ux_symbolizer_print_data(struct ux_symbolizer_print *p, const struct ux_symbolizer_question *q,
			      const struct ux_listed_symbol *symbol,
			      const struct ux_declaration *declared)
{
	if (p->style == UX_SYMBOLIZER_JSON) {
		json_data(p, q, symbol);
		return;
	}
	put_address(p, q);
	if (symbol)
		put_whole_name(p, ux_listed_symbol_name(symbol), p->out);
	else
		ux_out_cstr(p->out, "??");
	ux_out_fmt(p->out, "\n%" PRIu64 " %" PRIu64 "\n", symbol ? symbol->start : 0,
		   symbol ? symbol->size : 0);
	if (declared) {
		struct ux_frame at = {.dir = declared->file.dir, .base = declared->file.base};
		ux_drop_in_path(p->out, &at, false);
		ux_out_fmt(p->out, ":%" PRIu64 "\n", declared->line);
	} else if (symbol && *symbol->file) {
		ux_out_fmt(p->out, "%s:0\n", symbol->file);
	} else {
		ux_out_cstr(p->out, "??:?\n");
	}
	put_end(p);
}

void ux_symbolizer_print_locals(struct ux_symbolizer_print *p,
				const struct ux_symbolizer_question *q)
{
	if (p->style == UX_SYMBOLIZER_JSON) {
		struct ux_json j = json_begin(p, q);
		ux_json_key(&j, "Frame");
		ux_json_array_begin(&j);
		ux_json_array_end(&j);
		json_tail(&j, q);
		json_end(p, &j);
		return;
	}
	put_address(p, q);
	ux_out_cstr(p->out, "??\n");
	put_end(p);
}

void ux_symbolizer_print_error(struct ux_symbolizer_print *p,
			       const struct ux_symbolizer_question *q, const char *what)
{
	struct ux_json j = json_begin(p, q);
	ux_json_key(&j, "Error");
	ux_json_object_begin(&j);
	ux_json_key_cstr(&j, "Message", what);
	ux_json_object_end(&j);
	json_tail(&j, q);
	json_end(p, &j);
}

void ux_symbolizer_print_begin(struct ux_symbolizer_print *p)
{
	if (p->style == UX_SYMBOLIZER_JSON && p->listed)
		ux_out_u8(p->out, '[');
}

void ux_symbolizer_print_end(struct ux_symbolizer_print *p)
{
	if (p->style == UX_SYMBOLIZER_JSON && p->listed)
		ux_out_cstr(p->out, "]\n");
}
