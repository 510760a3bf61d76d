/* SPDX-License-Identifier: Apache-2.0 */
/* The text of every statement of the SQLite index. */
#include "sqlite_db.h"

#define MODULE_COLUMNS                                            \
	"m.number, m.created, m.updated, m.last_used, m.marked, " \
	"EXISTS (SELECT 1 FROM pins p WHERE p.module = m.number) "

/* In the order in which sqlite_candidates.c reads them. */
#define CANDIDATE_COLUMNS                                                            \
	"c.number, c.parent, c.kind, c.state, c.reason, c.blob, c.size, c.quality, " \
	"c.claim, c.functions, c.inlines, c.rows, c.code_bytes, c.line_bytes, "      \
	"c.unnamed, c.unnamed_bytes, c.code_total, c.holds, c.parser, c.forced, "    \
	"c.origin, c.origin_name, c.description, c.file_name, c.key_id, c.created "

#define FIRST_ID     "(SELECT i.id FROM ids i WHERE i.module = m.number ORDER BY i.rank, i.id LIMIT 1)"
#define MODULE_BYTES "(SELECT coalesce(sum(c.size), 0) FROM candidates c WHERE c.module = m.number)"
#define NOT_PINNED   "NOT EXISTS (SELECT 1 FROM pins p WHERE p.module = m.number)"

#define SEARCH(condition)                                                         \
	"SELECT m.number, c.number, " FIRST_ID ", c.kind, c.holds, c.file_name, " \
	"c.origin_name FROM candidates c JOIN modules m ON m.number = c.module "  \
	"WHERE c.state = 0 AND c.number > ?3 AND (" condition ") ORDER BY c.number LIMIT ?4"

#define FETCHED_COLUMNS                                                                  \
	"ns, upstream, id, artifact, outcome, status, reason, asked, expires, took_ms, " \
	"blob, size, file_name "

#define JOB_COLUMNS                                                               \
	"number, kind, subject, ns, candidate, payload, attempts, failed, next, " \
	"lease_until, reason, created "

#define KEY_COLUMNS                                                              \
	"k.id, k.ns, k.scopes, k.description, k.created, k.expires, k.revoked, " \
	"k.last_used, k.rate, k.uploads, "                                       \
	"(SELECT count(*) FROM tokens x WHERE x.key = k.id) "

#define NS_COLUMNS                                                                         \
	"name, reading, quota_bytes, quota_modules, retention_s, upstreams, description, " \
	"created, updated "

#define AUDIT_COLUMNS "number, time, key_id, origin, ns, what, subject, detail, module "

const char *const ux_sql_text[UX_SQL_COUNT] = {
	[UX_SQL_BEGIN] = "BEGIN IMMEDIATE",
	[UX_SQL_BEGIN_READ] = "BEGIN",
	[UX_SQL_COMMIT] = "COMMIT",
	[UX_SQL_ROLLBACK] = "ROLLBACK",

	[UX_SQL_MODULE_OF_ID] =
		"SELECT " MODULE_COLUMNS "FROM ids i JOIN modules m ON m.number = i.module "
		"WHERE i.ns = ?1 AND i.id = ?2",
	[UX_SQL_MODULE_NUMBER] = "SELECT module FROM ids WHERE ns = ?1 AND id = ?2",
	[UX_SQL_MODULE_PAGE] = "SELECT " MODULE_COLUMNS "FROM modules m "
			       "WHERE m.ns = ?1 AND m.number > ?2 ORDER BY m.number LIMIT ?3",
	[UX_SQL_MODULE_PAGE_BACK] = "SELECT " MODULE_COLUMNS "FROM modules m "
				    "WHERE m.ns = ?1 AND m.number < ?2 ORDER BY m.number DESC "
				    "LIMIT ?3",
	[UX_SQL_MODULE_ADD] =
		"INSERT INTO modules (ns, created, updated, last_used) VALUES (?1, ?2, ?2, ?2)",
	/* What arrives is used: nobody would sweep it before it was asked for. */
	[UX_SQL_MODULE_CHANGED] = "UPDATE modules SET updated = ?2, "
				  "last_used = max(last_used, ?2), marked = 0 WHERE number = ?1",
	[UX_SQL_MODULE_DELETE] = "DELETE FROM modules WHERE number = ?1",
	[UX_SQL_MODULE_FIRST_ID] = "SELECT m.ns, " FIRST_ID " FROM modules m WHERE m.number = ?1",
	[UX_SQL_IDS_OF_MODULE] = "SELECT id FROM ids WHERE module = ?1 ORDER BY rank, id",
	[UX_SQL_IDS_COUNT] = "SELECT count(*) FROM ids",
	[UX_SQL_IDS_ALL] = "SELECT ns, id FROM ids",
	[UX_SQL_ID_ADD] = "INSERT INTO ids (ns, id, module, rank) VALUES (?1, ?2, ?3, ?4)",
	[UX_SQL_ID_TAKE] = "INSERT INTO ids (ns, id, module, rank) VALUES (?1, ?2, ?3, ?4) "
			   "ON CONFLICT (ns, id) DO UPDATE SET module = ?3",

	[UX_SQL_SEARCH_FILE] = SEARCH(
		"c.number IN (SELECT number FROM candidates WHERE ns = ?1 AND file_name = ?2 "
		"UNION SELECT number FROM candidates WHERE ns = ?1 AND base_name = ?2)"),
	[UX_SQL_SEARCH_GLOB] = SEARCH("c.ns = ?1 AND c.file_name GLOB ?2"),
	/* ?5: the text that sorts behind every ID that begins with ?2. */
	[UX_SQL_SEARCH_ID] =
		"SELECT module, 0, min(id), 'gsym', 0, '', '' FROM ids "
		"WHERE ns = ?1 AND id >= ?2 AND id < ?5 AND module > ?3 GROUP BY module "
		"ORDER BY module LIMIT ?4",

	[UX_SQL_CANDIDATES_OF_MODULE] =
		"SELECT " CANDIDATE_COLUMNS "FROM candidates c WHERE c.module = ?1 "
		"ORDER BY CASE WHEN c.state <> 0 THEN 3 WHEN c.kind = 'gsym' THEN 0 "
		"WHEN c.kind IN ('executable', 'debuginfo') THEN 1 ELSE 2 END, "
		"c.quality DESC, c.line_bytes DESC, c.code_bytes DESC, c.functions DESC, "
		"c.number DESC",
	[UX_SQL_CANDIDATE] = "SELECT " CANDIDATE_COLUMNS ", m.number, m.ns, " FIRST_ID
			     ", m.last_used, m.marked, " MODULE_BYTES
			     " FROM candidates c JOIN modules m ON m.number = c.module "
			     "WHERE c.number = ?1",
	[UX_SQL_CANDIDATE_ADD] =
		"INSERT INTO candidates (ns, module, parent, kind, state, reason, blob, size, "
		"quality, claim, functions, inlines, rows, code_bytes, line_bytes, unnamed, "
		"unnamed_bytes, code_total, holds, parser, forced, origin, origin_name, "
		"description, file_name, base_name, key_id, created, cached) "
		"VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, "
		"?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29)",
	/* The same bytes once more, of a failed one: as if they were new. */
	[UX_SQL_CANDIDATE_AGAIN] =
		"UPDATE candidates SET kind = ?2, state = ?3, reason = '', quality = ?4, "
		"functions = ?5, inlines = ?6, rows = ?7, code_bytes = ?8, line_bytes = ?9, "
		"unnamed = ?10, unnamed_bytes = ?11, code_total = ?12, holds = ?13, parser = ?14, "
		"forced = ?15 WHERE number = ?1",
	/* What could be had again is an upload of its own now. */
	[UX_SQL_CANDIDATE_ADOPT] =
		"UPDATE candidates SET parent = NULL, cached = 0, origin = ?2, origin_name = ?3, "
		"description = ?4, file_name = ?5, base_name = ?6, key_id = ?7 WHERE number = ?1",
	/* With what was extracted from it. */
	[UX_SQL_CANDIDATE_DESCRIBE] =
		"UPDATE candidates SET description = ?2 WHERE number = ?1 OR parent = ?1",
	[UX_SQL_CANDIDATE_SETTLE] =
		"UPDATE candidates SET kind = ?2, state = ?3, reason = ?4, quality = ?5, "
		"functions = ?6, inlines = ?7, rows = ?8, code_bytes = ?9, line_bytes = ?10, "
		"unnamed = ?11, unnamed_bytes = ?12, code_total = ?13, holds = ?14, parser = ?15 "
		"WHERE number = ?1",
	[UX_SQL_CANDIDATE_DELETE] = "DELETE FROM candidates WHERE number = ?1",
	[UX_SQL_CANDIDATES_RETRY] =
		"UPDATE candidates SET state = 1 WHERE state = 2 AND parser < ?1 AND kind <> 'gsym'",
	[UX_SQL_JOBS_RETRY] =
		"INSERT INTO jobs (kind, subject, ns, candidate, payload, next, created) "
		"SELECT 'extract', number, ns, number, '', ?2, ?2 FROM candidates "
		"WHERE state = 2 AND parser < ?1 AND kind <> 'gsym' "
		"ON CONFLICT (kind, subject) DO UPDATE SET failed = 0, attempts = 0, next = ?2",

	[UX_SQL_JOBS_REQUEUE] =
		"INSERT INTO jobs (kind, subject, ns, candidate, payload, next, created) "
		"SELECT 'extract', c.number, c.ns, c.number, '', ?1, ?1 FROM candidates c "
		"WHERE c.state = 1 AND NOT EXISTS (SELECT 1 FROM jobs j "
		"WHERE j.kind = 'extract' AND j.candidate = c.number AND j.failed = 0) "
		"ON CONFLICT (kind, subject) DO UPDATE SET failed = 0, attempts = 0, next = ?1",

	[UX_SQL_MODULE_TOUCH] =
		"UPDATE modules SET last_used = max(last_used, ?2), marked = 0 WHERE number = ?1",
	[UX_SQL_PIN_ADD] = "INSERT INTO pins (module, label, key_id, created) "
			   "VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING",
	[UX_SQL_PIN_DELETE] = "DELETE FROM pins WHERE module = ?1 AND label = ?2",
	[UX_SQL_PINS_OF_MODULE] =
		"SELECT label, key_id, created FROM pins WHERE module = ?1 ORDER BY label",
	[UX_SQL_IDLE] = "SELECT m.number, m.ns, " FIRST_ID ", m.last_used, m.marked, " MODULE_BYTES
			" FROM modules m WHERE m.ns = ?1 AND m.last_used < ?2 AND " NOT_PINNED
			" ORDER BY m.last_used, m.number LIMIT ?3",
	[UX_SQL_MARK] = "UPDATE modules AS m SET marked = ?3 WHERE m.number = ?1 AND m.marked = 0 "
			"AND m.last_used < ?2 AND " NOT_PINNED,
	[UX_SQL_SWEEP] = "DELETE FROM modules AS m WHERE m.number = ?1 AND m.marked > 0 "
			 "AND m.marked <= ?3 AND m.last_used < ?2 AND " NOT_PINNED,
	[UX_SQL_CACHES] = "SELECT c.number, m.ns, " FIRST_ID ", m.last_used, m.marked, c.size "
			  "FROM candidates c JOIN modules m ON m.number = c.module "
			  "WHERE c.cached = 1 ORDER BY m.last_used, c.number",

	[UX_SQL_BLOB_ADD] = "INSERT INTO blobs (hash, size) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
	[UX_SQL_BLOB_USED] = "SELECT 1 FROM blobs_referred WHERE blob = ?1 LIMIT 1",
	[UX_SQL_BLOB_PAGE] = "SELECT hash, size FROM blobs WHERE hash > ?1 ORDER BY hash LIMIT ?2",
	[UX_SQL_BLOB_USERS] = "SELECT m.number, c.number, " FIRST_ID ", c.kind, c.holds, "
			      "c.file_name, c.origin_name "
			      "FROM candidates c JOIN modules m ON m.number = c.module "
			      "WHERE c.blob = ?1 ORDER BY c.number LIMIT ?2",
	/* What was extracted from it is worth more now. */
	[UX_SQL_BLOB_LOSE_PARENTS] =
		"UPDATE candidates SET parent = NULL, cached = 0 "
		"WHERE parent IN (SELECT number FROM candidates WHERE blob = ?1)",
	[UX_SQL_BLOB_LOSE_CANDIDATES] = "DELETE FROM candidates WHERE blob = ?1",
	[UX_SQL_BLOB_LOSE_SOURCES] = "DELETE FROM sources WHERE blob = ?1",
	[UX_SQL_BLOB_LOSE_FETCHED] = "DELETE FROM fetched WHERE blob = ?1",

	[UX_SQL_UPLOAD_ADD] =
		"INSERT INTO uploads (uid, ns, key_id, size, hash, kind, claim, description, "
		"file_name, force, state, status, reason, created, updated) "
		"VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 0, '', '', ?11, ?11)",
	[UX_SQL_UPLOAD_ID_ADD] = "INSERT INTO upload_ids (uid, position, id) VALUES (?1, ?2, ?3)",
	[UX_SQL_UPLOAD_FIND] =
		"SELECT ns, key_id, size, hash, kind, claim, description, file_name, force, state, "
		"status, reason, created, updated, candidate FROM uploads WHERE uid = ?1",
	[UX_SQL_UPLOAD_LIST] = "SELECT uid FROM uploads WHERE ns = ?1 AND (state IN (0, 3)) = ?2 "
			       "ORDER BY updated DESC, uid LIMIT ?3",
	[UX_SQL_UPLOAD_IDS] = "SELECT id FROM upload_ids WHERE uid = ?1 ORDER BY position",
	[UX_SQL_UPLOAD_END] =
		"UPDATE uploads SET state = ?2, status = ?3, reason = ?4, updated = ?5, "
		"candidate = ?6 WHERE uid = ?1 AND state = 0",
	[UX_SQL_UPLOAD_SETTLE] =
		"UPDATE uploads SET state = ?2, status = ?3, reason = ?4, updated = ?5 "
		"WHERE candidate = ?1 AND state = 3",
	[UX_SQL_UPLOAD_EXPIRE] = "DELETE FROM uploads WHERE updated < ?1 AND state <> 3",
	[UX_SQL_UPLOAD_COUNTS] = "SELECT count(*) FILTER (WHERE key_id = ?2 AND ns = ?1), "
				 "count(*) FILTER (WHERE ns = ?1), count(*), "
				 "coalesce(sum(size) FILTER (WHERE ns = ?1 AND state = 0), 0) "
				 "FROM uploads WHERE state IN (0, 3)",
	/* Both conditions on the state: the first is the index's. */
	[UX_SQL_UPLOAD_FRESH] =
		"SELECT count(*) FILTER (WHERE key_id = ?1), count(*), "
		"coalesce(sum(size) FILTER (WHERE key_id = ?1), 0), coalesce(sum(size), 0) "
		"FROM uploads WHERE state IN (0, 3) AND state = 0 AND created > ?2",

	[UX_SQL_SOURCES_CLEAR] = "DELETE FROM sources WHERE candidate = ?1",
	[UX_SQL_SOURCE_ADD] = "INSERT INTO sources (module, path, candidate, blob, off, size) "
			      "SELECT module, ?2, number, ?3, ?4, ?5 FROM candidates "
			      "WHERE number = ?1",
	[UX_SQL_SOURCE_FIND] =
		"SELECT s.path, s.blob, b.size, s.off, s.size, c.file_name, c.created FROM ids i "
		"JOIN sources s ON s.module = i.module JOIN blobs b ON b.hash = s.blob "
		"JOIN candidates c ON c.number = s.candidate "
		"WHERE i.ns = ?1 AND i.id = ?2 AND s.path = ?3 ORDER BY s.candidate DESC LIMIT 1",
	/* With max(), the other columns are of the row that has it. */
	[UX_SQL_SOURCE_PAGE] = "SELECT s.path, s.blob, b.size, s.off, s.size, max(s.candidate) "
			       "FROM sources s JOIN blobs b ON b.hash = s.blob "
			       "WHERE s.module = ?1 AND s.path > ?2 GROUP BY s.path "
			       "ORDER BY s.path LIMIT ?3",

	[UX_SQL_FETCHED_DROP] = "DELETE FROM fetched "
				"WHERE ns = ?1 AND id = ?2 AND artifact = ?3 AND upstream = ?4",
	[UX_SQL_FETCHED_PUT] = "INSERT INTO fetched (" FETCHED_COLUMNS ") VALUES "
			       "(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
	[UX_SQL_FETCHED_FIND] = "SELECT " FETCHED_COLUMNS "FROM fetched "
				"WHERE ns = ?1 AND id = ?2 AND artifact = ?3 AND upstream = ?4",
	[UX_SQL_FETCHED_LIST] = "SELECT " FETCHED_COLUMNS "FROM fetched "
				"WHERE ns = ?1 AND id = ?2 AND (?3 = '' OR artifact = ?3) "
				"ORDER BY artifact, upstream",
	[UX_SQL_FETCHED_EXPIRE] = "DELETE FROM fetched WHERE (expires < ?1 OR ?1 = ?3) "
				  "AND (?2 = '' OR upstream = ?2)",

	[UX_SQL_JOB_ADD] =
		"INSERT INTO jobs (kind, subject, ns, candidate, payload, next, created) "
		"VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (kind, subject) DO UPDATE SET "
		"next = CASE failed WHEN 1 THEN ?6 ELSE min(next, ?6) END, "
		"attempts = CASE failed WHEN 1 THEN 0 ELSE attempts END, failed = 0",
	[UX_SQL_JOB_FIND] = "SELECT number FROM jobs WHERE kind = ?1 AND subject = ?2",
	[UX_SQL_JOB_DUE] = "SELECT " JOB_COLUMNS "FROM jobs WHERE kind = ?1 AND failed = 0 "
			   "AND next <= ?2 AND lease_until <= ?2 ORDER BY next, number LIMIT 1",
	[UX_SQL_JOB_LEASE] = "UPDATE jobs SET attempts = attempts + 1, owner = ?2, "
			     "lease_until = ?3 WHERE number = ?1",
	[UX_SQL_JOB_RENEW] = "UPDATE jobs SET lease_until = ?3 "
			     "WHERE number = ?1 AND owner = ?2 AND lease_until > 0",
	[UX_SQL_JOB_DONE] = "DELETE FROM jobs WHERE number = ?1 AND owner = ?2 AND lease_until > 0",
	[UX_SQL_JOB_RETRY] = "UPDATE jobs SET lease_until = 0, owner = '', next = ?3, reason = ?4 "
			     "WHERE number = ?1 AND owner = ?2 AND lease_until > 0",
	[UX_SQL_JOB_FAIL] = "UPDATE jobs SET lease_until = 0, owner = '', failed = 1, reason = ?3 "
			    "WHERE number = ?1 AND owner = ?2 AND lease_until > 0",
	[UX_SQL_JOB_RELEASE] = "UPDATE jobs SET lease_until = 0, owner = '' WHERE owner = ?1",
	[UX_SQL_JOB_LIST] = "SELECT " JOB_COLUMNS "FROM jobs WHERE ?1 = '' OR kind = ?1 "
			    "ORDER BY number LIMIT ?2",
	[UX_SQL_JOB_COUNTS] =
		"SELECT count(*) FILTER (WHERE failed = 0 AND lease_until <= ?2), "
		"count(*) FILTER (WHERE failed = 0 AND lease_until > ?2), "
		"count(*) FILTER (WHERE failed = 1), "
		"coalesce(min(created) FILTER (WHERE failed = 0 AND lease_until <= ?2), 0) "
		"FROM jobs WHERE ?1 = '' OR kind = ?1",
	[UX_SQL_JOB_NEXT] = "SELECT min(max(next, lease_until)) FROM jobs "
			    "WHERE kind = ?1 AND failed = 0",

	[UX_SQL_NS_FIND] = "SELECT " NS_COLUMNS "FROM namespaces WHERE name = ?1",
	[UX_SQL_NS_LIST] = "SELECT " NS_COLUMNS "FROM namespaces ORDER BY name",
	[UX_SQL_NS_PUT] =
		"INSERT INTO namespaces (" NS_COLUMNS ") "
		"VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8) ON CONFLICT (name) DO UPDATE SET "
		"reading = ?2, quota_bytes = ?3, quota_modules = ?4, retention_s = ?5, "
		"upstreams = ?6, description = ?7, updated = ?8",
	[UX_SQL_NS_ENSURE] = "INSERT INTO namespaces (name, created, updated) "
			     "VALUES (?1, ?2, ?2) ON CONFLICT DO NOTHING",
	[UX_SQL_NS_DELETE] = "DELETE FROM namespaces WHERE name = ?1",
	[UX_SQL_NS_BUSY] = "SELECT 1 FROM modules WHERE ns = ?1 UNION ALL "
			   "SELECT 1 FROM keys WHERE ns = ?1 AND revoked = 0 "
			   "AND (expires = 0 OR expires > ?2) LIMIT 1",
	[UX_SQL_USAGE] = "SELECT modules, bytes, cache_bytes FROM usage WHERE ns = ?1",
	[UX_SQL_USAGE_WRONG] =
		"SELECT ns, sum(m), sum(b), sum(c) FROM ("
		"SELECT ns, modules AS m, bytes AS b, cache_bytes AS c FROM usage UNION ALL "
		"SELECT ns, -count(*), 0, 0 FROM modules GROUP BY ns UNION ALL "
		"SELECT ns, 0, -sum(size * (1 - cached)), -sum(size * cached) FROM candidates "
		"GROUP BY ns) GROUP BY ns HAVING sum(m) <> 0 OR sum(b) <> 0 OR sum(c) <> 0 "
		"ORDER BY ns",
	[UX_SQL_USAGE_CLEAR] = "DELETE FROM usage",
	[UX_SQL_USAGE_FILL] =
		"INSERT INTO usage SELECT m.ns, count(*), "
		"(SELECT coalesce(sum(size * (1 - cached)), 0) FROM candidates c WHERE c.ns = m.ns), "
		"(SELECT coalesce(sum(size * cached), 0) FROM candidates c WHERE c.ns = m.ns) "
		"FROM modules m GROUP BY m.ns",
	[UX_SQL_USAGE_ALL] = "SELECT coalesce(sum(modules), 0), coalesce(sum(bytes), 0), "
			     "coalesce(sum(cache_bytes), 0) FROM usage",

	[UX_SQL_KEY_ADD] = "INSERT INTO keys (id, ns, scopes, description, created, expires, "
			   "revoked, rate, uploads) VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, ?7, ?8) "
			   "ON CONFLICT DO NOTHING",
	[UX_SQL_KEY_OF_TOKEN] = "SELECT " KEY_COLUMNS ", t.id, t.hash, t.created, t.expires "
				"FROM tokens t JOIN keys k ON k.id = t.key WHERE t.id = ?1",
	[UX_SQL_KEY_GET] = "SELECT " KEY_COLUMNS "FROM keys k WHERE k.id = ?1",
	[UX_SQL_KEY_LIST] = "SELECT " KEY_COLUMNS "FROM keys k ORDER BY k.created, k.id",
	[UX_SQL_KEY_REVOKE] = "UPDATE keys SET revoked = CASE revoked WHEN 0 THEN ?2 ELSE revoked "
			      "END WHERE id = ?1",
	[UX_SQL_KEY_TOUCH] = "UPDATE keys SET last_used = max(last_used, ?2) WHERE id = ?1",
	[UX_SQL_TOKEN_ADD] = "INSERT INTO tokens (id, hash, key, created, expires) "
			     "VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING",
	[UX_SQL_TOKENS_END] = "UPDATE tokens SET expires = ?2 WHERE key = ?1 "
			      "AND (expires = 0 OR expires > ?2)",
	[UX_SQL_TOKENS_EXPIRE] = "DELETE FROM tokens WHERE key = ?1 AND expires > 0 "
				 "AND expires <= ?2",

	[UX_SQL_AUDIT_ADD] = "INSERT INTO audit (time, key_id, origin, ns, what, subject, detail, "
			     "module) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
	[UX_SQL_AUDIT_PAGE] =
		"SELECT " AUDIT_COLUMNS "FROM audit WHERE number > ?1 ORDER BY number LIMIT ?2",
	[UX_SQL_AUDIT_PAGE_NS] = "SELECT " AUDIT_COLUMNS "FROM audit "
				 "WHERE number > ?1 AND ns = ?3 ORDER BY number LIMIT ?2",
	[UX_SQL_AUDIT_OF_MODULE] = "SELECT " AUDIT_COLUMNS "FROM audit "
				   "WHERE module = ?1 AND module > 0 ORDER BY number DESC LIMIT ?2",
	[UX_SQL_AUDIT_EXPIRE] = "DELETE FROM audit WHERE time < ?1",

	[UX_SQL_NUMBER_GET] = "SELECT value FROM numbers WHERE name = ?1",
	[UX_SQL_NUMBER_PUT] = "INSERT INTO numbers (name, value) VALUES (?1, ?2) "
			      "ON CONFLICT (name) DO UPDATE SET value = ?2",
};
