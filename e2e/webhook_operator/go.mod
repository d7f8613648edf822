module rukpak.io/e2e/webhook_operator

go 1.25
