"""What makes the files and the image that are shipped. The tests of them, and the clusters, are in e2e."""
