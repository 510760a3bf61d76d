-- Crawls: repositories of packages, packages as jobs of workers, and which package has which build ID.
-- state: what was said with the last complete announcement, a JSON object. taken: the turn at which a
-- package of it was leased last.
CREATE TABLE repositories (
	number INTEGER PRIMARY KEY AUTOINCREMENT,
	ns TEXT NOT NULL,
	name TEXT NOT NULL,
	state TEXT NOT NULL DEFAULT '',
	announced INTEGER NOT NULL,
	completed INTEGER NOT NULL DEFAULT 0,
	taken INTEGER NOT NULL DEFAULT 0,
	UNIQUE (ns, name)
) STRICT;

-- state: 0 waiting, 1 leased, 2 done, 3 failed and due again at `next`, 4 quarantined, 5 known only.
-- repository: the one that announced it first. tries: how often it failed. losses: how often a lease
-- ended by itself. lease: of the last worker; answered: that worker has said how it ended.
CREATE TABLE packages (
	number INTEGER PRIMARY KEY AUTOINCREMENT,
	ns TEXT NOT NULL,
	key TEXT NOT NULL,
	repository INTEGER NOT NULL REFERENCES repositories ON DELETE CASCADE,
	name TEXT NOT NULL,
	version TEXT NOT NULL,
	arch TEXT NOT NULL,
	source TEXT NOT NULL,
	distribution TEXT NOT NULL,
	suite TEXT NOT NULL,
	component TEXT NOT NULL,
	kind TEXT NOT NULL,
	role TEXT NOT NULL,
	url TEXT NOT NULL,
	host TEXT NOT NULL,
	sha256 TEXT NOT NULL,
	size INTEGER NOT NULL,
	installed INTEGER NOT NULL,
	state INTEGER NOT NULL,
	tries INTEGER NOT NULL DEFAULT 0,
	losses INTEGER NOT NULL DEFAULT 0,
	next INTEGER NOT NULL,
	worker TEXT NOT NULL DEFAULT '',
	lease TEXT NOT NULL DEFAULT '',
	answered INTEGER NOT NULL DEFAULT 0,
	lease_until INTEGER NOT NULL DEFAULT 0,
	cause TEXT NOT NULL DEFAULT '',
	reason TEXT NOT NULL DEFAULT '',
	modules INTEGER NOT NULL DEFAULT 0,
	fetched INTEGER NOT NULL DEFAULT 0,
	stored INTEGER NOT NULL DEFAULT 0,
	extractor INTEGER NOT NULL DEFAULT 0,
	created INTEGER NOT NULL,
	ended INTEGER NOT NULL DEFAULT 0,
	UNIQUE (ns, key)
) STRICT;
CREATE INDEX packages_due ON packages (repository, next, number) WHERE state IN (0, 3);
CREATE INDEX packages_leased ON packages (lease_until) WHERE state = 1;
CREATE INDEX packages_of_host ON packages (host) WHERE state = 1;
CREATE INDEX packages_done ON packages (ns, ended) WHERE state = 2;
CREATE INDEX packages_failed ON packages (ns, ended) WHERE state IN (3, 4);
CREATE INDEX packages_quarantined ON packages (extractor) WHERE state = 4;

-- The build IDs, 20 bytes mostly, of the files in a package.
CREATE TABLE package_ids (
	ns TEXT NOT NULL,
	id BLOB NOT NULL,
	package INTEGER NOT NULL REFERENCES packages ON DELETE CASCADE,
	PRIMARY KEY (ns, id, package)
) STRICT, WITHOUT ROWID;
CREATE INDEX package_ids_of_package ON package_ids (package);

-- How many packages of a repository are in each state, so that a page reads some rows and not all
-- packages. size, fetched, stored: sums of bytes.
CREATE TABLE package_counts (
	ns TEXT NOT NULL,
	repository INTEGER NOT NULL,
	state INTEGER NOT NULL,
	cause TEXT NOT NULL,
	packages INTEGER NOT NULL,
	size INTEGER NOT NULL,
	modules INTEGER NOT NULL,
	fetched INTEGER NOT NULL,
	stored INTEGER NOT NULL,
	PRIMARY KEY (ns, repository, state, cause)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER package_counted AFTER INSERT ON packages
BEGIN
	INSERT INTO package_counts VALUES (NEW.ns, NEW.repository, NEW.state, NEW.cause, 1, NEW.size,
			NEW.modules, NEW.fetched, NEW.stored)
		ON CONFLICT (ns, repository, state, cause) DO UPDATE SET packages = packages + 1,
			size = size + NEW.size, modules = modules + NEW.modules,
			fetched = fetched + NEW.fetched, stored = stored + NEW.stored;
END;
CREATE TRIGGER package_discounted AFTER DELETE ON packages
BEGIN
	UPDATE package_counts SET packages = packages - 1, size = size - OLD.size,
		modules = modules - OLD.modules, fetched = fetched - OLD.fetched,
		stored = stored - OLD.stored
	WHERE ns = OLD.ns AND repository = OLD.repository AND state = OLD.state AND cause = OLD.cause;
	DELETE FROM package_counts WHERE ns = OLD.ns AND repository = OLD.repository
		AND state = OLD.state AND cause = OLD.cause AND packages = 0;
END;
CREATE TRIGGER package_recounted AFTER UPDATE OF state, cause, size, modules, fetched, stored ON packages
BEGIN
	UPDATE package_counts SET packages = packages - 1, size = size - OLD.size,
		modules = modules - OLD.modules, fetched = fetched - OLD.fetched,
		stored = stored - OLD.stored
	WHERE ns = OLD.ns AND repository = OLD.repository AND state = OLD.state AND cause = OLD.cause;
	DELETE FROM package_counts WHERE ns = OLD.ns AND repository = OLD.repository
		AND state = OLD.state AND cause = OLD.cause AND packages = 0;
	INSERT INTO package_counts VALUES (NEW.ns, NEW.repository, NEW.state, NEW.cause, 1, NEW.size,
			NEW.modules, NEW.fetched, NEW.stored)
		ON CONFLICT (ns, repository, state, cause) DO UPDATE SET packages = packages + 1,
			size = size + NEW.size, modules = modules + NEW.modules,
			fetched = fetched + NEW.fetched, stored = stored + NEW.stored;
END;
