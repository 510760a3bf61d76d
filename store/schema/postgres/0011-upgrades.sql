-- Two versions of unhex beside each other: see docs/operation.md. oldest: programs that know fewer steps than this cannot use
-- the index any more. A step that those before it could not work with sets it.
ALTER TABLE unhex_schema ADD COLUMN oldest BIGINT NOT NULL DEFAULT 0;
-- How many steps a node knows. Nodes of before this step do not write it, and know those before it.
ALTER TABLE nodes ADD COLUMN steps BIGINT NOT NULL DEFAULT 10;
