"""A real node on this machine: containerd, kubelet and kube-proxy, as root on Linux.

One cluster with a node per network namespace: kube-proxy's iptables chains have fixed names, and the API
server must see them (Services) as well as the machine's own loopback (webhooks of an operator that runs
outside the cluster). So everything lives in the machine's namespace; `claim.py` keeps a second one away.
Every other name (bridge, CNI network, sockets) is made from the state directory.
"""
