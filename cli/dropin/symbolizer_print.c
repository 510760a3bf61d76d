/* SPDX-License-Identifier: Apache-2.0 */
/* Frames, symbols and failures in the styles of llvm-symbolizer. */
#include "symbolizer.h"

#include "drop_in.h"
#include "json_out.h"
#include "text.h"

static unsigned source_lines_digits(uint64_t v)
{
	unsigned n = 1;
	for (; v >= 10; v /= 10)
		n++;
	return n;
}

static void symbolizer_print_source(struct ux_out *out, const struct ux_frame *frame, unsigned n)
{
	ux_cleanup(ux_out_deinit) struct ux_out path = {0};
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	ux_drop_in_write_path(&path, frame, false);
	ux_out_u8(&path, 0);
	if (path.failed || ux_file_map((const char *)path.data, &file, NULL) != UX_OK)
		return;
	uint64_t first = frame->line > n / 2 ? frame->line - n / 2 : 1;
	uint64_t last = first + n - 1;
	struct ux_bytes s = file.bytes, text;
	for (uint64_t line = 1; line <= last && ux_text_take_line(&s, &text); line++) {
		if (line >= first) {
			ux_out_fmt(out, "%-*" PRIu64 " %s: ", (int)source_lines_digits(last), line,
				   line == frame->line ? ">" : " ");
			size_t before = out->size;
			ux_out_put(out, text.data, text.size);
			ux_drop_in_clean(out, before);
			ux_out_u8(out, '\n');
		}
	}
}

/* Returns the offset of the unqualified name, which follows the last "::" that is not inside of
 * <>, () or {}. */
static size_t symbolizer_unqualified_name(struct ux_bytes s)
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
	SCHEMES = UX_SCHEME_ITANIUM | UX_SCHEME_RUST |
		  UX_SCHEME_DLANG, /* the schemes that LLVM demangles */
};

static const struct ux_demangle_how short_names = {UX_DEMANGLE_SHORT, SCHEMES, /* llvm= */ true};

static void symbolizer_write_full_name(const struct ux_symbolizer_print *p, struct ux_bytes name,
				       struct ux_out *out)
{
	struct ux_demangle_how how = {UX_DEMANGLE_FULL, p->demangle ? SCHEMES : 0,
				      /* llvm= */ true};
	ux_demangle_as(name, &how, out);
}

/* Writes the name of a function in the form that the options select. */
static void symbolizer_write_name(const struct ux_symbolizer_print *p, struct ux_bytes name,
				  struct ux_out *out)
{
	size_t before = out->size;
	if (p->functions != UX_SYMBOLIZER_SHORT) {
		symbolizer_write_full_name(p, name, out);
		return;
	}
	ux_demangle_as(name, &short_names, out);
	if (out->failed)
		return;
	struct ux_bytes text = ux_bytes(out->data + before, out->size - before);
	size_t own = symbolizer_unqualified_name(text);
	memmove(out->data + before, out->data + before + own, text.size - own);
	out->size -= own;
}

static void symbolizer_write_function(const struct ux_symbolizer_print *p, const char *name)
{
	size_t before = p->out->size;
	if (*name)
		symbolizer_write_name(p, ux_bytes_cstr(name), p->out);
	else
		ux_out_cstr(p->out, "??");
	ux_drop_in_clean(p->out, before);
}

static void symbolizer_write_path(const struct ux_symbolizer_print *p, const struct ux_frame *f,
				  bool base)
{
	size_t before = p->out->size;
	if (*f->base)
		ux_drop_in_write_path(p->out, f, base);
	else
		ux_out_cstr(p->out, "??");
	ux_drop_in_clean(p->out, before);
}

static struct ux_json symbolizer_json_begin(struct ux_symbolizer_print *p,
					    const struct ux_symbolizer_query *q)
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

static void symbolizer_json_end(struct ux_symbolizer_print *p, struct ux_json *j)
{
	ux_json_object_end(j);
	if (!p->listed)
		ux_out_u8(p->out, '\n');
}

static void symbolizer_json_tail(struct ux_json *j, const struct ux_symbolizer_query *q)
{
	ux_json_key_cstr(j, "ModuleName", q->module);
	if (q->symbol.size > 0)
		ux_json_key_str(j, "SymName", q->symbol);
}

static void symbolizer_json_hex(struct ux_json *j, const char *key, uint64_t v)
{
	char text[24];
	snprintf(text, sizeof(text), "0x%" PRIx64, v);
	ux_json_key_cstr(j, key, text);
}

static void symbolizer_json_frame(const struct ux_symbolizer_print *p, struct ux_json *j,
				  const struct ux_frame *f, uint64_t pc)
{
	ux_cleanup(ux_out_deinit) struct ux_out name = {0}, path = {0};
	if (f && p->functions != UX_SYMBOLIZER_NO_NAMES)
		symbolizer_write_name(p, ux_bytes_cstr(f->function), &name);
	if (f)
		ux_drop_in_write_path(&path, f, p->basenames);
	ux_json_object_begin(j);
	ux_json_key_u64(j, "Column", f ? f->column : 0);
	ux_json_key_u64(j, "Discriminator", 0);
	ux_json_key_str(j, "FileName", ux_out_bytes(&path));
	ux_json_key_str(j, "FunctionName", ux_out_bytes(&name));
	ux_json_key_u64(j, "Line", f ? f->line : 0);
	if (f && !f->inlined)
		symbolizer_json_hex(j, "StartAddress", pc - f->offset);
	else
		ux_json_key_cstr(j, "StartAddress", "");
	ux_json_key_cstr(j, "StartFileName", "");
	ux_json_key_u64(j, "StartLine", 0);
	ux_json_object_end(j);
}

static void symbolizer_json_code(struct ux_symbolizer_print *p, const struct ux_symbolizer_query *q,
				 const struct ux_frame *frames, size_t n)
{
	struct ux_json j = symbolizer_json_begin(p, q);
	bool by_symbol = q->symbol.size > 0;
	if (by_symbol) {
		ux_json_key(&j, "Loc");
	} else {
		ux_json_key_cstr(&j, "ModuleName", q->module);
		ux_json_key(&j, "Symbol");
	}
	ux_json_array_begin(&j);
	for (size_t i = 0; i < n; i++)
		symbolizer_json_frame(p, &j, &frames[i], q->pc);
	if (n == 0 && !by_symbol)
		symbolizer_json_frame(p, &j, NULL, q->pc);
	ux_json_array_end(&j);
	if (by_symbol)
		symbolizer_json_tail(&j, q);
	symbolizer_json_end(p, &j);
}

static void symbolizer_write_address(const struct ux_symbolizer_print *p,
				     const struct ux_symbolizer_query *q)
{
	if (p->addresses && q->has_address)
		ux_out_fmt(p->out, "0x%" PRIx64 "%s", q->address, p->pretty ? ": " : "\n");
}

static void symbolizer_write_end(const struct ux_symbolizer_print *p)
{
	if (p->style == UX_SYMBOLIZER_LLVM)
		ux_out_u8(p->out, '\n');
}

static void symbolizer_write_verbose(const struct ux_symbolizer_print *p, const struct ux_frame *f,
				     uint64_t pc)
{
	ux_out_cstr(p->out, "  Filename: ");
	symbolizer_write_path(p, f, p->basenames);
	if (*f->function && !f->inlined)
		ux_out_fmt(p->out, "\n  Function start address: 0x%" PRIx64, pc - f->offset);
	ux_out_fmt(p->out, "\n  Line: %" PRIu32 "\n  Column: %u\n", f->line, f->column);
}

static void symbolizer_write_location(const struct ux_symbolizer_print *p, const struct ux_frame *f)
{
	symbolizer_write_path(p, f, p->basenames);
	ux_out_fmt(p->out, ":%" PRIu32, f->line);
	if (p->style == UX_SYMBOLIZER_LLVM)
		ux_out_fmt(p->out, ":%u", f->column);
	ux_out_u8(p->out, '\n');
}

static void symbolizer_write_frame(const struct ux_symbolizer_print *p, const struct ux_frame *f,
				   uint64_t pc, bool inner)
{
	if (p->functions != UX_SYMBOLIZER_NO_NAMES) {
		if (p->pretty && inner)
			ux_out_cstr(p->out, " (inlined by) ");
		symbolizer_write_function(p, f->function);
		ux_out_cstr(p->out, p->pretty ? " at " : "\n");
	}
	if (p->verbose)
		symbolizer_write_verbose(p, f, pc);
	else
		symbolizer_write_location(p, f);
	if (p->source_lines > 0 && *f->base && f->line > 0)
		symbolizer_print_source(p->out, f, p->source_lines);
}

void ux_symbolizer_print_code(struct ux_symbolizer_print *p, const struct ux_symbolizer_query *q,
			      const struct ux_frame *frames, size_t n)
{
	static const struct ux_frame unknown = {.function = "", .dir = "", .base = ""};
	if (p->style == UX_SYMBOLIZER_JSON) {
		symbolizer_json_code(p, q, frames, n);
		return;
	}
	symbolizer_write_address(p, q);
	if (n == 0)
		symbolizer_write_frame(p, &unknown, q->pc, false);
	for (size_t i = 0; i < n; i++)
		symbolizer_write_frame(p, &frames[i], q->pc, i > 0);
	symbolizer_write_end(p);
}

static void symbolizer_json_data(struct ux_symbolizer_print *p, const struct ux_symbolizer_query *q,
				 const struct ux_listed_symbol *symbol)
{
	ux_cleanup(ux_out_deinit) struct ux_out name = {0};
	struct ux_json j = symbolizer_json_begin(p, q);
	if (symbol)
		symbolizer_write_full_name(p, ux_listed_symbol_name(symbol), &name);
	ux_json_key(&j, "Data");
	ux_json_object_begin(&j);
	ux_json_key_str(&j, "Name", ux_out_bytes(&name));
	symbolizer_json_hex(&j, "Size", symbol ? symbol->size : 0);
	symbolizer_json_hex(&j, "Start", symbol ? symbol->start : 0);
	ux_json_object_end(&j);
	symbolizer_json_tail(&j, q);
	symbolizer_json_end(p, &j);
}

void ux_symbolizer_print_data(struct ux_symbolizer_print *p, const struct ux_symbolizer_query *q,
			      const struct ux_listed_symbol *symbol,
			      const struct ux_declaration *declared)
{
	if (p->style == UX_SYMBOLIZER_JSON) {
		symbolizer_json_data(p, q, symbol);
		return;
	}
	symbolizer_write_address(p, q);
	size_t before = p->out->size;
	if (symbol)
		symbolizer_write_full_name(p, ux_listed_symbol_name(symbol), p->out);
	else
		ux_out_cstr(p->out, "??");
	ux_drop_in_clean(p->out, before);
	ux_out_fmt(p->out, "\n%" PRIu64 " %" PRIu64 "\n", symbol ? symbol->start : 0,
		   symbol ? symbol->size : 0);
	if (declared) {
		struct ux_frame at = {.dir = declared->file.dir, .base = declared->file.base};
		symbolizer_write_path(p, &at, false);
		ux_out_fmt(p->out, ":%" PRIu64 "\n", declared->line);
	} else if (symbol && *symbol->file) {
		struct ux_frame at = {.dir = "", .base = symbol->file};
		symbolizer_write_path(p, &at, false);
		ux_out_cstr(p->out, ":0\n");
	} else {
		ux_out_cstr(p->out, "??:?\n");
	}
	symbolizer_write_end(p);
}

void ux_symbolizer_print_locals(struct ux_symbolizer_print *p, const struct ux_symbolizer_query *q)
{
	if (p->style == UX_SYMBOLIZER_JSON) {
		struct ux_json j = symbolizer_json_begin(p, q);
		ux_json_key(&j, "Frame");
		ux_json_array_begin(&j);
		ux_json_array_end(&j);
		symbolizer_json_tail(&j, q);
		symbolizer_json_end(p, &j);
		return;
	}
	symbolizer_write_address(p, q);
	ux_out_cstr(p->out, "??\n");
	symbolizer_write_end(p);
}

void ux_symbolizer_print_error(struct ux_symbolizer_print *p, const struct ux_symbolizer_query *q,
			       const char *what)
{
	struct ux_json j = symbolizer_json_begin(p, q);
	ux_json_key(&j, "Error");
	ux_json_object_begin(&j);
	ux_json_key_cstr(&j, "Message", what);
	ux_json_object_end(&j);
	symbolizer_json_tail(&j, q);
	symbolizer_json_end(p, &j);
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
