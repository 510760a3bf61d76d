/* SPDX-License-Identifier: Apache-2.0 */
/* The text that `perf script` prints. */
#include "perf_script.h"

#include "jit_files.h"
#include "profile_text.h"
#include "text.h"

#include <time.h>

enum {
	SCRIPT_SAMPLES, /* values of a sample */
	SCRIPT_PERIOD,
	SCRIPT_VALUES
};

/* Below this, the address of a location in a file is a position in that file. */
#define SCRIPT_PROCESS (UINT64_C(1) << 40)

/* The line of a location: "ADDRESS SYMBOL+0xOFFSET (DSO)", or with `-F +dsoff` "(DSO+0xPOSITION)".
 */
struct script_frame {
	uint64_t address;
	uint64_t position; /* in the file, if it is printed */
	bool has_position;
	struct ux_bytes symbol;  /* without its offset; empty: unknown */
	struct ux_bytes dso;     /* without the position; empty: unknown */
	struct ux_bytes printed; /* the same with the position */
	size_t indent;           /* bytes before the address */
	const uint8_t *start;    /* start of the address in the text */
};

/* The line of a sample: "COMM PID/TID [CPU] TIME: PERIOD EVENT:". */
struct script_head {
	struct ux_bytes comm;
	uint64_t pid;
	uint64_t tid;
	uint64_t time; /* nanoseconds */
	uint64_t period;
	struct ux_bytes behind; /* text after the event */
};

UX_VEC(script_stack, uint32_t);

/* The clock of the times. */
enum script_clock {
	SCRIPT_CLOCK_UNKNOWN, /* the text has no header */
	SCRIPT_CLOCK_MONOTONIC,
	SCRIPT_CLOCK_OTHER,
};

/* The state of reading a text, also when it is read again for rewriting. */
struct script_reader {
	struct ux_profile *profile;
	struct ux_profile_jit *jit; /* NULL: jitdumps are not read */
	enum script_clock clock;
	struct ux_profile_numbers dumps;   /* module of the jitdump by process */
	struct ux_profile_numbers modules; /* by (process of run-time code, string of the path) */
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
	ux_profile_numbers_deinit(&r->dumps);
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

/* Splits "TEXT+0x1d". False: there is no such number, and *text is unchanged. */
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

/* Splits "SYMBOL (DSO)". A symbol may have brackets of its own; a path seldom contains " (". */
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
	ret->start = rest.data;
	size_t n = ux_digits_parse(rest, 16, &ret->address);
	if (n == 0 || (n < rest.size && rest.data[n] != ' '))
		return false;
	script_split(ux_trim(script_behind(rest, n)), ret);
	return true;
}

/* Reads "PID/TID" or "TID" at the end of `before`, the text before the time. */
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

/* Reads "SECONDS.MICROSECONDS", or nanoseconds, at the end of the text and sets *ret_before to the
 * text before it. The result is the last nanosecond that is printed in this way. */
static bool script_head_time(struct ux_bytes text, struct ux_bytes *ret_before, uint64_t *ret)
{
	enum {
		DIGITS = 9
	};
	const uint64_t billion = 1000000000;
	size_t i = text.size, points = 0;
	while (i > 0 && (ux_is_digit(text.data[i - 1]) || text.data[i - 1] == '.'))
		points += text.data[--i] == '.';
	*ret_before = ux_bytes(text.data, i);
	if (points != 1 || i == 0 || i == text.size || text.data[i - 1] != ' ')
		return false;
	uint64_t seconds = 0, part = 0;
	struct ux_bytes time = script_behind(text, i);
	size_t n = ux_digits_parse(time, 10, &seconds);
	struct ux_bytes behind = script_behind(time, ux_min(n + 1, time.size));
	size_t m = ux_digits_parse(behind, 10, &part);
	*ret = 0;
	if (n == 0 || m == 0 || m > DIGITS || seconds >= UINT64_MAX / billion)
		return true;
	for (; m < DIGITS; m++)
		part = part * 10 + 9;
	*ret = seconds * billion + part;
	return true;
}

/* Returns whether the line is an event other than a sample, such as a mapping. */
static bool script_is_event(struct ux_bytes line)
{
	return line.size > 0 && memmem(line.data, line.size, ": PERF_RECORD_", 14);
}

/* Reads "PERIOD EVENT:" and the text after it. Sets both, or neither. */
static void script_head_event(struct ux_bytes text, struct script_head *ret)
{
	struct ux_bytes rest = ux_trim(text);
	uint64_t period = 0;
	ret->behind = text;
	const uint8_t *end = memmem(rest.data, rest.size, ": ", 2);
	if (!end && (rest.size == 0 || rest.data[rest.size - 1] != ':'))
		return;
	size_t n = ux_digits_parse(rest, 10, &period);
	if (n > 0 && n < rest.size && rest.data[n] == ' ') {
		ret->period = period;
		rest = ux_trim(script_behind(rest, n));
	}
	size_t size = end ? (size_t)(end - rest.data) : rest.size - 1;
	ret->behind = end ? script_behind(rest, size + 1) : UX_BYTES_NONE;
}

/* Reads the location on the line of the sample itself, where there are no callchains. */
static bool script_head_frame(const struct script_head *head, struct script_frame *ret)
{
	return script_frame_parse(head->behind, ret) && ret->dso.size > 0;
}

/* Parses the line of a sample, which is indented if there are no callchains. The header ends at the
 * first ": " after the timestamp. */
static bool script_head_parse(struct ux_bytes line, struct script_head *ret)
{
	*ret = (struct script_head){.period = 1};
	if (line.size == 0 || line.data[0] == '#')
		return false;
	for (size_t i = 1; i + 1 < line.size; i++) {
		struct ux_bytes before;
		if (line.data[i] != ':' || line.data[i + 1] != ' ' ||
		    !script_head_time(ux_bytes(line.data, i), &before, &ret->time) ||
		    !script_head_thread(before, ret))
			continue;
		script_head_event(script_behind(line, i + 1), ret);
		return !script_is_event(line);
	}
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

/* Returns the process whose code is in "/tmp/perf-PID.map", perf's name for memory without a file.
 * The head of a sample may have only the number of its thread. */
static uint32_t script_code_process(const struct script_reader *r, struct ux_bytes dso)
{
	struct ux_bytes prefix = UX_STR("/tmp/perf-");
	uint64_t pid = 0;
	if (ux_bytes_starts(dso, prefix) &&
	    ux_digits_parse(script_behind(dso, prefix.size), 10, &pid) > 0)
		return (uint32_t)pid;
	return (uint32_t)r->head.pid;
}

static uint64_t script_module_key(enum ux_profile_module_kind kind, uint32_t pid, uint32_t path)
{
	return (uint64_t)(kind == UX_PROFILE_JIT ? pid : 0) << 32 | path;
}

static enum ux_code script_module(struct script_reader *r, struct ux_bytes dso, uint32_t *ret,
				  struct ux_error *err)
{
	struct ux_profile_module m = {.kind = script_module_kind(dso)};
	bool fresh = false;
	*ret = 0;
	if (dso.size == 0)
		return UX_OK;
	if (m.kind == UX_PROFILE_JIT)
		m.pid = script_code_process(r, dso);
	UX_TRY(ux_profile_string(r->profile, dso, &m.path, err));
	uint32_t *module = ux_profile_numbers_insert(
		&r->modules, script_module_key(m.kind, m.pid, m.path), &fresh);
	if (!module)
		return ux_error_nomem(err);
	if (fresh)
		UX_TRY(ux_profile_add_module(r->profile, m, module, err));
	*ret = *module;
	return UX_OK;
}

/* Sets the jitdump of a process: the one that it had mapped, else one with its name. */
static enum ux_code script_dump(struct script_reader *r, uint32_t pid, struct ux_bytes path,
				uint32_t *ret, struct ux_error *err)
{
	bool fresh = false;
	char name[32];
	uint32_t *dump = ux_profile_numbers_insert(&r->dumps, pid, &fresh);
	if (!dump)
		return ux_error_nomem(err);
	if (fresh || path.size > 0) {
		(void)snprintf(name, sizeof(name), "jit-%" PRIu32 ".dump", pid);
		struct ux_profile_module m = {.kind = UX_PROFILE_JIT, .pid = pid};
		UX_TRY(ux_profile_string(r->profile, path.size > 0 ? path : ux_bytes_cstr(name),
					 &m.path, err));
		bool other = false;
		uint32_t *module = ux_profile_numbers_insert(
			&r->modules, script_module_key(m.kind, pid, m.path), &other);
		if (!module)
			return ux_error_nomem(err);
		if (other)
			UX_TRY(ux_profile_add_module(r->profile, m, module, err));
		*dump = *module;
	}
	*ret = *dump;
	return UX_OK;
}

/* Sets the location of run-time code by its process's jitdump. *ret is 0 if the jitdump lacks it.
 */
static enum ux_code script_code(struct script_reader *r, struct ux_bytes dso,
				struct ux_profile_place place, uint32_t *ret, struct ux_error *err)
{
	uint32_t dump = 0;
	uint64_t time = r->clock == SCRIPT_CLOCK_OTHER ? 0 : r->head.time;
	*ret = 0;
	if (!r->jit)
		return UX_OK;
	UX_TRY(script_dump(r, script_code_process(r, dso), UX_BYTES_NONE, &dump, err));
	uint32_t before = (uint32_t)r->profile->locations.size;
	UX_TRY(ux_profile_jit_locate(r->jit, r->profile, dump, place, time, ret, err));
	if (r->clock != SCRIPT_CLOCK_UNKNOWN || time == 0)
		return UX_OK;
	r->jit->unsure += *ret >= before;
	return *ret != 0 ? UX_OK
			 : ux_profile_jit_locate(r->jit, r->profile, dump, place, 0, ret, err);
}

/* Returns whether an event's attributes have the number of CLOCK_MONOTONIC. */
static bool script_says_monotonic(struct ux_bytes line)
{
	struct ux_bytes field = UX_STR(", clockid = ");
	uint64_t clock = 0;
	const uint8_t *at = memmem(line.data, line.size, field.data, field.size);
	if (!at)
		return false;
	struct ux_bytes number = script_behind(line, (size_t)(at - line.data) + field.size);
	return ux_digits_parse(number, 10, &clock) > 0 && clock == CLOCK_MONOTONIC;
}

/* Reads facts from a line other than a sample: the clock of the times, in the header of the text,
 * and where a process mapped its jitdump. */
static enum ux_code script_note(struct script_reader *r, struct ux_bytes line, struct ux_error *err)
{
	uint64_t pid = 0;
	uint32_t dump = 0;
	if (!line.data) /* an empty line; string functions must not get a null pointer */
		return UX_OK;
	if (ux_bytes_starts(line, UX_STR("# event : "))) {
		bool monotonic = memmem(line.data, line.size, ", use_clockid = 1,", 18) &&
				 script_says_monotonic(line);
		if (r->clock != SCRIPT_CLOCK_OTHER)
			r->clock = monotonic ? SCRIPT_CLOCK_MONOTONIC : SCRIPT_CLOCK_OTHER;
		return UX_OK;
	}
	const uint8_t *mmap = memmem(line.data, line.size, ": PERF_RECORD_MMAP", 18);
	if (!r->jit || !mmap)
		return UX_OK;
	struct ux_bytes rest = script_behind(line, (size_t)(mmap + 2 - line.data));
	const uint8_t *blank = memchr(rest.data, ' ', rest.size);
	const uint8_t *path = memmem(rest.data, rest.size, " /", 2);
	if (!blank || !path ||
	    ux_digits_parse(script_behind(rest, (size_t)(blank + 1 - rest.data)), 10, &pid) == 0)
		return UX_OK;
	struct ux_bytes file = ux_trim(script_behind(rest, (size_t)(path + 1 - rest.data)));
	return ux_jitdump_path_is(file) ? script_dump(r, (uint32_t)pid, file, &dump, err) : UX_OK;
}

/* Sets the location of a symbol: one for each symbol and module, whatever the address. */
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

/* Sets the location of a line. After the kernel's locations, the first location of the process is
 * where it was interrupted; all other callers are return addresses. */
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
	*ret = 0;
	if (f->address >> 63 == 0 && (module == 0 || kind == UX_PROFILE_JIT))
		UX_TRY(script_code(r, f->dso, place, ret, err));
	return *ret != 0 ? UX_OK : ux_profile_locate(r->profile, place, ret, err);
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
	if (r->stack.size >= UX_PROFILE_DEPTH_MAX)
		return ux_error_set(err, UX_ELIMIT, "stack has more than %d locations",
				    UX_PROFILE_DEPTH_MAX);
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
	if (line.data[0] == '#' || script_is_event(line))
		return script_note(r, line, err);
	if (script_head_parse(line, &head)) {
		script_begin(r, &head);
		if (!script_head_frame(&head, &frame))
			return UX_OK;
		UX_TRY(script_add(r, &frame, err));
		return script_end(r, err); /* the next line belongs to another sample */
	}
	return ux_error_set(err, UX_ECORRUPT,
			    "line %" PRIu64 ": expected a sample of `perf script`, or a location",
			    number);
}

enum ux_code ux_perf_script_read(struct ux_bytes text, struct ux_profile_jit *jit,
				 struct ux_profile *p, struct ux_error *err)
{
	static const char *const types[SCRIPT_VALUES][2] = {{"samples", "count"},
							    {"period", "count"}};
	ux_cleanup(script_reader_deinit) struct script_reader r = {.profile = p, .jit = jit};
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

/* Writes the lines of a location that was named. */
static void script_write_frames(const struct ux_profile *p, const struct ux_profile_location *l,
				const struct script_frame *f, struct ux_bytes line,
				enum ux_demangle_mode mode, struct ux_out *out)
{
	const uint8_t *digits_end = f->start;
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

/* Writes the line of a sample whose location, at its end, was named: with the function there, in
 * perf's form without callchains. */
static void script_write_head(const struct ux_profile *p, const struct ux_profile_location *l,
			      const struct script_frame *f, struct ux_bytes line,
			      enum ux_demangle_mode mode, struct ux_out *out)
{
	const uint8_t *digits_end = f->start;
	while (digits_end < line.data + line.size && ux_hex_digit((char)*digits_end) >= 0)
		digits_end++;
	ux_out_put(out, line.data, (size_t)(digits_end - line.data));
	ux_out_u8(out, ' ');
	ux_profile_write_name(p, &p->frames.data[l->first + l->n - 1], mode, out);
	ux_out_cstr(out, " (");
	ux_out_put(out, f->printed.data, f->printed.size);
	ux_out_cstr(out, ")\n");
}

/* Replaces the line by the lines of its names. *ret: it was replaced. */
static enum ux_code script_rewrite_line(struct script_reader *r, struct ux_bytes line,
					enum ux_demangle_mode mode, struct ux_out *out,
					bool *ret_replaced, struct ux_error *err)
{
	struct script_head head;
	struct script_frame frame;
	uint32_t location = 0;
	bool in_head = false;
	*ret_replaced = false;
	if (script_is_blank(line)) {
		r->in_sample = false;
		return UX_OK;
	}
	if (!r->in_sample || !script_frame_parse(line, &frame)) {
		r->in_sample = false; /* as when it was read */
		if (line.data[0] == '#' || script_is_event(line))
			return script_note(r, line, err);
		if (!script_head_parse(line, &head))
			return UX_OK;
		script_begin(r, &head);
		in_head = true;
		if (!script_head_frame(&head, &frame))
			return UX_OK;
		r->in_sample = false;
	}
	UX_TRY(script_locate(r, &frame, &location, err));
	const struct ux_profile_location *l = &r->profile->locations.data[location];
	if (l->n == 0 || l->named)
		return UX_OK;
	if (in_head)
		script_write_head(r->profile, l, &frame, line, mode, out);
	else
		script_write_frames(r->profile, l, &frame, line, mode, out);
	*ret_replaced = true;
	return UX_OK;
}

enum ux_code ux_perf_script_rewrite(struct ux_bytes text, struct ux_profile_jit *jit,
				    struct ux_profile *p, enum ux_demangle_mode mode,
				    struct ux_out *out, struct ux_error *err)
{
	ux_cleanup(script_reader_deinit) struct script_reader r = {
		.profile = p, .jit = jit, .rewriting = true};
	struct ux_bytes whole, line;
	for (size_t i = 1; i < p->modules.size; i++) {
		const struct ux_profile_module *m = &p->modules.data[i];
		bool fresh = false;
		uint32_t *module = ux_profile_numbers_insert(
			&r.modules, script_module_key(m->kind, m->pid, m->path), &fresh);
		if (!module)
			return ux_error_nomem(err);
		*module = (uint32_t)i;
	}
	while (ux_profile_line(&text, &whole, &line)) {
		bool replaced = false;
		UX_TRY(script_rewrite_line(&r, line, mode, out, &replaced, err));
		if (!replaced)
			ux_out_put(out, whole.data, whole.size);
	}
	return ux_out_status(out, err);
}
