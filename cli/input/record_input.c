/* SPDX-License-Identifier: Apache-2.0 */
/* Options of recordings, and the report about one. */
#include "record_input.h"

#include "file.h"
#include "output.h"
#include "text.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

bool ux_record_is_wanted(const struct ux_record_values *v, const struct ux_args *args)
{
	return args->ended || v->pid || v->all;
}

/* Parses a number of seconds, or a number and a unit. */
static bool record_parse_time(const char *text, uint64_t *ret_ms)
{
	static const struct {
		const char *name;
		uint64_t ms;
	} units[] = {{"", 1000}, {"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}};
	uint64_t v = 0;
	size_t n = ux_digits_parse(ux_bytes_cstr(text), 10, &v);
	for (size_t i = 0; n > 0 && i < ux_countof(units); i++)
		if (strcmp(text + n, units[i].name) == 0)
			return v > 0 && !__builtin_mul_overflow(v, units[i].ms, ret_ms) &&
			       *ret_ms <= INT64_MAX;
	return false;
}

/* Parses "fp", "none", "dwarf" or "dwarf,BYTES". */
static bool record_parse_calls(const char *text, struct ux_record_options *o)
{
	static const char comma[] = "dwarf,";
	uint64_t bytes = UX_RECORD_STACK;
	if (strcmp(text, "fp") == 0 || strcmp(text, "none") == 0) {
		o->calls = *text == 'f' ? UX_RECORD_FRAME_POINTERS : UX_RECORD_NO_CALLS;
		return true;
	}
	o->calls = UX_RECORD_DWARF;
	if (strncmp(text, comma, sizeof(comma) - 1) == 0) {
		if (!ux_decimal_parse(ux_bytes_cstr(text + sizeof(comma) - 1), &bytes))
			return false;
	} else if (strcmp(text, "dwarf") != 0) {
		return false;
	}
	bytes = (bytes + 7) & ~(uint64_t)7;
	o->stack_bytes = (uint32_t)bytes;
	return bytes > 0 && bytes <= UX_RECORD_STACK_MAX;
}

/* Returns whether a process sees the files that we see. */
static bool record_shares_files(uint64_t pid)
{
	char path[64];
	struct stat ours, theirs;
	static const char *const links[] = {"ns/mnt", "root"};
	for (size_t i = 0; i < ux_countof(links); i++) {
		(void)snprintf(path, sizeof(path), "/proc/self/%s", links[i]);
		if (stat(path, &ours) != 0)
			return true;
		(void)snprintf(path, sizeof(path), "/proc/%" PRIu64 "/%s", pid, links[i]);
		if (stat(path, &theirs) == 0 &&
		    (ours.st_dev != theirs.st_dev || ours.st_ino != theirs.st_ino))
			return false;
	}
	return true;
}

/* Adds the root of a process in a container to the folders that are searched. False: out of memory.
 */
static bool record_add_root(struct ux_profile_options *v, uint64_t pid)
{
	char *files = NULL;
	if (record_shares_files(pid))
		return true;
	if (asprintf(&files, "/proc/%" PRIu64 "/root%s%s", pid, v->files ? ":" : "",
		     v->files ? v->files : "") < 0) {
		struct ux_error err = UX_ERROR_INIT;
		(void)ux_error_nomem(&err);
		(void)ux_print_error(NULL, &err);
		return false;
	}
	free(v->files);
	v->files = files;
	return true;
}

bool ux_record_options_parse(const struct ux_command *cmd, const struct ux_record_values *v,
			     const struct ux_args *args, struct ux_profile_options *profile,
			     struct ux_record_options *ret, int *ret_status)
{
	uint64_t pid = 0;
	int modes = args->ended + (v->pid != NULL) + v->all;
	*ret = (struct ux_record_options){
		.all = v->all,
		.frequency = v->frequency,
		/* Copies of the stacks of all processors may be too many bytes a second. */
		.calls = v->all ? UX_RECORD_FRAME_POINTERS : UX_RECORD_DWARF,
	};
	*ret_status = UX_EXIT_USAGE;
	if (modes == 0 && args->n > 0)
		(void)ux_usage_error(cmd, "expected -- before the command: unhex %s -- %.64s",
				     cmd->name, args->items[0]);
	else if (modes != 1)
		(void)ux_usage_error(cmd, modes == 0 ? "nothing to record: expected -- COMMAND, "
						       "--pid or --all"
						     : "expected one of -- COMMAND, --pid and "
						       "--all");
	else if (args->front > 0)
		(void)ux_usage_error(cmd,
				     "\"%.64s\" is before --; expected the command after it: "
				     "unhex %s -- COMMAND",
				     args->items[0], cmd->name);
	else if (args->ended && args->n == 0)
		(void)ux_usage_error(cmd, "expected a command after --");
	else if (v->pid &&
		 (!ux_decimal_parse(ux_bytes_cstr(v->pid), &pid) || pid == 0 || pid > INT32_MAX))
		(void)ux_usage_error(cmd, "--pid is \"%.64s\"; expected a process ID", v->pid);
	else if (v->frequency > UX_RECORD_FREQUENCY_MAX)
		(void)ux_usage_error(cmd, "--frequency is %u; expected at most %d", v->frequency,
				     UX_RECORD_FREQUENCY_MAX);
	else if (v->duration && !record_parse_time(v->duration, &ret->duration_ms))
		(void)ux_usage_error(cmd,
				     "--duration is \"%.64s\"; expected a time such as 10 or 5m",
				     v->duration);
	else if (v->calls && !record_parse_calls(v->calls, ret))
		(void)ux_usage_error(cmd,
				     "--call-graph is \"%.64s\"; expected fp, dwarf, dwarf,BYTES "
				     "(at most %d) or none",
				     v->calls, UX_RECORD_STACK_MAX);
	else if (pid > 0 && !record_add_root(profile, pid))
		*ret_status = UX_EXIT_SOME;
	else
		*ret_status = UX_EXIT_DONE;
	ret->pid = (pid_t)pid;
	ret->command = args->ended ? args->items : NULL;
	return *ret_status == UX_EXIT_DONE;
}

const char *ux_record_subject(const struct ux_record_options *o)
{
	return o->command ? o->command[0] : o->all ? "record --all" : "record --pid";
}

enum ux_code ux_record_read(const struct ux_record_options *o, const struct ux_profile_options *v,
			    struct ux_profile_input *in, struct ux_record_result *ret,
			    struct ux_error *err)
{
	UX_TRY(ux_dash_file_temporary(&in->dash, err));
	UX_TRY(ux_record(o, in->dash.fd, ret, err));
	return ux_profile_input_read(in, in->dash.path, v, err);
}

/* --- the report ------------------------------------------------------------------------------- */

static void record_report_command(const struct ux_record_result *r)
{
	if (r->status < 0 || r->stopped)
		return;
	if (WIFSIGNALED(r->status))
		ux_print_message("signal %d ended the command", WTERMSIG(r->status));
	else if (WEXITSTATUS(r->status) != 0)
		ux_print_message("the command ended with status %d", WEXITSTATUS(r->status));
}

void ux_record_report(const struct ux_record_options *o, const struct ux_record_result *r)
{
	ux_print_message("recorded %" PRIu64 " samples in %" PRIu64 ".%" PRIu64
			 " s, %u per second on each processor, by %s",
			 r->samples, r->took_ms / 1000, r->took_ms % 1000 / 100, r->frequency,
			 r->no_counter ? "a timer (this machine has no cycle counter)"
				       : "a cycle counter");
	if (r->no_kernel)
		ux_print_message(
			"the recording lacks kernel code: kernel.perf_event_paranoid is %d; "
			"set it to 1, or record with CAP_PERFMON or as root",
			r->paranoid);
	if (r->frequency_max > 0)
		ux_print_message("--frequency was lowered to %u samples a second, the limit in "
				 "kernel.perf_event_max_sample_rate",
				 r->frequency_max);
	if (r->lost > 0)
		ux_print_message(
			"%" PRIu64
			" records were lost: the kernel wrote them faster than unhex read them%s",
			r->lost,
			r->small_rings
				? "; raise ulimit -l or kernel.perf_event_mlock_kb for larger buffers"
				: "; use a lower --frequency");
	if (r->stopped && r->status < 0)
		ux_print_message("%s: still running; the command ignored SIGTERM",
				 ux_record_subject(o));
	record_report_command(r);
}

int ux_record_empty(const struct ux_record_result *r, const char *output)
{
	int status = ux_record_exit(r);
	ux_print_message(
		"%s: not written, because there are no samples; record for longer, or with a "
		"higher --frequency",
		output);
	return status == UX_EXIT_DONE ? UX_EXIT_SOME : status;
}

void ux_record_keep(int fd)
{
	char path[PATH_MAX];
	struct ux_error err = UX_ERROR_INIT;
	const char *folder = getenv("TMPDIR");
	int n = snprintf(path, sizeof(path), "%s/unhex-XXXXXX.data",
			 folder && *folder ? folder : "/tmp");
	int to = fd >= 0 && n > 0 && (size_t)n < sizeof(path) ? mkostemps(path, 5, O_CLOEXEC) : -1;
	if (to < 0)
		return;
	ux_cleanup(ux_file_unmap) struct ux_mapping recording = {0};
	enum ux_code code = ux_file_map_fd(fd, &recording, &err);
	if (code == UX_OK)
		code = ux_file_write(to, recording.bytes, &err);
	(void)close(to);
	if (code == UX_OK) {
		ux_print_message("kept the recording in %s; read it with unhex symbolize", path);
		return;
	}
	(void)unlink(path);
	(void)ux_print_error(path, &err);
}

int ux_record_exit(const struct ux_record_result *r)
{
	enum {
		SIGNALED = 128 /* shells add it to the signal's number */
	};
	if (r->status < 0 || r->stopped)
		return UX_EXIT_DONE;
	return WIFSIGNALED(r->status) ? SIGNALED + WTERMSIG(r->status) : WEXITSTATUS(r->status);
}
