"""Upgrade graphs asked: which bundle to install, which upgrades follow, what a bundle needs."""
