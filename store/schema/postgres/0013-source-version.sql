-- The version of the source package where it is another one than that of the package; else ''.
ALTER TABLE packages ADD COLUMN source_version TEXT NOT NULL DEFAULT '';
