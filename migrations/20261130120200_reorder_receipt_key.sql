-- The hash first: it tells receipts apart at the first look, where owner and operation seldom do. A
-- receipt lives for a day, so the table is small enough to be locked while its key is rebuilt.
alter table es.receipt
    drop constraint receipt_pkey,
    add primary key (lane, key_hash, owner_key, operation);
