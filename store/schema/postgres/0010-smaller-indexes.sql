-- Indexes that hold the same bytes as others do. A module's IDs are few, so that they are sorted when they are read;
-- what a query of thousands of IDs needs of them is in their key's index, so that their rows are not read.
DROP INDEX ids_of_module;
CREATE INDEX ids_of_module ON ids (module);
ALTER TABLE ids DROP CONSTRAINT ids_pkey;
ALTER TABLE ids ADD CONSTRAINT ids_pkey PRIMARY KEY (ns, id) INCLUDE (module);
ALTER TABLE candidates DROP CONSTRAINT candidates_module_blob_key;
DROP INDEX candidates_of_blob;
CREATE UNIQUE INDEX candidates_of_blob ON candidates (blob, module);
CREATE INDEX candidates_of_module ON candidates (module);
