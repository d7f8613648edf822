package main

import (
	"crypto/tls"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"sync"
)

// certificate is the pair of a directory, read again when its files are others than those that were read. While they
// cannot be read, or do not fit each other because they are just being replaced, the former pair stays.
type certificate struct {
	directory string

	mutex  sync.Mutex
	loaded *tls.Certificate
	of     [2]os.FileInfo
}

func newCertificate(directory string) *certificate {
	return &certificate{directory: directory}
}

func (c *certificate) current() (*tls.Certificate, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	err := c.refresh()
	if c.loaded == nil {
		return nil, fmt.Errorf("no certificate: %w", err)
	}
	if err != nil {
		log.Printf("the former certificate stays: %v", err)
	}
	return c.loaded, nil
}

func (c *certificate) refresh() error {
	// The kubelet replaces a link to the directory of both files. Resolved once, they are of one generation.
	file, err := filepath.EvalSymlinks(filepath.Join(c.directory, "tls.crt"))
	if err != nil {
		return err
	}
	key := filepath.Join(filepath.Dir(file), "tls.key")
	found := [2]os.FileInfo{}
	for i, path := range []string{file, key} {
		if found[i], err = os.Stat(path); err != nil {
			return err
		}
	}
	if c.loaded != nil && isSame(found[0], c.of[0]) && isSame(found[1], c.of[1]) {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(file, key)
	if err != nil {
		return err
	}
	if c.loaded != nil {
		log.Print("a new certificate is served")
	}
	c.loaded, c.of = &pair, found
	return nil
}

func isSame(one, other os.FileInfo) bool {
	return os.SameFile(one, other) && one.ModTime().Equal(other.ModTime()) && one.Size() == other.Size()
}
