"""A cluster of the real kind: with an engine and a node image that are there, or with ours.

engine       the container engine that kind works with: docker, podman or nerdctl, whichever answers
daemon       a Docker daemon of ours where none answers, in namespaces of its own
node_image   the image of the node: here already, pulled, or built once and kept
node_root    its file system: a Debian, kind's own files, the Kubernetes programs
node_content the images of the control plane, in the store of the node's containerd
cluster      create, delete, load an image
"""
