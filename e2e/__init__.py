"""The operator in a real cluster, and the tool that brings such a cluster up."""
