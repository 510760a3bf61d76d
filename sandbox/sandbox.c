/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parent's side: starts the child, waits with a deadline, and checks everything that it
 * returns.
 */
#include "sandbox.h"

#include "cursor.h"

#include "child_process.h"
#include "clock.h"
#include "extract.h"
#include "file.h"
#include "packed_file.h"
#include "region.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	SPARE_SECONDS = 2, /* s to start the child on a busy machine */
	LAYERS_MEMORY = 64 << 20,
	LAYERS_SECONDS = 10,
	PACE_MS = 100,    /* ms between the caller's checks of a working child */
	CLOCK_FACTOR = 2, /* seconds of wall-clock time for each second of processor time */
};

enum waited {
	WAITED_REPLY, /* or the child has ended */
	WAITED_TIME,
	WAITED_STOP,
};

/* Lets the caller check the child. Returns the ms that took. */
static int64_t child_pace(const struct ux_child *c, const struct ux_sandbox_limits *l)
{
	int64_t before = ux_clock_ms();
	l->pace(l->pace_ctx, (int)c->pid);
	return ux_clock_ms() - before;
}

static enum waited child_wait_reply(struct ux_child *c, const struct ux_sandbox_limits *l)
{
	const int64_t slice = l->pace ? PACE_MS : INT_MAX;
	int64_t end = ux_clock_ms() + ((int64_t)l->seconds * CLOCK_FACTOR + SPARE_SECONDS) * 1000;
	struct pollfd p[] = {{.fd = c->talk, .events = POLLIN},
			     {.fd = l->stop ? *l->stop : -1, .events = POLLIN}};
	for (;;) {
		int64_t left = end - ux_clock_ms();
		if (left <= 0)
			return WAITED_TIME;
		int r = poll(p, ux_countof(p), (int)ux_min(left, slice));
		if (r == 0 && l->pace)
			end += child_pace(c, l);
		if (r > 0)
			return p[0].revents != 0 ? WAITED_REPLY : WAITED_STOP;
		if (r < 0 && errno != EINTR)
			return WAITED_TIME;
	}
}

static void reply_clean_text(char *text, size_t size)
{
	text[size - 1] = '\0';
	for (char *p = text; *p != '\0'; p++)
		if ((unsigned char)*p < ' ' || *p == 127)
			*p = '?';
}

static bool reply_clean_error(struct ux_error *e)
{
	reply_clean_text(e->text, sizeof(e->text));
	reply_clean_text(e->section, sizeof(e->section));
	return (unsigned)e->code < UX_CODE_COUNT;
}

static bool reply_clean_id(struct ux_id *id)
{
	struct ux_id made = {0};
	if (id->size > sizeof(id->bytes) ||
	    ux_id_make((enum ux_id_type)id->type, ux_bytes(id->bytes, id->size), &made, NULL) !=
		    UX_OK)
		return false;
	*id = made;
	return true;
}

static bool reply_clean_ids(struct ux_id_set *ids)
{
	struct ux_id_set clean = {0};
	if (ids->size > ux_countof(ids->ids))
		return false;
	for (size_t i = 0; i < ids->size; i++)
		if (!reply_clean_id(&ids->ids[i]) ||
		    ux_id_set_add(&clean, &ids->ids[i], NULL) != UX_OK)
			return false;
	*ids = clean;
	return true;
}

static bool reply_clean_supplementary(struct ux_sandbox_found *f)
{
	struct ux_id *id = &f->supplementary;
	if (!memchr(f->supplementary_path, '\0', sizeof(f->supplementary_path)))
		return false;
	return id->size == 0 ? !f->needs_supplementary
			     : reply_clean_id(id) && id->type == UX_ID_GNU;
}

/*
 * Computes a File ID again, since it is a property of the bytes: a child that was taken over must
 * not make this file an alias of another one. The other IDs are claims of the file, and a hostile
 * file can claim any.
 */
static bool reply_has_true_file_id(const struct ux_id_set *ids, int exe)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	if (!ux_id_set_find(ids, UX_ID_FILE))
		return true;
	if (ux_file_map_fd(exe, &file, NULL) != UX_OK)
		return false;
	struct ux_id want = ux_file_id(file.bytes);
	for (size_t i = 0; i < ids->size; i++)
		if (ids->ids[i].type == UX_ID_FILE &&
		    memcmp(&ids->ids[i], &want, sizeof(want)) != 0)
			return false;
	return true;
}

/* Checks and cleans a reply. exe: the first file that the child got. */
static bool reply_clean(struct ux_sandbox_reply *r, int exe)
{
	static const unsigned has =
		UX_SANDBOX_HAS_CODE | UX_SANDBOX_HAS_DEBUG | UX_SANDBOX_HAS_SECTIONS;
	static const unsigned layers = UX_SANDBOX_LACKS_LANDLOCK | UX_SANDBOX_LACKS_NAMESPACE |
				       UX_SANDBOX_LACKS_CAPABILITIES;
	return r->size == sizeof(*r) && reply_clean_error(&r->err) &&
	       reply_clean_error(&r->found.lost) && reply_clean_ids(&r->found.ids) &&
	       reply_has_true_file_id(&r->found.ids, exe) && reply_clean_supplementary(&r->found) &&
	       (unsigned)r->found.quality < UX_QUALITY_COUNT && (r->found.has & ~has) == 0 &&
	       (r->found.debug_has & ~has) == 0 && (r->found.lacks & ~layers) == 0;
}

enum ux_code ux_sandbox_reply_take(struct ux_sandbox_reply *got, int exe,
				   const struct ux_sandbox_limits *limits,
				   struct ux_sandbox_found *ret, struct ux_error *err)
{
	if (!reply_clean(got, exe))
		return ux_error_set(err, UX_ECORRUPT,
				    "reading the input failed: the sandbox sent an invalid answer");
	*ret = got->found;
	ret->out_of_time = false;
	if (got->err.code == UX_OK)
		return UX_OK;
	if (got->err.code == UX_ENOMEM)
		return ux_error_set(err, UX_ELIMIT,
				    "reading the input needs more than %" PRIu64 " bytes",
				    limits->memory);
	if (got->err.os_errno == EFBIG)
		return ux_error_set(err, UX_ELIMIT, "the output exceeds %" PRIu64 " bytes",
				    limits->output);
	if (err && err->code == UX_OK)
		*err = got->err;
	return got->err.code;
}

static enum ux_code child_read_reply(struct ux_child *c, const struct ux_sandbox_limits *limits,
				     struct ux_sandbox_found *ret, struct ux_error *err)
{
	struct ux_sandbox_reply got;
	ssize_t n = recv(c->talk, &got, sizeof(got), MSG_TRUNC);
	if (n <= 0)
		return ux_child_end_error(c, limits, &ret->out_of_time, err);
	if (n != (ssize_t)sizeof(got))
		return ux_error_set(err, UX_ECORRUPT,
				    "reading the input failed: the sandbox sent an invalid answer");
	return ux_sandbox_reply_take(&got, c->moved[UX_SANDBOX_EXE], limits, ret, err);
}

struct ux_sandbox_request ux_sandbox_request_make(const int *files,
						  const struct ux_sandbox_limits *limits,
						  const struct ux_sandbox_request *request)
{
	struct ux_sandbox_request whole = *request;
	whole.size = sizeof(whole);
	whole.memory = limits->memory;
	whole.disk = files[UX_SANDBOX_SPILL] >= 0 ? limits->disk : 0;
	whole.output = limits->output;
	whole.seconds = limits->seconds;
	for (int i = 0; i < UX_SANDBOX_FILE_COUNT; i++)
		whole.files |= (uint32_t)(files[i] >= 0) << i;
	return whole;
}

enum ux_code ux_sandbox_check(struct ux_bytes file, struct ux_error *err)
{
	return ux_extract_check(file, err);
}

/* Returns whether the task uses limits->disk. */
static bool sandbox_task_spills(uint32_t task)
{
	return task == UX_SANDBOX_EXTRACT || task == UX_SANDBOX_SYMBOLS || task == UX_SANDBOX_FACTS;
}

static void sandbox_close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

/* Sets the file of limits->disk bytes: *ret, which is *own if it was made for this child. */
static enum ux_code sandbox_open_spill(const struct ux_sandbox_limits *limits, int *own, int *ret,
				       struct ux_error *err)
{
	if (!limits->spill) {
		UX_TRY(ux_spill_open(ux_spill_folder(), limits->disk, own, err));
		*ret = *own;
		return UX_OK;
	}
	*ret = *limits->spill;
	if (ftruncate(*ret, 0) != 0 || ftruncate(*ret, (off_t)limits->disk) != 0)
		return ux_error_os(err, errno, "cannot create a file of %" PRIu64 " bytes",
				   limits->disk);
	return UX_OK;
}

static enum ux_code sandbox_run_task(const int files[UX_SANDBOX_FILE_COUNT],
				     const struct ux_sandbox_limits *limits, const char *program,
				     const struct ux_sandbox_request *request,
				     struct ux_sandbox_found *ret, struct ux_error *err)
{
	ux_cleanup(ux_child_deinit) struct ux_child c = ux_child_none;
	ux_cleanup(sandbox_close_fd) int own = -1;
	int spill = -1;
	int all[UX_SANDBOX_FILE_COUNT];
	*ret = (struct ux_sandbox_found){0};
	if (limits->disk > 0 && sandbox_task_spills(request->task))
		UX_TRY(sandbox_open_spill(limits, &own, &spill, err));
	memcpy(all, files, sizeof(all));
	all[UX_SANDBOX_SPILL] = spill;
	const struct ux_sandbox_request whole = ux_sandbox_request_make(all, limits, request);
	UX_TRY(ux_child_move_files(&c, all, err));
	UX_TRY(limits->forks ? ux_child_fork(&c, limits->forks, &whole, err)
			     : ux_child_start(&c, &whole, program, err));
	enum waited waited = child_wait_reply(&c, limits);
	if (waited == WAITED_STOP)
		return ux_error_set(err, UX_EUNAVAILABLE, "reading the input was stopped");
	ret->out_of_time = waited == WAITED_TIME;
	if (waited == WAITED_TIME)
		return ux_error_set(err, UX_ELIMIT,
				    "reading the input exceeded its timeout of %u s",
				    limits->seconds);
	return child_read_reply(&c, limits, ret, err);
}

enum ux_code ux_sandbox_extract(const int files[UX_SANDBOX_FILE_COUNT],
				const struct ux_sandbox_limits *limits, const char *program,
				struct ux_sandbox_found *ret, struct ux_error *err)
{
	const struct ux_sandbox_request request = {.task = UX_SANDBOX_EXTRACT};
	return sandbox_run_task(files, limits, program, &request, ret, err);
}

enum ux_code ux_sandbox_inspect(int file, const struct ux_sandbox_limits *limits,
				const char *program, struct ux_sandbox_found *ret,
				struct ux_error *err)
{
	const struct ux_sandbox_request request = {.task = UX_SANDBOX_INSPECT};
	const int files[UX_SANDBOX_FILE_COUNT] = {file, -1, -1, -1, -1, -1};
	return sandbox_run_task(files, limits, program, &request, ret, err);
}

/* An empty file is no ELF file, which the child says after it was confined. */
enum ux_code ux_sandbox_layers(const char *program, unsigned *ret_lacks, struct ux_error *err)
{
	const struct ux_sandbox_limits limits = {.memory = LAYERS_MEMORY,
						 .seconds = LAYERS_SECONDS};
	struct ux_error why = UX_ERROR_INIT;
	struct ux_sandbox_found found;
	ux_cleanup(sandbox_close_fd) int empty = -1;
	UX_TRY(ux_file_temporary(&empty, err));
	enum ux_code code = ux_sandbox_inspect(empty, &limits, program, &found, &why);
	*ret_lacks = found.lacks;
	if (code == UX_EUNSUPPORTED)
		return UX_OK;
	return ux_error_set(err, UX_EUNAVAILABLE, "%s", why.text);
}

enum ux_code ux_sandbox_check_source(int elf, const char *path, const uint8_t md5[UX_MD5_BYTES],
				     const struct ux_sandbox_limits *limits, const char *program,
				     struct ux_error *err)
{
	struct ux_sandbox_request request = {.task = UX_SANDBOX_SOURCE};
	const int files[UX_SANDBOX_FILE_COUNT] = {elf, -1, -1, -1, -1, -1};
	struct ux_sandbox_found found;
	if (snprintf(request.source, sizeof(request.source), "%s", path) >=
	    (int)sizeof(request.source))
		return ux_error_set(err, UX_EINVAL, "path of a source file exceeds %d bytes",
				    UX_PATH_BYTES - 1);
	memcpy(request.md5, md5, sizeof(request.md5));
	return sandbox_run_task(files, limits, program, &request, &found, err);
}

enum ux_code ux_sandbox_unpack(int archive, int out, const struct ux_sandbox_limits *limits,
			       const char *program, struct ux_error *err)
{
	const struct ux_sandbox_request request = {.task = UX_SANDBOX_UNPACK};
	const int files[UX_SANDBOX_FILE_COUNT] = {archive, -1, -1, -1, out, -1};
	struct ux_sandbox_found found;
	return sandbox_run_task(files, limits, program, &request, &found, err);
}

enum ux_code ux_sandbox_disassemble(int elf, const struct ux_code_range *range, int out,
				    const struct ux_sandbox_limits *limits, const char *program,
				    struct ux_error *err)
{
	const struct ux_sandbox_request request = {.task = UX_SANDBOX_DISASSEMBLE, .range = *range};
	const int files[UX_SANDBOX_FILE_COUNT] = {elf, -1, -1, -1, out, -1};
	struct ux_sandbox_found found;
	return sandbox_run_task(files, limits, program, &request, &found, err);
}

bool ux_instruction_next(struct ux_bytes *left, struct ux_instruction *ret, struct ux_error *err)
{
	if (left->size == 0)
		return false;
	struct ux_cur c = ux_cur_make(*left, "instructions", /* swap= */ false);
	ret->offset = ux_cur_u32(&c);
	ret->target = ux_cur_u64(&c);
	ret->text = ux_cur_take(&c, ux_cur_u16(&c));
	if (ux_cur_status(&c, err) != UX_OK)
		return false;
	*left = ux_bytes(c.pos, ux_cur_left(&c));
	return true;
}

static enum ux_code sandbox_run_parts(const struct ux_sandbox_part *parts, size_t n, int out,
				      const struct ux_sandbox_limits *limits, const char *program,
				      struct ux_sandbox_request *request,
				      struct ux_sandbox_found *ret, struct ux_error *err)
{
	int files[UX_SANDBOX_FILE_COUNT] = UX_SANDBOX_NO_FILES;
	for (size_t i = 0; i < n; i++) {
		if (parts[i].size == 0)
			continue;
		files[i] = parts[i].fd;
		request->parts[i].off = parts[i].off;
		request->parts[i].size = parts[i].size;
	}
	files[UX_SANDBOX_GSYM] = out;
	return sandbox_run_task(files, limits, program, request, ret, err);
}

enum ux_code ux_sandbox_members(const struct ux_sandbox_part *archive, enum ux_members_mode mode,
				int out, const struct ux_sandbox_limits *limits,
				const char *program, struct ux_error *err)
{
	struct ux_sandbox_request request = {.task = UX_SANDBOX_MEMBERS, .mode = mode};
	struct ux_sandbox_found found;
	return sandbox_run_parts(archive, 1, out, limits, program, &request, &found, err);
}

/*
 * Checks the facts. The IDs of a file are the file's claims, and a hostile one can claim any. Its
 * File ID is a property of its bytes, and is computed again if the module is the whole part,
 * unpacked.
 */
static bool facts_clean(struct ux_module_facts *f, struct ux_bytes part)
{
	struct ux_id want = ux_file_id(part);
	const struct ux_id *file = ux_id_set_find(&f->ids, UX_ID_FILE);
	bool whole = f->arch[0] == '\0' && f->gpu == 0 && !ux_packed_is(part);
	f->arch[sizeof(f->arch) - 1] = '\0';
	return f->ids.size > 0 && reply_clean_ids(&f->ids) &&
	       (f->alias.size == 0 || reply_clean_id(&f->alias)) &&
	       (f->needs.size == 0 || reply_clean_id(&f->needs)) &&
	       (unsigned)f->claim < UX_QUALITY_COUNT && (!file || !whole || ux_id_eq(file, &want));
}

static enum ux_code facts_take(struct ux_bytes bytes, struct ux_bytes part,
			       struct ux_module_facts_vec *ret, struct ux_error *err)
{
	struct ux_module_facts f;
	if (bytes.size % sizeof(f) != 0 || bytes.size / sizeof(f) > UX_SANDBOX_FACTS_MAX)
		return ux_error_set(err, UX_ECORRUPT,
				    "reading the input failed: the sandbox sent an invalid answer");
	for (size_t at = 0; at < bytes.size; at += sizeof(f)) {
		/* a bool that is neither 0 nor 1 must not be read as one */
		for (size_t i = offsetof(struct ux_module_facts, macho);
		     i <= offsetof(struct ux_module_facts, linked); i++)
			if (bytes.data[at + i] > 1)
				return ux_error_set(
					err, UX_ECORRUPT,
					"reading the input failed: the sandbox sent an invalid answer");
		memcpy(&f, bytes.data + at, sizeof(f));
		if (!facts_clean(&f, part))
			return ux_error_set(
				err, UX_ECORRUPT,
				"reading the input failed: the sandbox sent an invalid answer");
		if (!ux_module_facts_vec_append(ret, f))
			return ux_error_nomem(err);
	}
	return UX_OK;
}

enum ux_code ux_sandbox_facts(const struct ux_sandbox_part *file, bool no_gpu, int scratch,
			      const struct ux_sandbox_limits *limits, const char *program,
			      struct ux_module_facts_vec *ret, struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping whole = {0}, facts = {0};
	struct ux_sandbox_request request = {.task = UX_SANDBOX_FACTS, .flag = no_gpu};
	struct ux_sandbox_found found;
	struct ux_bytes part;
	UX_TRY(sandbox_run_parts(file, 1, scratch, limits, program, &request, &found, err));
	UX_TRY(ux_file_map_fd(file->fd, &whole, err));
	UX_TRY(ux_file_map_fd(scratch, &facts, err));
	if (!ux_bytes_sub(whole.bytes, file->off, file->size, &part))
		return ux_error_set(err, UX_EINVAL, "the part is not in its file");
	return facts_take(facts.bytes, part, ret, err);
}

enum ux_code ux_sandbox_symbols(const struct ux_sandbox_symbols *what, int out,
				const struct ux_sandbox_limits *limits, const char *program,
				struct ux_sandbox_found *ret, struct ux_error *err)
{
	const struct ux_sandbox_part parts[] = {
		[UX_SANDBOX_EXE] = what->exe,
		[UX_SANDBOX_DEBUG] = what->debug,
		[UX_SANDBOX_SUPPLEMENTARY] = what->supplementary,
		[UX_SANDBOX_SPLIT] = what->split,
	};
	struct ux_sandbox_request request = {.task = UX_SANDBOX_SYMBOLS,
					     .gpu = what->gpu,
					     .flag = what->allow_mismatch,
					     .no_supplementary = what->no_supplementary,
					     .no_dwarf = what->no_dwarf};
	if (what->arch)
		snprintf(request.arch, sizeof(request.arch), "%s", what->arch);
	return sandbox_run_parts(parts, ux_countof(parts), out, limits, program, &request, ret,
				 err);
}

enum ux_code ux_sandbox_runtime(const struct ux_sandbox_part *file,
				const struct ux_runtime_request *what, int out,
				const struct ux_sandbox_limits *limits, const char *program,
				struct ux_error *err)
{
	struct ux_sandbox_request request = {.task = UX_SANDBOX_RUNTIME, .runtime = *what};
	struct ux_sandbox_found found;
	return sandbox_run_parts(file, 1, out, limits, program, &request, &found, err);
}
