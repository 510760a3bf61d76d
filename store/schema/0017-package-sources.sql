-- Source packages, by what is built from them.
CREATE INDEX packages_source ON packages (ns, source) WHERE role = 'source';
