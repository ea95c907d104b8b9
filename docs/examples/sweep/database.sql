-- A database of its own for the queue, as a superuser: psql -f database.sql
-- The password goes to /etc/weedlc/queue.password, mode 0600, on each host.
CREATE ROLE weedlc LOGIN;
CREATE DATABASE weedlc OWNER weedlc;
\password weedlc
