-- Expiry grows with the place of a row in the table, and only the sweeper asks for it: a summary of page
-- ranges answers as well as an entry a row, and costs an append nothing.
drop index es.receipt_expiry;
create index receipt_expiry on es.receipt using brin (expires_at_ms);
