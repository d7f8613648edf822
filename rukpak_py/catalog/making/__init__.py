"""Blobs made of bundles, templates and names."""
