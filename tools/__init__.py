"""Tools that make the shipped files and the image. The tests of these, and the clusters, are in e2e."""
