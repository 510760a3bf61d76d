/* SPDX-License-Identifier: Apache-2.0 */
/* The text that `perf script` prints. */
#include "perf_script.h"

#include "profile_text.h"
#include "text.h"

enum {
	SCRIPT_SAMPLES, /* the values of a sample */
	SCRIPT_PERIOD,
	SCRIPT_VALUES
};

/* Below this, the address of a location in a file is a position in that file. */
#define SCRIPT_PROCESS (UINT64_C(1) << 40)

/* The line of a location: "ADDRESS SYMBOL+0xOFFSET (DSO)", or with `-F +dsoff` "(DSO+0xPOSITION)".
 */
struct script_frame {
	uint64_t address;
	uint64_t position; /* in the file, if it has one */
	bool has_position;
	struct ux_bytes symbol;  /* without its offset; empty: unknown */
	struct ux_bytes dso;     /* without the position; empty: unknown */
	struct ux_bytes printed; /* the same with it */
	size_t indent;           /* bytes before the address */
};

/* The line of a sample: "COMM PID/TID [CPU] TIME: PERIOD EVENT:". */
struct script_head {
	struct ux_bytes comm;
	uint64_t pid;
	uint64_t tid;
	uint64_t period;
	struct ux_bytes event;
};

UX_VEC(script_stack, uint32_t);

/* The state of reading a text, also when it is read again to be written. */
struct script_reader {
	struct ux_profile *profile;
	struct ux_profile_numbers modules; /* by the string of their path */
	struct ux_profile_numbers named;   /* location by (string of the symbol, module) */
	struct ux_profile_numbers threads; /* by (string of comm, tid) */
	bool rewriting;                    /* locations that have a symbol are not looked up */
	bool in_sample;
	bool in_kernel; /* the last location was in the kernel */
	size_t depth;
	struct script_head head;
	struct script_stack stack; /* locations of the sample, the leaf first */
};

static void script_reader_deinit(struct script_reader *r)
{
	ux_profile_numbers_deinit(&r->modules);
	ux_profile_numbers_deinit(&r->named);
	ux_profile_numbers_deinit(&r->threads);
	script_stack_deinit(&r->stack);
}

/* --- lines ------------------------------------------------------------------------------------ */

static bool script_is_blank(struct ux_bytes line)
{
	return ux_trim(line).size == 0;
}

static struct ux_bytes script_behind(struct ux_bytes s, size_t n)
{
	return ux_bytes(s.data + n, s.size - n);
}

/* Splits "TEXT+0x1d"; false, and *text is as it was, where there is no such number. */
static bool script_split_offset(struct ux_bytes *text, uint64_t *ret)
{
	const uint8_t *plus = ux_bytes_find_last(*text, '+');
	if (!plus || plus == text->data)
		return false;
	struct ux_bytes number = script_behind(*text, (size_t)(plus + 1 - text->data));
	if (!ux_bytes_starts(number, UX_STR("0x")) || !ux_hex_parse_u64(number, true, ret))
		return false;
	*text = ux_bytes(text->data, (size_t)(plus - text->data));
	return true;
}

/* Splits "SYMBOL (DSO)". A symbol may have brackets of its own, a path seldom has " (". */
static void script_split(struct ux_bytes text, struct script_frame *ret)
{
	if (text.size > 0 && text.data[text.size - 1] == ')') {
		for (size_t i = text.size; i-- > 1;) {
			if (text.data[i] != '(' || text.data[i - 1] != ' ')
				continue;
			ret->dso = ux_bytes(text.data + i + 1, text.size - i - 2);
			text = ux_bytes(text.data, i);
			break;
		}
	}
	uint64_t offset = 0;
	ret->symbol = ux_trim(text);
	(void)script_split_offset(&ret->symbol, &offset);
	ret->printed = ret->dso;
	ret->has_position = script_split_offset(&ret->dso, &ret->position);
	if (ux_bytes_eq(ret->symbol, UX_STR("[unknown]")))
		ret->symbol = UX_BYTES_NONE;
	if (ux_bytes_eq(ret->dso, UX_STR("[unknown]")))
		ret->dso = UX_BYTES_NONE;
}

/* Parses the line of a location, which is indented. */
static bool script_frame_parse(struct ux_bytes line, struct script_frame *ret)
{
	*ret = (struct script_frame){0};
	while (ret->indent < line.size && ux_is_blank(line.data[ret->indent]))
		ret->indent++;
	if (ret->indent == 0)
		return false;
	struct ux_bytes rest = script_behind(line, ret->indent);
	size_t n = ux_digits_parse(rest, 16, &ret->address);
	if (n == 0 || (n < rest.size && rest.data[n] != ' '))
		return false;
	script_split(ux_trim(script_behind(rest, n)), ret);
	return true;
}

/* Reads "PID/TID" or "TID" at the end of `before`, the text in front of the time. */
static bool script_head_thread(struct ux_bytes before, struct script_head *ret)
{
	before = ux_trim(before);
	if (before.size > 0 && before.data[before.size - 1] == ']') { /* the processor */
		const uint8_t *open = ux_bytes_find_last(before, '[');
		if (!open)
			return false;
		before = ux_trim(ux_bytes(before.data, (size_t)(open - before.data)));
	}
	const uint8_t *blank = ux_bytes_find_last(before, ' ');
	if (!blank)
		return false;
	struct ux_bytes ids = script_behind(before, (size_t)(blank + 1 - before.data));
	ret->comm = ux_trim(ux_bytes(before.data, (size_t)(blank - before.data)));
	size_t n = ux_digits_parse(ids, 10, &ret->pid);
	ret->tid = ret->pid;
	if (n > 0 && n < ids.size && ids.data[n] == '/') {
		size_t m = ux_digits_parse(script_behind(ids, n + 1), 10, &ret->tid);
		n = m > 0 ? n + 1 + m : 0;
	}
	return n > 0 && n == ids.size && ret->comm.size > 0;
}

/* Reads "SECONDS.MICROSECONDS" at the end of the text and sets *ret_before to what is before. */
static bool script_head_time(struct ux_bytes text, struct ux_bytes *ret_before)
{
	size_t i = text.size, points = 0;
	while (i > 0 && (ux_is_digit(text.data[i - 1]) || text.data[i - 1] == '.'))
		points += text.data[--i] == '.';
	*ret_before = ux_bytes(text.data, i);
	return points == 1 && i > 0 && i < text.size && text.data[i - 1] == ' ';
}

/* Whether the line is of an event that is no sample, such as a mapping. */
static bool script_is_event(struct ux_bytes line)
{
	return line.size > 0 && memmem(line.data, line.size, ": PERF_RECORD_", 14);
}

/* Parses the line of a sample: the first ": " that a time stands before separates its parts. */
static bool script_head_parse(struct ux_bytes line, struct script_head *ret)
{
	*ret = (struct script_head){.period = 1};
	if (line.size == 0 || ux_is_blank(line.data[0]) || line.data[0] == '#')
		return false;
	for (size_t i = 1; i + 1 < line.size; i++) {
		struct ux_bytes before;
		if (line.data[i] != ':' || line.data[i + 1] != ' ' ||
		    !script_head_time(ux_bytes(line.data, i), &before) ||
		    !script_head_thread(before, ret))
			continue;
		struct ux_bytes rest = ux_trim(script_behind(line, i + 1));
		uint64_t period = 0;
		size_t n = ux_digits_parse(rest, 10, &period);
		if (n > 0 && n < rest.size && rest.data[n] == ' ') {
			ret->period = period;
			rest = ux_trim(script_behind(rest, n));
		}
		const uint8_t *end = memmem(rest.data, rest.size, ": ", 2);
		ret->event = end ? ux_bytes(rest.data, (size_t)(end - rest.data)) : rest;
		if (!end && rest.size > 0 && rest.data[rest.size - 1] == ':')
			ret->event.size--;
		return !script_is_event(line);
	}
	return false;
}

/* The location on the line of a sample itself, where there are no callchains. */
static bool script_head_frame(struct ux_bytes line, struct script_frame *ret)
{
	for (size_t i = 1; i + 1 < line.size; i++)
		if (line.data[i] == ':' && ux_is_blank(line.data[i + 1]) &&
		    script_frame_parse(script_behind(line, i + 1), ret) && ret->dso.size > 0)
			return true;
	return false;
}

bool ux_perf_script_is(struct ux_bytes text)
{
	struct ux_bytes whole, line;
	struct script_head head;
	text.size = ux_min(text.size, (size_t)UX_PROFILE_LOOK);
	while (ux_profile_line(&text, &whole, &line)) {
		if (line.size == 0 || line.data[0] == '#' || script_is_event(line))
			continue;
		return script_head_parse(line, &head);
	}
	return false;
}

/* --- locations -------------------------------------------------------------------------------- */

static enum ux_profile_module_kind script_module_kind(struct ux_bytes dso)
{
	if (ux_bytes_eq(dso, UX_STR("[vdso]")) || ux_bytes_eq(dso, UX_STR("[vsyscall]")))
		return UX_PROFILE_VDSO;
	if (ux_bytes_starts(dso, UX_STR("/tmp/perf-")) || ux_bytes_starts(dso, UX_STR("//anon")) ||
	    ux_bytes_eq(dso, UX_STR("[heap]")) || ux_bytes_eq(dso, UX_STR("[stack]")))
		return UX_PROFILE_JIT;
	return ux_bytes_starts(dso, UX_STR("[")) ? UX_PROFILE_KERNEL : UX_PROFILE_FILE;
}

static enum ux_code script_module(struct script_reader *r, struct ux_bytes dso, uint32_t *ret,
				  struct ux_error *err)
{
	uint32_t path = 0;
	bool fresh = false;
	*ret = 0;
	if (dso.size == 0)
		return UX_OK;
	UX_TRY(ux_profile_string(r->profile, dso, &path, err));
	uint32_t *module = ux_profile_numbers_insert(&r->modules, path, &fresh);
	if (!module)
		return ux_error_nomem(err);
	if (fresh) {
		struct ux_profile_module m = {.kind = script_module_kind(dso), .path = path};
		if (m.kind == UX_PROFILE_JIT)
			m.pid = (uint32_t)r->head.pid;
		UX_TRY(ux_profile_add_module(r->profile, m, module, err));
	}
	*ret = *module;
	return UX_OK;
}

/* A location that has a symbol: one for each symbol and module, whatever the address. */
static enum ux_code script_named(struct script_reader *r, const struct script_frame *f,
				 uint32_t module, uint32_t *ret, struct ux_error *err)
{
	struct ux_profile_frame frame = {0};
	bool fresh = false;
	*ret = 0;
	if (r->rewriting)
		return UX_OK;
	UX_TRY(ux_profile_string(r->profile, f->symbol, &frame.name, err));
	uint32_t *location =
		ux_profile_numbers_insert(&r->named, (uint64_t)frame.name << 32 | module, &fresh);
	if (!location)
		return ux_error_nomem(err);
	if (fresh) {
		struct ux_profile_location named = {.module = module, .named = true};
		UX_TRY(ux_profile_add_location(r->profile, named, location, err));
		UX_TRY(ux_profile_name(r->profile, *location, &frame, 1, err));
	}
	*ret = *location;
	return UX_OK;
}

/* The location of a line. Behind the kernel's locations the first one of the process is where it
 * was interrupted; all other callers are return addresses. */
static enum ux_code script_locate(struct script_reader *r, const struct script_frame *f,
				  uint32_t *ret, struct ux_error *err)
{
	uint32_t module = 0;
	if (ux_bytes_eq(f->dso, UX_STR("inlined")))
		return script_named(r, f, 0, ret, err);
	UX_TRY(script_module(r, f->dso, &module, err));
	enum ux_profile_module_kind kind = r->profile->modules.data[module].kind;
	bool kernel = module != 0 && kind == UX_PROFILE_KERNEL;
	bool returns = r->depth > 0 && (kernel || !r->in_kernel);
	r->in_kernel = kernel;
	r->depth++;
	if (f->symbol.size > 0)
		return script_named(r, f, module, ret, err);
	bool in_file = module != 0 && kind == UX_PROFILE_FILE &&
		       (f->has_position || f->address < SCRIPT_PROCESS);
	struct ux_profile_place place = {
		.module = module,
		.kind = in_file ? UX_PROFILE_OFFSET : UX_PROFILE_ADDRESS,
		.returns = returns,
		.address = in_file && f->has_position ? f->position : f->address,
	};
	return ux_profile_locate(r->profile, place, ret, err);
}

static void script_begin(struct script_reader *r, const struct script_head *head)
{
	r->head = *head;
	r->in_sample = true;
	r->in_kernel = false;
	r->depth = 0;
	r->stack.size = 0;
}

/* --- reading ---------------------------------------------------------------------------------- */

static enum ux_code script_thread(struct script_reader *r, uint32_t *ret, struct ux_error *err)
{
	struct ux_profile_thread thread = {.pid = (uint32_t)r->head.pid,
					   .tid = (uint32_t)r->head.tid};
	bool fresh = false;
	UX_TRY(ux_profile_string(r->profile, r->head.comm, &thread.comm, err));
	uint32_t *number = ux_profile_numbers_insert(
		&r->threads, (uint64_t)thread.comm << 32 | thread.tid, &fresh);
	if (!number)
		return ux_error_nomem(err);
	if (fresh)
		UX_TRY(ux_profile_add_thread(r->profile, thread, number, err));
	*ret = *number;
	return UX_OK;
}

/* Adds the sample that was read, if there is one. */
static enum ux_code script_end(struct script_reader *r, struct ux_error *err)
{
	int64_t values[SCRIPT_VALUES] = {1, (int64_t)r->head.period};
	uint32_t stack = 0, thread = 0;
	if (!r->in_sample)
		return UX_OK;
	r->in_sample = false;
	UX_TRY(script_thread(r, &thread, err));
	for (size_t i = r->stack.size; i > 0; i--)
		UX_TRY(ux_profile_push(r->profile, stack, r->stack.data[i - 1], &stack, err));
	return ux_profile_add_sample(r->profile, thread, stack, 0, values, err);
}

static enum ux_code script_add(struct script_reader *r, const struct script_frame *f,
			       struct ux_error *err)
{
	uint32_t location = 0;
	if (r->stack.size >= UX_PROFILE_DEPTH_MOST)
		return ux_error_set(err, UX_ELIMIT, "a stack of more than %d locations",
				    UX_PROFILE_DEPTH_MOST);
	UX_TRY(script_locate(r, f, &location, err));
	return script_stack_append(&r->stack, location) ? UX_OK : ux_error_nomem(err);
}

static enum ux_code script_read_line(struct script_reader *r, struct ux_bytes line, uint64_t number,
				     struct ux_error *err)
{
	struct script_head head;
	struct script_frame frame;
	if (script_is_blank(line))
		return script_end(r, err);
	if (r->in_sample && script_frame_parse(line, &frame))
		return script_add(r, &frame, err);
	UX_TRY(script_end(r, err));
	if (line.data[0] == '#')
		return UX_OK;
	if (script_head_parse(line, &head)) {
		script_begin(r, &head);
		return script_head_frame(line, &frame) ? script_add(r, &frame, err) : UX_OK;
	}
	if (script_is_event(line))
		return UX_OK;
	return ux_error_set(err, UX_ECORRUPT,
			    "line %" PRIu64 ": expected a sample of `perf script`, or a location",
			    number);
}

enum ux_code ux_perf_script_read(struct ux_bytes text, struct ux_profile *p, struct ux_error *err)
{
	static const char *const types[SCRIPT_VALUES][2] = {{"samples", "count"},
							    {"period", "count"}};
	ux_cleanup(script_reader_deinit) struct script_reader r = {.profile = p};
	for (size_t i = 0; i < SCRIPT_VALUES; i++) {
		UX_TRY(ux_profile_string(p, ux_bytes_cstr(types[i][0]), &p->types[i].name, err));
		UX_TRY(ux_profile_string(p, ux_bytes_cstr(types[i][1]), &p->types[i].unit, err));
	}
	p->n_types = SCRIPT_VALUES;
	struct ux_bytes whole, line;
	for (uint64_t number = 1; ux_profile_line(&text, &whole, &line); number++) {
		UX_TRY(ux_profile_line_check(line, number, err));
		UX_TRY(script_read_line(&r, line, number, err));
	}
	return script_end(&r, err);
}

/* --- writing ---------------------------------------------------------------------------------- */

/* The lines of a location that has got names. */
static void script_write_frames(const struct ux_profile *p, const struct ux_profile_location *l,
				const struct script_frame *f, struct ux_bytes line,
				enum ux_demangle_mode mode, struct ux_out *out)
{
	const uint8_t *digits_end = line.data + f->indent;
	while (digits_end < line.data + line.size && ux_hex_digit((char)*digits_end) >= 0)
		digits_end++;
	for (uint32_t i = 0; i < l->n; i++) {
		const struct ux_profile_frame *frame = &p->frames.data[l->first + i];
		ux_out_put(out, line.data, (size_t)(digits_end - line.data));
		ux_out_u8(out, ' ');
		ux_profile_write_name(p, frame, mode, out);
		ux_out_cstr(out, " (");
		if (frame->inlined)
			ux_out_cstr(out, "inlined");
		else
			ux_out_put(out, f->printed.data, f->printed.size);
		ux_out_cstr(out, ")\n");
	}
}

/* Whether the line was replaced by those of its names. */
static enum ux_code script_rewrite_line(struct script_reader *r, struct ux_bytes line,
					enum ux_demangle_mode mode, struct ux_out *out,
					bool *ret_replaced, struct ux_error *err)
{
	struct script_head head;
	struct script_frame frame;
	uint32_t location = 0;
	*ret_replaced = false;
	if (script_is_blank(line)) {
		r->in_sample = false;
	} else if (!r->in_sample || !script_frame_parse(line, &frame)) {
		if (script_head_parse(line, &head))
			script_begin(r, &head);
	} else {
		UX_TRY(script_locate(r, &frame, &location, err));
		const struct ux_profile_location *l = &r->profile->locations.data[location];
		if (l->n > 0 && !l->named) {
			script_write_frames(r->profile, l, &frame, line, mode, out);
			*ret_replaced = true;
		}
	}
	return UX_OK;
}

enum ux_code ux_perf_script_rewrite(struct ux_bytes text, struct ux_profile *p,
				    enum ux_demangle_mode mode, struct ux_out *out,
				    struct ux_error *err)
{
	ux_cleanup(script_reader_deinit) struct script_reader r = {.profile = p, .rewriting = true};
	struct ux_bytes whole, line;
	for (size_t m = 1; m < p->modules.size; m++) {
		bool fresh = false;
		uint32_t *module =
			ux_profile_numbers_insert(&r.modules, p->modules.data[m].path, &fresh);
		if (!module)
			return ux_error_nomem(err);
		*module = (uint32_t)m;
	}
	while (ux_profile_line(&text, &whole, &line)) {
		bool replaced = false;
		UX_TRY(script_rewrite_line(&r, line, mode, out, &replaced, err));
		if (!replaced)
			ux_out_put(out, whole.data, whole.size);
	}
	return ux_out_status(out, err);
}
