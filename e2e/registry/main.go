// A registry of container images for tests: the reference implementation, with content in memory and the two kinds of
// login that it knows. The argument is its configuration file.
package main

import (
	"context"
	"log"
	"os"

	"github.com/distribution/distribution/v3/configuration"
	"github.com/distribution/distribution/v3/registry"
	_ "github.com/distribution/distribution/v3/registry/auth/htpasswd"
	_ "github.com/distribution/distribution/v3/registry/auth/token"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/inmemory"
)

func main() {
	if err := serve(os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func serve(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	settings, err := configuration.Parse(file)
	if err != nil {
		return err
	}
	server, err := registry.NewRegistry(context.Background(), settings)
	if err != nil {
		return err
	}
	return server.ListenAndServe()
}
