/* SPDX-License-Identifier: Apache-2.0 */
/* unhex serve: starts the server with settings from options and a file. */
#include "commands.h"

#include "output.h"
#include "serve.h"
#include "store_folder.h"

struct serve_values {
	const char *config;
	const char *listen;
	const char *data;
	const char *index;
	const char *blobs;
	const char *s3_endpoint;
	const char *replica;
	const char *node;
	const char *serve_from;
	const char *reading;
	const char *keep_days;
	const char *cache;
	const char *keep_profiles;
	struct ux_option_each upstreams;
	struct ux_option_each set;
	bool print;
};

static const struct ux_option serve_options[] = {
	{"config", 'c', UX_OPTION_TEXT, offsetof(struct serve_values, config), "FILE",
	 "configuration file [$UNHEX_CONFIG]; options take precedence"},
	{"listen", 'l', UX_OPTION_TEXT, offsetof(struct serve_values, listen), "ADDRESS",
	 "HOST:PORT to listen on; port 0: any free port [127.0.0.1:8420]"},
	{"data", 0, UX_OPTION_TEXT, offsetof(struct serve_values, data), "DIR",
	 "folder of the store [$XDG_DATA_HOME/unhex]"},
	{"index", 0, UX_OPTION_TEXT, offsetof(struct serve_values, index), "URL",
	 "keep the index in a database, postgres://HOST/NAME [a file in the folder]"},
	{"blobs", 0, UX_OPTION_TEXT, offsetof(struct serve_values, blobs), "URL",
	 "keep files in a bucket, s3://BUCKET/PREFIX [the folder]"},
	{"s3-endpoint", 0, UX_OPTION_TEXT, offsetof(struct serve_values, s3_endpoint), "URL",
	 "server of the bucket [Amazon's]; AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY hold "
	 "the keys"},
	{"index-replica", 0, UX_OPTION_TEXT, offsetof(struct serve_values, replica), "URL",
	 "look modules up in a replica of that database"},
	{"node", 0, UX_OPTION_TEXT, offsetof(struct serve_values, node), "NAME",
	 "unique name of this server among the servers of one index [machine and random digits]"},
	{"serve-from", 0, UX_OPTION_TEXT, offsetof(struct serve_values, serve_from), "DIR",
	 "serve this folder of unhex clone, or s3://BUCKET/PREFIX, unchanged, without a store "
	 "and keys"},
	{"reading", 0, UX_OPTION_TEXT, offsetof(struct serve_values, reading), "WHO",
	 "who may read without a key: open (everyone), keyed (no one), auto (open on loopback) "
	 "[auto]",
	 "open keyed auto"},
	{"keep-days", 0, UX_OPTION_TEXT, offsetof(struct serve_values, keep_days), "N",
	 "days after which unused modules are removed, unless their namespace has its own "
	 "limit [never]"},
	{"cache", 0, UX_OPTION_TEXT, offsetof(struct serve_values, cache), "SIZE",
	 "maximum size of data that the server can extract or fetch again [no limit]"},
	{"keep-profiles", 0, UX_OPTION_TEXT, offsetof(struct serve_values, keep_profiles), "TIME",
	 "how long to keep and show uploaded and forwarded profiles, such as 7d [not kept]"},
	{"upstream", 0, UX_OPTION_EACH, offsetof(struct serve_values, upstreams), "WHERE",
	 "fetch missing files from this upstream: KIND+URL or dir:/PATH, see "
	 "unhex-serve.conf(5); may be repeated, in order"},
	{"set", 0, UX_OPTION_EACH, offsetof(struct serve_values, set), "KEY=VALUE",
	 "set any key of the configuration file"},
	{"print-config", 0, UX_OPTION_FLAG, offsetof(struct serve_values, print), NULL,
	 "print all settings and their meaning as a configuration file, then exit"},
};

/* Command line options; each sets the configuration key with the same name. */
static const struct {
	const char *key;
	const char *option;
	size_t target;
} named[] = {
	{"listen", "--listen", offsetof(struct serve_values, listen)},
	{"data", "--data", offsetof(struct serve_values, data)},
	{"index", "--index", offsetof(struct serve_values, index)},
	{"blobs", "--blobs", offsetof(struct serve_values, blobs)},
	{"s3-endpoint", "--s3-endpoint", offsetof(struct serve_values, s3_endpoint)},
	{"index-replica", "--index-replica", offsetof(struct serve_values, replica)},
	{"node", "--node", offsetof(struct serve_values, node)},
	{"serve-from", "--serve-from", offsetof(struct serve_values, serve_from)},
	{"reading", "--reading", offsetof(struct serve_values, reading)},
	{"keep-days", "--keep-days", offsetof(struct serve_values, keep_days)},
	{"cache", "--cache", offsetof(struct serve_values, cache)},
	{"keep-profiles", "--keep-profiles", offsetof(struct serve_values, keep_profiles)},
};

enum {
	WORDS_MAX = ux_countof(named) + UX_OPTION_EACH_MAX + 1
};

/* Settings from the command line. */
struct serve_words {
	struct ux_setting_word items[WORDS_MAX];
	char *texts[UX_OPTION_EACH_MAX +
		    1]; /* malloc'ed: the keys of --set and the list of upstreams */
	size_t n;
	size_t n_texts;
};

static void serve_words_deinit(struct serve_words *w)
{
	while (w->n_texts > 0)
		free(w->texts[--w->n_texts]);
}

/* Joins the values of all --upstream options to a list as it would be written in the
 * configuration file. */
static bool serve_collect_upstreams(const struct ux_option_each *given, struct serve_words *w)
{
	ux_cleanup(ux_out_deinit) struct ux_out list = {0};
	for (size_t i = 0; i < given->n; i++)
		ux_out_fmt(&list, "%s%s", i > 0 ? " " : "", given->items[i]);
	char *text =
		list.failed || given->n == 0 ? NULL : strndup((const char *)list.data, list.size);
	if (text) {
		w->texts[w->n_texts++] = text;
		w->items[w->n++] = (struct ux_setting_word){"upstreams", text, "--upstream"};
	}
	return text || given->n == 0;
}

/* Collects the settings of the options. Returns false if the value of a --set option has no '=';
 * *ret_bad is then that value, or "" if out of memory. */
static bool serve_collect_settings(const struct serve_values *v, struct serve_words *w,
				   const char **ret_bad)
{
	for (size_t i = 0; i < v->set.n; i++) {
		const char *equals = strchr(v->set.items[i], '=');
		char *key = equals ? strndup(v->set.items[i], (size_t)(equals - v->set.items[i]))
				   : NULL;
		*ret_bad = v->set.items[i];
		if (!key)
			return false;
		w->texts[w->n_texts++] = key;
		w->items[w->n++] = (struct ux_setting_word){key, equals + 1, "--set"};
	}
	*ret_bad = "";
	if (!serve_collect_upstreams(&v->upstreams, w))
		return false;
	for (size_t i = 0; i < ux_countof(named); i++) {
		const char *value =
			*(const char *const *)(const void *)((const char *)v + named[i].target);
		if (value)
			w->items[w->n++] =
				(struct ux_setting_word){named[i].key, value, named[i].option};
	}
	return true;
}

static int serve_print_settings(const struct ux_settings *s)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_error err = UX_ERROR_INIT;
	ux_settings_print(&ux_settings_table, s, &out);
	if (ux_out_status(&out, &err) != UX_OK)
		return ux_print_error("serve", &err);
	fwrite(out.data, 1, out.size, stdout);
	return fflush(stdout) == 0 ? UX_EXIT_DONE : UX_EXIT_SOME;
}

static int serve_run(const struct ux_settings_source *source, bool only_print)
{
	struct ux_error err = UX_ERROR_INIT;
	struct ux_settings *settings = NULL;
	enum ux_code code = ux_settings_load(source, &settings, &err);
	if (code == UX_OK && only_print) {
		int status = serve_print_settings(settings);
		ux_settings_destroy(settings);
		return status;
	}
	if (code != UX_OK) { /* the file is missing or invalid */
		int failed = ux_print_error("serve", &err);
		return code == UX_ENOMEM ? failed : UX_EXIT_USAGE;
	}
	code = ux_server_run(source, settings, &err);
	if (code == UX_OK)
		return UX_EXIT_DONE;
	int failed = ux_print_error("serve", &err);
	return err.code == UX_EINVAL ? UX_EXIT_USAGE : failed;
}

static int cmd_serve_run(const struct ux_command *cmd, int argc, char **argv)
{
	struct serve_values v = {0};
	struct ux_args args;
	int status = 0;
	ux_cleanup(serve_words_deinit) struct serve_words words = {0};
	const char *bad = NULL;
	if (!ux_options_parse(cmd, argc, argv, &v, &args, &status))
		return status;
	if (args.n > 0)
		return ux_usage_error(cmd, "\"%.64s\" is not an option", args.items[0]);
	if (!serve_collect_settings(&v, &words, &bad))
		return ux_usage_error(cmd, "option --set is \"%.64s\"; expected KEY=VALUE", bad);
	const struct ux_settings_source source = {
		.file = ux_config_file(v.config), .words = words.items, .n_words = words.n};
	return serve_run(&source, v.print);
}

const struct ux_command ux_cmd_serve = {
	.name = "serve",
	.usage = "[options]",
	.line = "run the symbol server",
	.text = "Receives symbols from `unhex push`, stores them, and answers requests for addresses. Without\n"
		"a configuration it listens only on this machine and keeps everything in one "
		"folder. On its\n"
		"first start it creates an admin key: on a terminal it prints the key once; "
		"otherwise it\n"
		"writes the key to the file admin-key in the folder, readable only by the "
		"server's user.\n"
		"SIGTERM and SIGINT stop the server; SIGHUP makes it read its configuration again.",
	.examples = "  unhex serve\n"
		    "  unhex serve --listen 0.0.0.0:8420 --data /var/lib/unhex\n"
		    "  unhex serve --config /etc/unhex/serve.conf --print-config",
	.options = serve_options,
	.n_options = ux_countof(serve_options),
	.run = cmd_serve_run,
};
