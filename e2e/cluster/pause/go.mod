module rukpak.io/e2e/cluster/pause

go 1.25
