/* SPDX-License-Identifier: Apache-2.0 */
/* The profile that a command reads. */
#include "profile_input.h"

#include "output.h"
#include "packed_file.h"
#include "profile_unwind.h"
#include "sigbus.h"
#include "stripped.h"
#include "unhex/process.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
	MISSING_MAX = 10, /* modules that the report lists without --verbose */
};

void ux_profile_options_free(struct ux_profile_options *v)
{
	free(v->find.dirs);
	free(v->files);
}

void ux_profile_input_close(struct ux_profile_input *in)
{
	ux_progress_clear(&in->progress);
	ux_profile_jit_deinit(&in->jit);
	ux_profile_deinit(&in->profile);
	ux_profile_document_close(&in->document);
	ux_process_cache_free(in->cache);
	ux_find_close(&in->finder);
	ux_sigbus_reading(NULL);
	ux_file_unmap(&in->file);
	ux_dash_file_close(&in->dash);
	ux_runtime_list_deinit(&in->runtime);
}

/*
 * Makes malloc() give large blocks back to the system when they are freed. By default it keeps
 * blocks of up to 32 MiB once one was freed, and the holes between the remaining blocks were a
 * tenth of the memory of a million locations.
 */
static void profile_input_tune_malloc(void)
{
	enum {
		MAPPED_MIN = 4 << 20,
		KEPT_MAX = 8 << 20,
	};
	(void)mallopt(M_MMAP_THRESHOLD, MAPPED_MIN);
	(void)mallopt(M_TRIM_THRESHOLD, KEPT_MAX);
}

/* --- local files ------------------------------------------------------------------------------ */

static enum ux_code profile_input_find_debug(void *ctx, const char *build_id, char **ret_path,
					     struct ux_error *err)
{
	struct ux_id id;
	UX_TRY(ux_id_parse(ux_bytes_cstr(build_id), &id, err));
	return ux_debuginfod_find(ctx, &id, UX_DEBUGINFOD_DEBUGINFO, ret_path, err);
}

/* Prepares the search for files of modules. */
static enum ux_code profile_input_open_files(struct ux_profile_input *in,
					     const struct ux_profile_options *v,
					     struct ux_error *err)
{
	struct ux_process_cache_opts opts = {.size = sizeof(opts), .debug_dirs = v->find.dirs};
	if (in->cache)
		return UX_OK;
	UX_TRY(ux_find_open(&in->finder, &v->find, err));
	opts.find = in->finder.server ? profile_input_find_debug : NULL;
	opts.find_ctx = in->finder.server;
	return ux_process_cache_create(&opts, &in->cache, err);
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Reads a recording of perf as a stream: only its profile stays in memory. */
static enum ux_code profile_input_read_perf(struct ux_profile_input *in, const char *path,
					    const struct ux_profile_options *v,
					    struct ux_error *err)
{
	UX_TRY(profile_input_open_files(in, v, err));
	in->reading.cache = in->cache;
	struct ux_profile_unwind *unwind = calloc(1, sizeof(*unwind));
	ux_cleanup(ux_free_ptr) void *owned = unwind;
	if (!owned)
		return ux_error_nomem(err);
	unwind->sources = &in->reading;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return ux_error_os(err, errno, "cannot open");
	ux_file_unmap(&in->file);
	in->document.format = UX_PROFILE_FORMAT_PERF_DATA;
	in->profile.keep_times = in->keep_times;
	struct ux_perf_source source = {.fd = fd, .unwind = unwind, .jit = &in->jit};
	enum ux_code code = ux_perf_data_read(source, &in->profile, &in->document.perf, err);
	(void)close(fd);
	ux_profile_unwind_deinit(unwind);
	return code;
}

/* --- names ------------------------------------------------------------------------------------ */

/* Notes for the exit status that the server refused a request, or could not be reached. */
static enum ux_code profile_input_asked(struct ux_profile_input *in, enum ux_code code)
{
	if (code == UX_EDENIED || code == UX_EUNAVAILABLE)
		atomic_store(&in->refused, true);
	if (code == UX_EDENIED)
		atomic_store(&in->denied, true);
	return code;
}

/* Sends the pcs of one module to the server, in batches. */
static enum ux_code profile_input_send(void *ctx, const struct ux_id *id, const uint64_t *pcs,
				       size_t n, ux_frames_fn *fn, void *fn_ctx,
				       struct ux_error *err)
{
	struct ux_profile_input *in = ctx;
	struct ux_remote_address *addresses = calloc(UX_REMOTE_BATCH, sizeof(*addresses));
	ux_cleanup(ux_free_ptr) void *owned = addresses;
	ux_cleanup(ux_remote_close) struct ux_remote remote = {0};
	char text[UX_ID_TEXT];
	if (!owned)
		return ux_error_nomem(err);
	ux_id_format(id, text);
	UX_TRY(ux_remote_open(&remote, &in->server, text, UX_DEMANGLE_NONE, err));
	for (size_t done = 0; done < n;) {
		size_t part = ux_min(n - done, (size_t)UX_REMOTE_BATCH);
		for (size_t i = 0; i < part; i++)
			addresses[i] = (struct ux_remote_address){.address = pcs[done + i]};
		UX_TRY(ux_remote_send(&remote, addresses, part, err));
		for (size_t i = 0; i < part; i++) {
			struct ux_frame frames[UX_FRAMES_MAX];
			size_t count = ux_remote_frames(&remote, i, frames, UX_FRAMES_MAX);
			if (count > 0 && !fn(fn_ctx, done + i, frames, count))
				return UX_OK;
		}
		done += part;
	}
	return UX_OK;
}

static enum ux_code profile_input_query(void *ctx, const struct ux_id *id, const uint64_t *pcs,
					size_t n, ux_frames_fn *fn, void *fn_ctx,
					struct ux_error *err)
{
	struct ux_profile_input *in = ctx;
	return profile_input_asked(in, profile_input_send(ctx, id, pcs, n, fn, fn_ctx, err));
}

/* Requests the lowest virtual address of a module from the server. */
static enum ux_code profile_input_base(void *ctx, const struct ux_id *id, uint64_t *ret,
				       struct ux_error *err)
{
	struct ux_profile_input *in = ctx;
	char text[UX_ID_TEXT];
	return profile_input_asked(
		in, ux_remote_image_base(&in->server, ux_id_format(id, text), ret, err));
}

/* Requests the first bytes of a module's executable from the server. */
static enum ux_code profile_input_head(void *ctx, const struct ux_id *id, struct ux_out *ret,
				       struct ux_error *err)
{
	struct ux_profile_input *in = ctx;
	return profile_input_asked(in, ux_remote_executable_head(&in->server, id, ret, err));
}

/* Requests the segments of a module's executable from the server's symbols. */
static enum ux_code profile_input_segments(void *ctx, const struct ux_id *id,
					   struct ux_gsym_segments *ret, struct ux_error *err)
{
	struct ux_profile_input *in = ctx;
	char text[UX_ID_TEXT];
	return profile_input_asked(
		in, ux_remote_segments(&in->server, ux_id_format(id, text), ret, err));
}

/* Requests the server's symbols of the run-time code of a process. Keeps the last answer: it is
 * needed while the profile is read, and for each span of time when it is named. */
static enum ux_code profile_input_runtime(void *ctx, const char *host, uint32_t pid,
					  struct ux_runtime_list *ret, struct ux_error *err)
{
	struct ux_profile_input *in = ctx;
	if (pid != in->runtime_pid) {
		in->runtime.size = 0;
		in->runtime_pid = 0;
		UX_TRY(ux_remote_find_runtime(&in->server, host, pid, &in->runtime, err));
		in->runtime_pid = pid;
	}
	if (!ux_runtime_list_reserve(ret, ret->size + in->runtime.size))
		return ux_error_nomem(err);
	for (size_t i = 0; i < in->runtime.size; i++)
		ret->data[ret->size++] = in->runtime.data[i];
	return UX_OK;
}

static enum ux_code profile_input_select(struct ux_profile_input *in,
					 const struct ux_profile_options *v, struct ux_error *err)
{
	struct ux_server_values values = v->server;
	if (in->selected)
		return UX_OK;
	in->selected = true;
	in->selecting = true;
	UX_TRY(ux_server_select(&values, &in->server, err));
	in->selecting = false;
	return UX_OK;
}

enum ux_code ux_profile_input_read(struct ux_profile_input *in, const char *name,
				   const struct ux_profile_options *v, struct ux_error *err)
{
	const char *path = NULL;
	profile_input_tune_malloc();
	UX_TRY(ux_profile_init(&in->profile, err));
	UX_TRY(ux_dash_file_read(&in->dash, name, in->head, &path, err));
	ux_sigbus_reading(name);
	in->reading = (struct ux_profile_sources){.file_dirs = v->files, .no_local = v->no_local};
	if (ux_server_is_named(&v->server)) {
		UX_TRY(profile_input_select(in, v, err));
		in->reading.server_runtime = profile_input_runtime;
		in->reading.server_ctx = in;
	}
	in->jit.sources = &in->reading;
	in->document.jit = &in->jit;
	UX_TRY(ux_file_map(path, &in->file, err));
	if (ux_perf_data_is(in->file.bytes))
		return profile_input_read_perf(in, path, v, err);
	in->packed = ux_bytes_starts(in->file.bytes, UX_STR("\x1f\x8b"));
	UX_TRY(ux_packed_open(&in->file, err));
	bool has_times = ux_profile_format_of(in->file.bytes) == UX_PROFILE_FORMAT_FIREFOX;
	in->profile.keep_times = has_times && in->keep_times;
	return ux_profile_document_read(&in->document, in->file.bytes, &in->profile, err);
}

static void profile_input_on_progress(void *ctx, size_t done, size_t total)
{
	struct ux_profile_input *in = ctx;
	in->progress.files = done;
	in->progress.files_total = total;
	ux_progress_show(&in->progress);
}

enum ux_code ux_profile_input_sources(struct ux_profile_input *in, struct ux_profile_options *v,
				      struct ux_profile_sources *ret, struct ux_error *err)
{
	bool has_server = ux_server_is_named(&v->server);
	UX_TRY(profile_input_open_files(in, v, err));
	if (has_server)
		UX_TRY(profile_input_select(in, v, err));
	*ret = (struct ux_profile_sources){
		.cache = in->cache,
		.file_dirs = v->files,
		.no_local = v->no_local,
		.no_kernel = v->no_local,
		.no_dwarf = v->no_dwarf,
		.server = has_server ? profile_input_query : NULL,
		.server_base = has_server ? profile_input_base : NULL,
		.server_head = has_server ? profile_input_head : NULL,
		.server_segments = has_server ? profile_input_segments : NULL,
		.server_runtime = has_server ? profile_input_runtime : NULL,
		.server_ctx = in,
		.progress = profile_input_on_progress,
		.progress_ctx = in,
	};
	return UX_OK;
}

enum {
	SPILL_MIN = 4 << 20 /* bytes of a message */
};

/* Returns whether RLIMIT_FSIZE allows a file of that size. Exceeding the limit would kill the
 * process. */
static bool profile_input_may_spill(uint64_t bytes)
{
	struct rlimit limit;
	return getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
	       (limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur);
}

/* Moves a large unpacked message to a temporary file: it is needed again only when it is written.
 * If that fails, it stays in memory. */
static void profile_input_spill(struct ux_profile_input *in)
{
	struct ux_mapping on_disk = {0};
	int fd = -1;
	if (!in->file.unpacked || in->document.format != UX_PROFILE_FORMAT_PPROF ||
	    in->file.bytes.size < SPILL_MIN || !profile_input_may_spill(in->file.bytes.size) ||
	    ux_file_temporary(&fd, NULL) != UX_OK)
		return;
	if (ux_file_write(fd, in->file.bytes, NULL) == UX_OK &&
	    ux_file_map_fd(fd, &on_disk, NULL) == UX_OK) {
		ux_file_unmap(&in->file);
		in->file = on_disk;
		in->document.pprof.bytes = on_disk.bytes;
	}
	(void)close(fd);
}

/* Frees the memory that only reading the profile needed: names take its place. The pages of a file
 * are read again if the profile is written in its own format. */
static void profile_input_settle(struct ux_profile_input *in)
{
	ux_profile_settle(&in->profile);
	profile_input_spill(in);
	if (!in->file.unpacked)
		ux_file_release(in->file.bytes);
}

enum ux_code ux_profile_input_symbolize(struct ux_profile_input *in, struct ux_profile_options *v,
					struct ux_error *err)
{
	struct ux_profile_sources sources;
	profile_input_settle(in);
	UX_TRY(ux_profile_input_sources(in, v, &sources, err));
	sources.gsym_cache = !v->no_cache;
	in->profile.keep_starts = in->keep_starts;
	ux_progress_init(&in->progress, "symbolize");
	enum ux_code code = ux_profile_symbolize(&in->profile, &sources, err);
	ux_progress_clear(&in->progress);
	return code;
}

/* --- the report ------------------------------------------------------------------------------- */

static void profile_input_percent(struct ux_out *out, uint64_t part, uint64_t whole)
{
	double share = whole > 0 ? 100.0 * (double)part / (double)whole : 0.0;
	ux_out_fmt(out, "%.1f %%", share);
}

/* Modules by the weight that they lack, the heaviest first. */
struct profile_input_lack {
	uint64_t weight;
	uint32_t module;
};

static int profile_input_compare(const void *a, const void *b)
{
	const struct profile_input_lack *x = a, *y = b;
	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return (x->module > y->module) - (x->module < y->module);
}

/* Writes the module's name and ID. */
static void profile_input_report_name(const struct ux_profile *p, uint32_t module,
				      struct ux_out *out)
{
	const struct ux_profile_module *m = &p->modules.data[module];
	char id[UX_ID_TEXT];
	if (module == 0)
		ux_out_cstr(out, "addresses outside all modules");
	else if (m->path == 0 && m->kind == UX_PROFILE_JIT)
		ux_out_fmt(out, "run-time code of process %" PRIu32, m->pid);
	else
		ux_text(out, ux_profile_text(p, m->path));
	ux_id_format(&m->id, id);
	if (*id) {
		ux_out_u8(out, ' ');
		ux_text(out, ux_bytes_cstr(id));
	}
}

/* Writes why a module has addresses without a name, and what would help. The file was read before.
 */
static void profile_input_report_lack(const struct ux_profile_input *in,
				      const struct ux_profile_module *m,
				      struct ux_stripped_told *told, struct ux_out *out)
{
	struct ux_bytes source = ux_profile_text(&in->profile, m->source);
	ux_cleanup(ux_out_deinit) struct ux_out advice = {0};
	ux_cleanup(ux_free_ptr) char *path = strndup((const char *)source.data, source.size);
	if (m->source != 0 && path &&
	    ux_stripped_advice(&advice, path, in->selected || in->finder.server, told)) {
		ux_out_u8(out, ' ');
		ux_out_put(out, advice.data, advice.size);
		out->failed = out->failed || advice.failed;
		return;
	}
	if (m->why != 0) {
		ux_out_cstr(out, ": ");
		ux_text(out, ux_profile_text(&in->profile, m->why));
	}
	if (m->source != 0) {
		ux_out_cstr(out,
			    m->why != 0 ? "; symbols from " : ": no name in the symbols from ");
		ux_text(out, source);
	}
}

/* Writes a module. weight: of the samples with an unnamed address of the module; 0: there are no
 * such samples. */
static void profile_input_report_module(const struct ux_profile_input *in, uint32_t module,
					uint64_t weight, uint64_t whole,
					struct ux_stripped_told *told, struct ux_out *out)
{
	const struct ux_profile_module *m = &in->profile.modules.data[module];
	ux_out_cstr(out, "  ");
	if (weight > 0) {
		profile_input_percent(out, weight, whole);
		ux_out_cstr(out, ": ");
	}
	profile_input_report_name(&in->profile, module, out);
	if (weight > 0) {
		profile_input_report_lack(in, m, told, out);
	} else {
		ux_out_cstr(out, ": symbols from ");
		ux_text(out, ux_profile_text(&in->profile, m->source));
	}
	ux_out_u8(out, '\n');
}

static void profile_input_report_modules(const struct ux_profile_input *in,
					 struct profile_input_lack *lacks,
					 const struct ux_profile_share *share, bool verbose,
					 struct ux_out *out)
{
	size_t n = in->profile.modules.size, shown = 0;
	struct ux_stripped_told told = {0};
	for (size_t i = 0; i < n; i++)
		lacks[i] = (struct profile_input_lack){share->of_module[i], (uint32_t)i};
	qsort(lacks, n, sizeof(*lacks), profile_input_compare);
	for (size_t i = 0; i < n; i++) {
		bool used = in->profile.modules.data[lacks[i].module].source != 0;
		if (lacks[i].weight == 0 && !(verbose && used))
			continue;
		if (!verbose && shown++ == MISSING_MAX) {
			ux_out_cstr(out, "  more modules: list all with -v\n");
			return;
		}
		profile_input_report_module(in, lacks[i].module, lacks[i].weight, share->weight,
					    &told, out);
	}
}

/* Reports the gaps of a recording of perf. */
static void profile_input_report_perf(const struct ux_perf_summary *s, struct ux_out *out)
{
	char text[UX_ERROR_TEXT + UX_ERROR_SECTION + 128], cut[128];
	snprintf(cut, sizeof(cut),
		 "stacks were cut off after %" PRIu64
		 " bytes; --call-graph dwarf,BYTES copies more",
		 s->cut_bytes);
	const struct {
		uint64_t n;
		const char *what;
	} counts[] = {
		{s->lost_records, "records were lost during the recording"},
		{s->unmapped,
		 "callers are wrong: that code keeps no frame pointers. Use --call-graph dwarf"},
		{s->not_unwound,
		 "samples have only their innermost location: unhex cannot unwind their stack "
		 "copies"},
		{s->unwound_short, cut},
		{s->unwound_lost, "stacks end early, in code without unwind tables"},
		{s->unwound_wrong,
		 "files have changed since the recording: stacks through them may be wrong"},
		{s->untimed,
		 "addresses have the name of the last run-time code there: the recording uses "
		 "another clock than the jitdump. Record with perf record -k mono"},
		{s->unsure,
		 "addresses of run-time code may have wrong names: the text does not name its "
		 "clock, so unhex assumes the jitdump's. Print it with perf script --header"},
		{s->deferred,
		 "samples lack their callers: unhex does not read deferred callchains"},
		{s->late, "records arrived too late to be sorted by time"},
		{s->unkept_mappings, "mappings were left out: the recording has too many"},
		{s->auxtrace_bytes, "bytes of hardware traces were skipped"},
		{s->unknown_records, "records of unknown types were skipped"},
		{s->damaged_records, "damaged records were skipped"},
	};
	for (size_t i = 0; i < ux_countof(counts); i++)
		if (counts[i].n > 0)
			ux_out_fmt(out, "unhex: %" PRIu64 " %s\n", counts[i].n, counts[i].what);
	if (s->damage.code != UX_OK)
		ux_out_fmt(out, "unhex: first damaged record: %s\n",
			   ux_error_format(&s->damage, text, sizeof(text)));
	if (s->truncated)
		ux_out_cstr(out,
			    "unhex: the recording is cut off; unhex read the complete records\n");
}

int ux_profile_input_report(const struct ux_profile_input *in, bool verbose, struct ux_error *err)
{
	ux_cleanup(ux_profile_share_deinit) struct ux_profile_share share = {0};
	ux_cleanup(ux_free_ptr) struct profile_input_lack *lacks =
		calloc(in->profile.modules.size, sizeof(*lacks));
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	if (!lacks)
		return ux_exit_of(ux_error_nomem(err));
	enum ux_code code = ux_profile_share(&in->profile, &share, err);
	if (code != UX_OK)
		return ux_exit_of(code);
	if (in->document.format == UX_PROFILE_FORMAT_PERF_DATA ||
	    in->document.format == UX_PROFILE_FORMAT_PERF_SCRIPT)
		profile_input_report_perf(&in->document.perf, &out);
	ux_out_cstr(&out, "unhex: ");
	profile_input_percent(&out, share.named, share.weight);
	ux_out_cstr(&out, " of samples named\n");
	profile_input_report_modules(in, lacks, &share, verbose, &out);
	code = ux_out_status(&out, err);
	if (code == UX_OK)
		code = ux_file_write(STDERR_FILENO, ux_out_bytes(&out), err);
	if (code != UX_OK)
		return ux_exit_of(code);
	return ux_profile_input_exit(in, share.named > 0 || share.weight == 0 ? UX_EXIT_DONE
									      : UX_EXIT_SOME);
}

int ux_profile_input_fail(const struct ux_profile_input *in, const char *subject,
			  const struct ux_error *err)
{
	if (!in->selecting)
		return ux_print_error(subject, err);
	(void)ux_print_error(in->server.subject, err);
	return UX_EXIT_USAGE;
}

int ux_profile_input_exit(const struct ux_profile_input *in, int status)
{
	if (atomic_load(&in->denied))
		ux_server_print_key_source(&in->server);
	return atomic_load(&in->refused) ? UX_EXIT_SERVER : status;
}

bool ux_profile_name_ends(const char *name, const char *suffix)
{
	size_t n = strlen(name), m = strlen(suffix);
	return n > m && strcmp(name + n - m, suffix) == 0;
}
