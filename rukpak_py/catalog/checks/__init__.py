"""Rules of validity: what makes OLM refuse a catalog, with its cause."""
