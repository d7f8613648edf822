"""The admission policies that say which users may name accounts, write statuses and name Secrets."""
