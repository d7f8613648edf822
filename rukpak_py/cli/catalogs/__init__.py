"""Catalogs as the commands get at them: opened, read in several processes, and kept in a cache."""
