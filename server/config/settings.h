/* SPDX-License-Identifier: Apache-2.0 */
/* The server's settings. */
#ifndef UX_SETTINGS_H
#define UX_SETTINGS_H

#include "setting.h"

/* Who can read and symbolize without a key. In the order of the words in settings.c. */
enum ux_reading {
	/* when listening on loopback, anyone on this machine; otherwise only with a key */
	UX_READING_AUTO,
	UX_READING_OPEN,
	UX_READING_KEYED,
};

enum ux_log_format {
	UX_LOG_TEXT, /* key=value */
	UX_LOG_JSON,
};

enum {
	UX_S3_STYLE_PATH,
	UX_S3_STYLE_HOST,
};

enum ux_log_level {
	UX_LOG_ERROR,
	UX_LOG_WARNING,
	UX_LOG_INFO,
	UX_LOG_DEBUG,
};

/*
 * The values of the rows in settings.c; docs/configuration.md describes each. Immutable once
 * loaded. A reload replaces the struct, so threads other than the main thread use copies that are
 * made when the settings are applied (server/run/reload.c).
 */
struct ux_settings {
	struct ux_arena arena; /* holds the strings and sections */

	const char *listen;
	const char *probe_listen;  /* NULL: none */
	const char *data;          /* NULL: ux_store_default_dir() */
	const char *index;         /* NULL: in the folder */
	const char *index_replica; /* NULL: none */
	const char *node;          /* NULL: the one in the folder */
	const char *blobs;         /* "s3://BUCKET"; NULL: in the folder */
	const char *s3_endpoint;
	const char *s3_public_endpoint;
	const char *s3_region;
	const char *s3_keys;
	const char *s3_cafile;
	unsigned s3_style;            /* UX_S3_STYLE_PATH or _HOST */
	uint64_t blob_parts;          /* bytes; 0: blobs are fetched as a whole */
	uint64_t presigned_downloads; /* bytes; 0: none */
	uint64_t presigned_uploads;   /* bytes; 0: none */
	uint64_t presigned_expiry_ms;
	uint64_t blob_cache;   /* bytes of local copies of blobs in a bucket; 0: no limit */
	const char *admin_key; /* file of the first key's token; NULL: a new one */
	/* file with the secret for sessions; NULL: a secret of this process */
	const char *session_key;
	const char *serve_from; /* folder that is served as files; NULL: the store in `data` */
	const char *serve_from_key;
	uint64_t serve_from_max_age_ms; /* 0: a manifest of any age is served */
	unsigned reading;               /* enum ux_reading */
	unsigned metrics;       /* enum ux_reading: who reads the counters of the whole server */
	const char *speedscope; /* folder of its files; NULL: the package's, if installed */

	const char *tls_certificate; /* PEM files; both or neither */
	const char *tls_key;

	unsigned log_format;                    /* enum ux_log_format */
	unsigned log_level;                     /* enum ux_log_level */
	uint64_t log_sample;                    /* one of this many successful requests is logged */
	struct ux_setting_list trusted_proxies; /* networks, in the syntax of ux_networks_add() */
	struct ux_setting_list origins;
	uint64_t rate_key; /* requests a second */
	uint64_t rate_key_burst;
	uint64_t rate_address;
	uint64_t rate_address_burst;
	uint64_t queue_ms;
	uint64_t uploads_key;
	uint64_t uploads_all;
	uint64_t uploads_bytes_key;
	uint64_t uploads_bytes_all;

	uint64_t keep_days; /* 0: unlimited */
	uint64_t cache_bytes;
	uint64_t min_free_bytes;
	uint64_t audit_days;
	/* concurrent leases of packages from one host */
	uint64_t crawl_host_jobs;
	uint64_t crawl_packages, crawl_repositories; /* limits for one namespace */
	/* ms for which profiles are kept; 0: no profiles are kept */
	uint64_t keep_profiles_ms;
	uint64_t profile_bytes;
	uint64_t profile_count;
	uint64_t sweep_every_ms;
	uint64_t sweep_grace_ms;

	uint64_t connections;
	uint64_t address_connections;
	uint64_t threads;
	uint64_t client_queue;
	uint64_t request_ms;
	uint64_t header_bytes;
	uint64_t body_bytes;
	uint64_t otlp_bytes;
	const char *otlp_forward; /* NULL: profiles are not forwarded */
	const char *otlp_forward_headers;
	uint64_t otlp_forward_connections;
	const char *otlp_queue; /* NULL: in the folder of the store */
	uint64_t otlp_queue_bytes;
	uint64_t upload_bytes;
	uint64_t drain_bytes;
	uint64_t request_memory;
	uint64_t memory_bytes;
	uint64_t idle_ms;
	uint64_t slowest_rate;
	uint64_t watchdog_ms;
	uint64_t stop_ms;
	uint64_t open_modules;

	uint64_t extract_workers;
	uint64_t extract_memory;
	uint64_t extract_output;
	uint64_t extract_ms;

	struct ux_setting_list upstreams;
	/*
	 * the servers that the system's configuration names, and where; NULL: it was not read (see
	 * ux_server_upstreams_expand())
	 */
	struct ux_setting_list system_upstreams;
	const char *system_source;
	uint64_t upstream_absent_ms;
	uint64_t upstream_failed_ms;
	uint64_t upstream_bytes;
	uint64_t upstream_kept;
	uint64_t upstream_ms;
};

/* A value from the command line, which takes precedence over the file. */
struct ux_setting_word {
	const char *key;
	const char *value;
	const char *option; /* the option that set it, for messages: "--listen" */
};

/* The sources of settings. A reload reads them again, so they must outlive the server. */
struct ux_settings_source {
	const char *file; /* NULL: none */
	const struct ux_setting_word *words;
	size_t n_words;
};

extern const struct ux_setting_table ux_settings_table;

/*
 * Loads the defaults, then the file, then the command line, and checks that the values are
 * consistent. UX_EINVAL: the message describes the error and its place. The result is released by
 * ux_settings_destroy().
 */
enum ux_code ux_settings_load(const struct ux_settings_source *source, struct ux_settings **ret,
			      struct ux_error *err) ux_must;
/* NULL is allowed. */
void ux_settings_destroy(struct ux_settings *s);

/*
 * Called after a reload. Keys that need a restart keep their value: `next` gets the value of `now`.
 * Calls `changed` for each key before the sections whose value differs.
 */
typedef void ux_setting_changed_fn(void *ctx, const struct ux_setting *row);
enum ux_code ux_settings_keep(const struct ux_settings *now, struct ux_settings *next,
			      ux_setting_changed_fn *changed, void *ctx, struct ux_error *err)
	ux_must;

#endif
