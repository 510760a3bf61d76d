-- Modules, their IDs and candidates; blobs; uploads; keys. Times are seconds since 1970, sizes are
-- bytes, hashes are 32 bytes, ns is the namespace.
CREATE TABLE modules (
	number INTEGER PRIMARY KEY AUTOINCREMENT,
	ns TEXT NOT NULL,
	created INTEGER NOT NULL,
	updated INTEGER NOT NULL
) STRICT;
CREATE INDEX modules_of_ns ON modules (ns, number);

-- rank orders the IDs of a module: gnu, go, uuid, file.
CREATE TABLE ids (
	ns TEXT NOT NULL,
	id TEXT NOT NULL,
	module INTEGER NOT NULL REFERENCES modules ON DELETE CASCADE,
	rank INTEGER NOT NULL,
	PRIMARY KEY (ns, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX ids_of_module ON ids (module, rank, id);

CREATE TABLE blobs (
	hash BLOB NOT NULL PRIMARY KEY,
	size INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- quality is a number of include/unhex/quality.h.
CREATE TABLE candidates (
	number INTEGER PRIMARY KEY AUTOINCREMENT,
	ns TEXT NOT NULL,
	module INTEGER NOT NULL REFERENCES modules ON DELETE CASCADE,
	blob BLOB NOT NULL REFERENCES blobs,
	kind TEXT NOT NULL,
	quality INTEGER NOT NULL,
	functions INTEGER NOT NULL,
	inlines INTEGER NOT NULL,
	rows INTEGER NOT NULL,
	code_bytes INTEGER NOT NULL,
	line_bytes INTEGER NOT NULL,
	description TEXT NOT NULL,
	file_name TEXT NOT NULL,
	key_id TEXT NOT NULL,
	created INTEGER NOT NULL,
	UNIQUE (module, blob)
) STRICT;
CREATE INDEX candidates_of_blob ON candidates (blob);

-- state: 0 open, 1 done, 2 failed.
CREATE TABLE uploads (
	uid TEXT NOT NULL PRIMARY KEY,
	ns TEXT NOT NULL,
	key_id TEXT NOT NULL,
	size INTEGER NOT NULL,
	hash BLOB NOT NULL,
	kind TEXT NOT NULL,
	claim INTEGER NOT NULL,
	description TEXT NOT NULL,
	file_name TEXT NOT NULL,
	force INTEGER NOT NULL,
	state INTEGER NOT NULL,
	status TEXT NOT NULL,
	reason TEXT NOT NULL,
	created INTEGER NOT NULL,
	updated INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX uploads_by_change ON uploads (updated);

CREATE TABLE upload_ids (
	uid TEXT NOT NULL REFERENCES uploads ON DELETE CASCADE,
	position INTEGER NOT NULL,
	id TEXT NOT NULL,
	PRIMARY KEY (uid, position)
) STRICT, WITHOUT ROWID;

-- hash is the SHA-256 of the token; id is the beginning of its hexadecimal form.
CREATE TABLE keys (
	id TEXT NOT NULL PRIMARY KEY,
	hash BLOB NOT NULL UNIQUE,
	ns TEXT NOT NULL,
	scopes INTEGER NOT NULL,
	description TEXT NOT NULL,
	created INTEGER NOT NULL,
	expires INTEGER NOT NULL,
	revoked INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
