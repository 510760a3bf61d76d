/* SPDX-License-Identifier: Apache-2.0 */
/* The text of every statement of the SQLite index. */
#include "sqlite_db.h"

const char *const ux_sql_text[UX_SQL_COUNT] = {
	[UX_SQL_BEGIN] = "BEGIN IMMEDIATE",
	[UX_SQL_BEGIN_READ] = "BEGIN",
	[UX_SQL_COMMIT] = "COMMIT",
	[UX_SQL_ROLLBACK] = "ROLLBACK",
	[UX_SQL_MODULE_OF_ID] = "SELECT m.number, m.created, m.updated "
				"FROM ids i JOIN modules m ON m.number = i.module "
				"WHERE i.ns = ?1 AND i.id = ?2",
	[UX_SQL_MODULE_PAGE] = "SELECT number, created, updated FROM modules "
			       "WHERE ns = ?1 AND number > ?2 ORDER BY number LIMIT ?3",
	[UX_SQL_MODULE_ADD] = "INSERT INTO modules (ns, created, updated) VALUES (?1, ?2, ?2)",
	[UX_SQL_MODULE_TOUCH] = "UPDATE modules SET updated = ?2 WHERE number = ?1",
	[UX_SQL_MODULE_DELETE] =
		"DELETE FROM modules "
		"WHERE number = (SELECT module FROM ids WHERE ns = ?1 AND id = ?2)",
	[UX_SQL_IDS_OF_MODULE] = "SELECT id FROM ids WHERE module = ?1 ORDER BY rank, id",
	[UX_SQL_ID_ADD] = "INSERT INTO ids (ns, id, module, rank) VALUES (?1, ?2, ?3, ?4)",
	[UX_SQL_ID_TAKE] = "INSERT INTO ids (ns, id, module, rank) VALUES (?1, ?2, ?3, ?4) "
			   "ON CONFLICT (ns, id) DO UPDATE SET module = ?3",
	[UX_SQL_CANDIDATES_OF_MODULE] =
		"SELECT c.number, c.blob, b.size, c.kind, c.quality, c.functions, c.inlines, "
		"c.rows, c.code_bytes, c.line_bytes, c.description, c.file_name, c.key_id, "
		"c.created "
		"FROM candidates c JOIN blobs b ON b.hash = c.blob WHERE c.module = ?1 "
		"ORDER BY c.quality DESC, c.line_bytes DESC, c.code_bytes DESC, "
		"c.functions DESC, c.number DESC",
	[UX_SQL_CANDIDATE_ADD] =
		"INSERT INTO candidates (ns, module, blob, kind, quality, functions, inlines, "
		"rows, code_bytes, line_bytes, description, file_name, key_id, created) "
		"VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
	[UX_SQL_BLOB_ADD] = "INSERT INTO blobs (hash, size) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
	[UX_SQL_BLOB_USED] = "SELECT 1 FROM candidates WHERE blob = ?1 LIMIT 1",
	[UX_SQL_UPLOAD_ADD] =
		"INSERT INTO uploads (uid, ns, key_id, size, hash, kind, claim, description, "
		"file_name, force, state, status, reason, created, updated) "
		"VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 0, '', '', ?11, ?11)",
	[UX_SQL_UPLOAD_ID_ADD] = "INSERT INTO upload_ids (uid, position, id) VALUES (?1, ?2, ?3)",
	[UX_SQL_UPLOAD_FIND] =
		"SELECT ns, key_id, size, hash, kind, claim, description, file_name, force, state, "
		"status, reason, created, updated FROM uploads WHERE uid = ?1",
	[UX_SQL_UPLOAD_IDS] = "SELECT id FROM upload_ids WHERE uid = ?1 ORDER BY position",
	[UX_SQL_UPLOAD_END] = "UPDATE uploads SET state = ?2, status = ?3, reason = ?4, updated = "
			      "?5 WHERE uid = ?1 AND state = 0",
	[UX_SQL_UPLOAD_EXPIRE] = "DELETE FROM uploads WHERE updated < ?1",
	[UX_SQL_KEY_ADD] =
		"INSERT INTO keys (id, hash, ns, scopes, description, created, expires, revoked) "
		"VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0) ON CONFLICT DO NOTHING",
	[UX_SQL_KEY_FIND] = "SELECT id, hash, ns, scopes, description, created, expires, revoked "
			    "FROM keys WHERE id = ?1",
	[UX_SQL_KEY_LIST] = "SELECT id, hash, ns, scopes, description, created, expires, revoked "
			    "FROM keys ORDER BY created, id",
	[UX_SQL_KEY_REVOKE] = "UPDATE keys SET revoked = CASE revoked WHEN 0 THEN ?2 ELSE revoked "
			      "END WHERE id = ?1",
};
