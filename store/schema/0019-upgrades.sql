-- The same column as in PostgreSQL, where it says how many steps of the schema a node knows. It is not used here.
ALTER TABLE nodes ADD COLUMN steps INTEGER NOT NULL DEFAULT 10;
