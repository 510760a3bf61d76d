/* SPDX-License-Identifier: Apache-2.0 */
/* unhex serve: the options of the server. */
#include "commands.h"

#include "output.h"
#include "serve.h"

struct values {
	const char *listen;
	const char *data;
	const char *reading;
	unsigned keep_days;
	uint64_t cache_bytes;
};

enum {
	DAY_S = 24 * 60 * 60
};

static const struct ux_option options[] = {
	{"listen", 'l', UX_OPTION_TEXT, offsetof(struct values, listen), "ADDRESS",
	 "HOST:PORT to listen on; port 0 takes a free one [127.0.0.1:8420]"},
	{"data", 0, UX_OPTION_TEXT, offsetof(struct values, data), "DIR",
	 "where to keep everything [$XDG_DATA_HOME/unhex]"},
	{"reading", 0, UX_OPTION_TEXT, offsetof(struct values, reading), "WHO",
	 "who needs no key to read: open, keyed, auto (open on loopback) [auto]"},
	{"keep-days", 0, UX_OPTION_COUNT, offsetof(struct values, keep_days), "N",
	 "modules unused for so long go, unless their namespace says [never]"},
	{"cache", 0, UX_OPTION_BYTES, offsetof(struct values, cache_bytes), "SIZE",
	 "keep so much of what can be had again [all]"},
};

static bool parse_reading(const char *word, enum ux_reading *ret)
{
	static const struct {
		const char *word;
		enum ux_reading reading;
	} words[] = {
		{"auto", UX_READING_AUTO},
		{"open", UX_READING_OPEN},
		{"keyed", UX_READING_KEYED},
	};
	for (size_t i = 0; i < ux_countof(words); i++) {
		if (strcmp(words[i].word, word) != 0)
			continue;
		*ret = words[i].reading;
		return true;
	}
	return false;
}

static int run(const struct ux_command *cmd, int argc, char **argv)
{
	struct values v = {.reading = "auto"};
	struct ux_args args;
	int status = 0;
	if (!ux_options_parse(cmd, argc, argv, &v, &args, &status))
		return status;
	if (args.n > 0)
		return ux_usage_error(cmd, "\"%.64s\" is not an option", args.items[0]);
	struct ux_server_options server = {.listen = v.listen,
					   .data = v.data,
					   .keep_s = (int64_t)v.keep_days * DAY_S,
					   .cache_bytes = v.cache_bytes};
	if (!parse_reading(v.reading, &server.reading))
		return ux_usage_error(cmd, "--reading is \"%.32s\"; expected auto, open or keyed",
				      v.reading);
	struct ux_error err = UX_ERROR_INIT;
	if (ux_server_run(&server, &err) == UX_OK)
		return UX_EXIT_DONE;
	int failed = ux_complain("serve", &err);
	return err.code == UX_EINVAL ? UX_EXIT_USAGE : failed;
}

const struct ux_command ux_cmd_serve = {
	.name = "serve",
	.usage = "[options]",
	.line = "the symbol server",
	.text = "Keeps symbols, takes them from `unhex push` and answers what is at an address. With\n"
		"nothing configured it listens on this machine alone, keeps everything in one folder,\n"
		"and on its first start prints an admin key, once. SIGTERM and SIGINT stop it.",
	.options = options,
	.n_options = ux_countof(options),
	.run = run,
};
