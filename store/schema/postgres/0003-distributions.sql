-- Which package of a distribution a build is from: provenance.h.
ALTER TABLE candidates ADD COLUMN distribution TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE candidates ADD COLUMN suite TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE candidates ADD COLUMN package TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE candidates ADD COLUMN package_version TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE candidates ADD COLUMN package_sha256 TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE uploads ADD COLUMN distribution TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE uploads ADD COLUMN suite TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE uploads ADD COLUMN package TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE uploads ADD COLUMN package_version TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE uploads ADD COLUMN package_sha256 TEXT COLLATE "C" NOT NULL DEFAULT '';
CREATE INDEX candidates_by_package ON candidates (ns, package) WHERE package <> '';
