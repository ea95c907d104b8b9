package riverqueue

import (
	"context"
	"fmt"
	"strings"
)

// schemaVersion is the version of our tables and of River's together;
// riverVersion is the one of River's that belongs to it.
const (
	schemaVersion = 1
	riverVersion  = 8
)

// schema makes version 1. Times are Unix microseconds, 0 for none. {serial} is
// the database's word for a key that counts up.
const schema = `
CREATE TABLE weedlc_turn (name TEXT PRIMARY KEY, turn BIGINT NOT NULL);
INSERT INTO weedlc_turn (name, turn) VALUES ('beat', 0);

CREATE TABLE weedlc_job (
	sweep TEXT NOT NULL, shard BIGINT NOT NULL, generation BIGINT NOT NULL,
	id BIGINT UNIQUE,
	policy TEXT NOT NULL, redrive_of BIGINT NOT NULL,
	admitted_at BIGINT NOT NULL, available_at BIGINT NOT NULL,
	state TEXT NOT NULL, why TEXT NOT NULL,
	leased BIGINT NOT NULL, failures BIGINT NOT NULL,
	last_seen_at BIGINT NOT NULL, closed_at BIGINT NOT NULL,
	PRIMARY KEY (sweep, shard, generation));
CREATE INDEX weedlc_job_state ON weedlc_job (state, admitted_at);

CREATE TABLE weedlc_shard (
	shard BIGINT PRIMARY KEY, token BIGINT NOT NULL,
	job_id BIGINT NOT NULL, worker TEXT NOT NULL, until_at BIGINT NOT NULL);

CREATE TABLE weedlc_dead_letter (
	job_id BIGINT PRIMARY KEY, category TEXT NOT NULL,
	bucket TEXT NOT NULL, object_key TEXT NOT NULL, version_id TEXT NOT NULL,
	attempts BIGINT NOT NULL, buried_at BIGINT NOT NULL, closed_by BIGINT NOT NULL);

CREATE TABLE weedlc_history (
	seq {serial}, at BIGINT NOT NULL, kind TEXT NOT NULL, job_id BIGINT NOT NULL,
	other BIGINT NOT NULL, category TEXT NOT NULL, reason TEXT NOT NULL,
	os_user TEXT NOT NULL, host TEXT NOT NULL);

CREATE TABLE weedlc_chunk (
	at BIGINT NOT NULL, job_id BIGINT NOT NULL, worker TEXT NOT NULL,
	step TEXT NOT NULL, category TEXT NOT NULL, executed BIGINT NOT NULL, took BIGINT NOT NULL);
CREATE INDEX weedlc_chunk_at ON weedlc_chunk (at);

CREATE TABLE weedlc_deletes (at BIGINT NOT NULL, bucket TEXT NOT NULL, deletes BIGINT NOT NULL);
CREATE INDEX weedlc_deletes_at ON weedlc_deletes (at);

CREATE TABLE weedlc_finding (
	sweep TEXT NOT NULL, bucket TEXT NOT NULL, rule_id TEXT NOT NULL, kind TEXT NOT NULL, at BIGINT NOT NULL,
	PRIMARY KEY (sweep, bucket, rule_id, kind));

CREATE TABLE weedlc_worker (
	worker TEXT PRIMARY KEY, host TEXT NOT NULL, pid BIGINT NOT NULL, jobs BIGINT NOT NULL,
	rate_limit DOUBLE PRECISION NOT NULL, share DOUBLE PRECISION NOT NULL,
	every_us BIGINT NOT NULL, seen_at BIGINT NOT NULL)`

// createMark makes the table that says that the database is ours, before
// anything else is made.
const createMark = `CREATE TABLE IF NOT EXISTS weedlc_schema (only_row BIGINT PRIMARY KEY, version BIGINT NOT NULL)`

// mark says that the database is ours, at version 0.
func mark(ctx context.Context, t statements) error {
	if _, err := t.exec(ctx, createMark); err != nil {
		return err
	}
	_, err := t.exec(ctx, `INSERT INTO weedlc_schema (only_row, version) VALUES (1, 0) ON CONFLICT DO NOTHING`)
	return err
}

// createTables makes our tables and writes the version.
func createTables(ctx context.Context, t statements, serial string) error {
	for statement := range strings.SplitSeq(strings.ReplaceAll(schema, "{serial}", serial), ";") {
		if _, err := t.exec(ctx, statement); err != nil {
			return err
		}
	}
	_, err := t.exec(ctx, `UPDATE weedlc_schema SET version = $1`, schemaVersion)
	return err
}

// readVersion is the version of our tables; 0 when the query for their mark
// finds none.
func readVersion(ctx context.Context, t statements, markQuery string) (version int, err error) {
	one := 0
	if found, err := row(ctx, t, markQuery, nil, &one); err != nil || !found {
		return 0, err
	}
	_, err = row(ctx, t, `SELECT version FROM weedlc_schema`, nil, &version)
	return version, err
}

// checkVersion refuses what a newer weedlc has made.
func checkVersion(version int) error {
	if version > schemaVersion {
		return &explained{
			what: fmt.Sprintf("has schema version %d and this weedlc knows %d", version, schemaVersion),
			hint: "use the newest weedlc that works on this queue",
		}
	}
	return nil
}
