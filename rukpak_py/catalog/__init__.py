"""File-based catalogs of OLM: read, checked, drawn, compared, and asked which bundle to install."""
