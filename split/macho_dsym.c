/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dSYM bundle of a Mach-O library: the linker of macOS leaves the DWARF in the object files,
 * and dsymutil(1), which comes with LLVM and Xcode, collects it from there.
 */
#include "split.h"

#include "clock.h"
#include "debug_sections.h"
#include "file.h"
#include "macho_fat.h"
#include "scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum {
	SECONDS_MAX = 600, /* s for one library */
	POLL_NS = 20000000,
	FAT_ALIGN = 14, /* alignment as a power of two: the pages of arm64 */
};

/* Names of dsymutil: Debian's packages of LLVM have the version in the name. */
static const char *const tool_names[] = {"dsymutil",    "llvm-dsymutil", "dsymutil-19",
					 "dsymutil-16", "dsymutil-15",   "dsymutil-14"};

/* Writes the file to read into an empty folder, under its own name, which the bundle takes. */
static enum ux_code dsym_write_input(const char *path, struct ux_bytes content,
				     struct ux_error *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
	if (fd < 0)
		return ux_error_os(err, errno, "cannot create a temporary file");
	enum ux_code code = ux_file_write(fd, content, err);
	return close(fd) == 0 || code != UX_OK
		       ? code
		       : ux_error_os(err, errno, "cannot write a temporary file");
}

/* Waits until the process ends, or kills it. False: it did not succeed. */
static bool dsym_wait(pid_t pid)
{
	int64_t end = ux_clock_s() + SECONDS_MAX;
	int status = 0;
	for (;;) {
		pid_t ended = waitpid(pid, &status, WNOHANG);
		if (ended == pid)
			return WIFEXITED(status) && WEXITSTATUS(status) == 0;
		if (ended < 0 && errno != EINTR)
			return false;
		if (ux_clock_s() >= end) {
			kill(pid, SIGKILL);
			while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
				continue;
			return false;
		}
		nanosleep(&(struct timespec){0, POLL_NS}, NULL);
	}
}

/* Starts the tool under the first name that exists. ENOENT: none does. */
static int dsym_start(const char *input, const char *output, pid_t *ret)
{
	posix_spawn_file_actions_t actions;
	int r = posix_spawn_file_actions_init(&actions);
	if (r != 0)
		return r;
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO && r == 0; fd++)
		r = posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
	int found = ENOENT;
	for (size_t i = 0; i < ux_countof(tool_names) && r == 0 && found == ENOENT; i++) {
		const char *const argv[] = {tool_names[i], "--flat", "-o", output, input, NULL};
		found = posix_spawnp(ret, tool_names[i], &actions, NULL,
				     (char *const *)(uintptr_t)argv, environ);
	}
	(void)posix_spawn_file_actions_destroy(&actions);
	return r != 0 ? r : found;
}

/* Checks that the file has units. Without the object files dsymutil makes a file without any. */
static enum ux_code dsym_check(struct ux_bytes file, struct ux_error *err)
{
	const struct ux_object_choice any = {0};
	ux_cleanup(ux_object_closep) struct ux_object *object = NULL;
	UX_TRY(ux_object_macho.open(file, &any, &object, err));
	if (ux_debug_sections_exist(object))
		return UX_OK;
	return ux_error_set(err, UX_EUNSUPPORTED,
			    "dsymutil makes no dSYM: its object files are missing or have no debug "
			    "information; the file is unchanged");
}

static enum ux_code dsym_run(struct ux_scratch *folder, const char *input, const char *output,
			     struct ux_out *ret, struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping made = {0};
	pid_t pid = 0;
	int failed = dsym_start(input, output, &pid);
	if (failed == ENOENT)
		return ux_error_set(
			err, UX_EUNSUPPORTED,
			"is Mach-O: splitting it needs dsymutil (Debian: apt install llvm); the "
			"file is unchanged");
	if (failed != 0)
		return ux_error_os(err, failed, "cannot run dsymutil");
	atomic_store(&folder->child, pid);
	bool made_it = dsym_wait(pid);
	atomic_store(&folder->child, 0);
	if (!made_it)
		return ux_error_set(err, UX_EUNSUPPORTED, "dsymutil fails; the file is unchanged");
	UX_TRY(ux_file_map(output, &made, err));
	UX_TRY(dsym_check(made.bytes, err));
	ux_out_put(ret, made.bytes.data, made.bytes.size);
	return ux_out_status(ret, err);
}

/* Appends the DWARF of the file of one machine. */
static enum ux_code dsym_make_slice(struct ux_bytes library, const char *name, struct ux_out *ret,
				    struct ux_error *err)
{
	ux_cleanup(ux_scratch_close) struct ux_scratch folder = UX_SCRATCH_INIT;
	char input[PATH_MAX], output[PATH_MAX];
	UX_TRY(ux_scratch_open(&folder, err));
	if (snprintf(input, sizeof(input), "%s/%s", folder.path, name) >= (int)sizeof(input) ||
	    snprintf(output, sizeof(output), "%s/..dwarf", folder.path) >= (int)sizeof(output))
		return ux_error_set(err, UX_ELIMIT, "its name is too long");
	UX_TRY(dsym_write_input(input, library, err));
	return dsym_run(&folder, input, output, ret, err);
}

static void dsym_put_be32(struct ux_out *out, uint64_t v)
{
	for (int shift = 24; shift >= 0; shift -= 8)
		ux_out_u8(out, (uint8_t)(v >> shift));
}

/*
 * Makes each slice separately, since dsymutil needs another tool for universal files; they are
 * joined as in macho_fat.h.
 */
static enum ux_code dsym_make_fat(const struct ux_macho_slices *slices, const char *name,
				  struct ux_out *ret, struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out body = {0};
	const uint64_t align = UINT64_C(1) << FAT_ALIGN;
	dsym_put_be32(ret, FAT_MAGIC);
	dsym_put_be32(ret, slices->size);
	for (size_t i = 0; i < slices->size; i++) {
		const struct ux_macho_slice *s = &slices->list[i];
		while (body.size % align != 0 && !body.failed)
			ux_out_u8(&body, 0);
		const uint64_t at = body.size;
		UX_TRY(dsym_make_slice(s->bytes, name, &body, err));
		if (body.size > UINT32_MAX - align)
			return ux_error_set(err, UX_ELIMIT, "its dSYM exceeds 4 GiB");
		dsym_put_be32(ret, s->cpu);
		dsym_put_be32(ret, s->subtype);
		dsym_put_be32(ret, align + at);
		dsym_put_be32(ret, body.size - at);
		dsym_put_be32(ret, FAT_ALIGN);
	}
	while (ret->size % align != 0 && !ret->failed)
		ux_out_u8(ret, 0);
	UX_TRY(ux_out_status(&body, err));
	ux_out_put(ret, body.data, body.size);
	return ux_out_status(ret, err);
}

enum ux_code ux_dsym_make(struct ux_bytes library, const char *name, struct ux_out *ret,
			  struct ux_error *err)
{
	struct ux_macho_slices slices;
	UX_TRY(ux_macho_slices(library, &slices, err));
	return slices.size == 1 ? dsym_make_slice(slices.list[0].bytes, name, ret, err)
				: dsym_make_fat(&slices, name, ret, err);
}

void ux_dsym_info(const char *name, struct ux_out *ret)
{
	static const char head[] =
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" "
		"\"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n"
		"<plist version=\"1.0\">\n<dict>\n"
		"\t<key>CFBundleDevelopmentRegion</key>\n\t<string>English</string>\n"
		"\t<key>CFBundleIdentifier</key>\n\t<string>com.apple.xcode.dsym.";
	ux_out_cstr(ret, head);
	for (; *name != '\0'; name++) {
		if (*name == '&' || *name == '<')
			ux_out_cstr(ret, *name == '&' ? "&amp;" : "&lt;");
		else
			ux_out_u8(ret, (uint8_t)*name);
	}
	ux_out_cstr(ret, "</string>\n"
			 "\t<key>CFBundleInfoDictionaryVersion</key>\n\t<string>6.0</string>\n"
			 "\t<key>CFBundlePackageType</key>\n\t<string>dSYM</string>\n"
			 "\t<key>CFBundleSignature</key>\n\t<string>\?\?\?\?</string>\n"
			 "\t<key>CFBundleShortVersionString</key>\n\t<string>1.0</string>\n"
			 "\t<key>CFBundleVersion</key>\n\t<string>1</string>\n"
			 "</dict>\n</plist>\n");
}
