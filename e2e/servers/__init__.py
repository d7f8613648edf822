"""Servers that bundles come from, started for demonstrations and tests, with certificates made on the spot."""
