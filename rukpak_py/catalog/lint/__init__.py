"""Rules for what `opm` accepts in a catalog although users, resolvers or catalog servers trip over it."""
