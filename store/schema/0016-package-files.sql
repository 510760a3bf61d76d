-- Further files that a package is read with, a JSON array: the packages with the stripped files of
-- debug files that do not name these by build ID.
ALTER TABLE packages ADD COLUMN files TEXT NOT NULL DEFAULT '';
